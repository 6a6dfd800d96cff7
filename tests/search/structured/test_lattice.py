import numpy as np
import pytest

import fenceline as fl
from fenceline.search.structured.lattice import Lattice
from fenceline.search.surrogates.rescaling import Rescaling

SPACE = fl.Space(
    [
        fl.Module(
            "m",
            [
                fl.Algorithm(
                    "a",
                    {
                        "real": fl.Real(0.1, 10, log=True),
                        "whole": fl.Integer(3, 9),
                        "curved": fl.Integer(1, 100, log=True),
                        "category": fl.Categorical(["x", "y", "z"]),
                        "constant": fl.Integer(4, 4),
                    },
                )
            ],
        )
    ]
)
LATTICE = Lattice(SPACE)


def test_projection_equals_that_of_each_parameter():
    theta = np.random.default_rng(0).random((200, 5)) * 1.4 - 0.2
    ours = LATTICE.project(theta)
    for row, original in zip(ours, theta, strict=True):
        assert row == pytest.approx(SPACE.project(np.clip(original, 0, 1)), abs=1e-11)
    assert LATTICE.project(ours) == pytest.approx(ours, abs=1e-12)


def test_unknown_coordinates_stay_unknown():
    theta = np.full((3, 5), np.nan)
    assert np.isnan(LATTICE.project(theta)).all()
    assert np.isnan(LATTICE.perturb(np.random.default_rng(0), theta, np.ones(3))).all()


def test_draws_are_uniform_over_lattice_values_with_the_ends_included():
    drawn = LATTICE.sample(np.random.default_rng(0), 7000)
    values, counts = np.unique(np.rint(drawn[:, 1] * 6), return_counts=True)
    assert list(values) == list(range(7))
    assert counts.min() > 850
    assert counts.max() < 1150


def test_steps_stay_on_the_lattice_and_reach_every_neighbour():
    rng = np.random.default_rng(0)
    start = np.tile(SPACE.centre, (2000, 1))
    moved = LATTICE.perturb(rng, start, np.full(2000, 1e-3))
    assert LATTICE.project(moved) == pytest.approx(moved, abs=1e-11)
    assert (moved >= 0).all()
    assert (moved <= 1).all()
    # However small the step, a whole number that moves reaches the next one.
    assert set(np.rint(moved[:, 1] * 6)) >= {2.0, 3.0, 4.0}
    assert set(np.rint(moved[:, 3] * 2)) == {0.0, 1.0, 2.0}
    assert np.abs(moved[:, 0] - start[:, 0]).max() < 0.01


def test_on_a_learnt_scale_draws_and_steps_reach_what_the_range_hides():
    parameters = {"share": fl.Real(0.0, 1.0), "trees": fl.Integer(1, 10_000)}
    space = fl.Space([fl.Module("m", [fl.Algorithm("a", parameters)])])
    lattice = Lattice(space, Rescaling((1e5, 9999.0)))
    rng = np.random.default_rng(0)
    drawn = lattice.sample(rng, 2000)
    # Half of the draws lie below the middle of each logarithm: 10**-2.5, and 100 trees.
    assert np.mean(drawn[:, 0] < 10**-2.5) == pytest.approx(0.5, abs=0.05)
    assert np.mean(1 + 9999 * drawn[:, 1] < 100) == pytest.approx(0.5, abs=0.05)
    start = np.tile([[1e-4, 4 / 9999]], (2000, 1))
    moved = lattice.perturb(rng, start, np.full(2000, 0.05))
    changed = moved[moved[:, 0] != start[0, 0], 0]
    assert np.median(np.abs(np.log10(changed / 1e-4))) < 0.5
    assert changed.min() < 5e-5
    assert changed.max() > 2e-4
    # However small the step, a whole number that moves reaches the next one.
    assert {4.0, 5.0, 6.0} <= set(np.rint(1 + 9999 * moved[:, 1]))
    assert lattice.project(moved) == pytest.approx(moved, abs=1e-11)
