"""Multipliers and iterates are in the journal, once each, however often a run is continued."""

import json
import math

import numpy as np
import pytest

import fenceline as fl
from fenceline.errors import StoreError
from fenceline.search.admm.solvers import Random
from fenceline.search.iterate import Iterate
from fenceline.store import Iteration, read_run
from fenceline.store.stored_run import read

PLANE = fl.Space([fl.Module("m", [fl.Algorithm("a", {"x": fl.Real(0, 2), "y": fl.Real(0, 4)})])])


def bowl(configuration):
    x, y = configuration["m"].params.values()
    return {"loss": (x - 1) ** 2 + (y - 1) ** 2, "sum": x + y}


def problem(bound=1):
    return fl.Problem(PLANE, bowl, constraints=[f"sum <= {bound}"])


def admm():
    return fl.ADMM(theta=Random(), z=Random(), precision=fl.Fixed(3))


@pytest.mark.parametrize("bound", [1, -1])
def test_a_journal_holds_what_the_result_holds_also_where_nothing_is_inside(tmp_path, bound):
    result = fl.minimize(problem(bound), evaluations=20, algorithm=admm(), run_dir=tmp_path / "run")
    found = read(tmp_path / "run").iterations
    assert len(found) == len(result.iterations) > 1
    for mine, theirs in zip(found, result.iterations, strict=True):
        assert (mine.t, mine.evaluations, mine.prices) == (
            theirs.t,
            theirs.evaluations,
            theirs.prices,
        )
        np.testing.assert_array_equal(mine.mu, theirs.mu)
        assert mine.primal_residual == theirs.primal_residual


def test_a_continued_run_notes_no_iterate_twice_and_goes_on_noting(tmp_path):
    whole = fl.minimize(problem(), evaluations=24, algorithm=admm(), run_dir=tmp_path / "whole")
    for evaluations in (12, 12, 24):
        fl.minimize(
            problem(), evaluations=evaluations, algorithm=admm(), run_dir=tmp_path / "parts"
        )
    parts, one = (read(tmp_path / name).iterations for name in ("parts", "whole"))
    assert [i.t for i in parts] == [i.t for i in one] == [i.t for i in whole.iterations]
    assert [i.mu.tolist() for i in parts] == [i.mu.tolist() for i in one]


def test_what_is_not_finite_is_read_as_unknown():
    nothing = np.empty(0)
    iterate = Iterate(
        0,
        (),
        nothing,
        nothing,
        nothing,
        nothing,
        np.array([1.0]),
        1.0,
        math.inf,
        0.5,
        3,
        {"c": 2.0},
    )
    text = json.dumps(iterate.to_dict(), allow_nan=False)
    again = Iterate.from_dict(json.loads(text))
    assert math.isnan(again.primal_residual)
    assert (again.dual_residual, again.prices, again.mu.tolist()) == (0.5, {"c": 2.0}, [1.0])


@pytest.mark.parametrize(
    "state",
    [{}, {"t": 0, "mu": [1, 2], "rho": 1, "primal": 0, "dual": 0, "evaluations": 1, "prices": {}}],
)
def test_an_iterate_that_makes_no_sense_is_refused(tmp_path, state, monkeypatch):
    fl.minimize(problem(), evaluations=2, run_dir=tmp_path / "run")
    meta, events = read_run(tmp_path / "run")
    monkeypatch.setattr(
        "fenceline.store.stored_run.read_run", lambda run: (meta, [*events, Iteration(state)])
    )
    with pytest.raises(StoreError, match="an iterate makes no sense"):
        read(tmp_path / "run")
