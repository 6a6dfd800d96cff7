import numpy as np
import pytest

import fenceline as fl
from fenceline.search.structured.lattice import Lattice

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
