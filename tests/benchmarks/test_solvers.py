import json
import math

import numpy as np
import pytest

import fenceline as fl
from benchmarks import solvers as bench
from benchmarks.solvers import Cell, Kept, kinds_table, main, plan, ratio, verdicts
from benchmarks.solvers_learners import FIDELITIES, Learners, learners, problem_of, race
from benchmarks.solvers_problems import KINDS, Blurred, Kind, blurred, choices, rippled, truth
from fenceline import solvers
from fenceline.solvers import SuccessiveHalving


def outcome(regret, cost=(1.0,), regrets=None):
    return {"regret": regret, "cost": list(cost), "regrets": list(regrets or [regret]), "ms": 1.0}


def test_a_ratio_is_that_of_medians_over_the_seeds_that_both_have():
    runs = {
        "Random": {0: outcome(1.0), 1: outcome(3.0), 2: outcome(2.0), 3: outcome(100.0)},
        "Planning": {0: outcome(0.5), 1: outcome(1.0), 2: outcome(9.0)},
    }
    assert ratio(runs, "Planning") == 0.5  # 1 over 2
    assert math.isnan(ratio(runs, "Bandit"))


def test_what_was_not_run_is_not_judged_and_what_was_missed_is_said(tmp_path):
    kept = Kept(tmp_path / "runs.jsonl")
    kept.put(Cell("classical", "branin", "Random", 0), outcome(1.0))
    kept.put(Cell("classical", "branin", "TrustRegion", 0), outcome(0.05))
    kept.put(Cell("classical", "gramacy", "Random", 0), outcome(1.0))
    kept.put(Cell("classical", "gramacy", "TrustRegion", 0), outcome(0.5))
    found = {v.asked: v.met for v in verdicts(Kept(kept.path), [])}
    met = {name: value for name, value in found.items() if value is not None}
    assert [name.rpartition(" ")[2] for name in met] == ["branin", "gramacy"]
    assert list(met.values()) == [True, False]


def test_the_cost_until_random_searchs_final_value_is_read_off_seed_by_seed(tmp_path):
    kept = Kept(tmp_path / "runs.jsonl")
    problem = "theta: fidelity (ripples, 6)"
    kept.put(Cell("kinds", problem, "Random", 0), outcome(0.5))
    ours = outcome(0.1, cost=(1.0, 20.0, 50.0), regrets=(0.9, 0.5, 0.1))
    kept.put(Cell("kinds", problem, "Hyperband", 0), ours)
    (verdict,) = [v for v in verdicts(kept, []) if v.asked.endswith(f"({problem})")]
    assert verdict.measured.startswith("0.2 of the cost")
    assert verdict.met


def test_every_solver_has_a_row_and_solvers_of_looks_run_where_there_are_looks():
    named = {*bench.THETA, *bench.CHOICES}
    offered = {n for n in solvers.__all__ if n not in ("Look", "Solver", "Subproblem")}
    assert named == offered
    for cell, _ in plan(1):
        if getattr(getattr(solvers, cell.solver), "needs_fidelity", False):
            assert "fidelity" in cell.problem


def test_the_best_value_of_the_choices_is_that_of_all_pipelines():
    problem = choices(0)
    rng = np.random.default_rng(0)
    assert problem.space.size == 6776
    assert (
        min(problem.measure(problem.space.sample(rng))["loss"] for _ in range(50))
        >= problem.optimum
    )


def test_looks_are_worse_and_blurred_and_a_full_measurement_is_the_truth():
    problem = blurred(rippled(3), 3)
    c = problem.space.sample(np.random.default_rng(0))
    true = problem.measure.measure(c)["loss"]
    assert problem.measure(c)["loss"] == true
    looks = [problem.measure(c, share)["loss"] for share in problem.fidelities]
    assert len({true, *looks}) == 4
    assert problem.measure(c, 1 / 27)["loss"] == looks[0]


def test_a_noisy_incumbent_is_judged_by_what_it_is():
    problem = blurred(rippled(3), 3, noisy=True)
    result = fl.minimize(problem, evaluations=5, algorithm=fl.baselines.RandomSearch())
    curve = truth(problem, result)
    assert isinstance(problem.measure, Blurred)
    assert curve[-1, 1] == problem.measure.measure(result.best.configuration)["loss"]
    assert curve[-1, 0] == 5.0


def test_a_tiny_run_writes_tables_and_is_not_repeated(tmp_path, monkeypatch, capsys):
    kind = Kind(
        "fidelity (ripples, 6)", "theta", lambda seed: blurred(rippled(seed), seed), fidelity=True
    )
    monkeypatch.setattr(bench, "KINDS", [kind])
    monkeypatch.setattr(bench, "EVALUATIONS", 4)
    arguments = [
        "--seeds",
        "1",
        "--parts",
        "kinds",
        "--only",
        "Random",
        "BOHB",
        "--out",
        str(tmp_path),
    ]
    assert main(arguments) == 0
    first = (tmp_path / "runs.jsonl").read_text()
    assert len(first.splitlines()) == 2
    assert main(arguments) == 0
    assert (tmp_path / "runs.jsonl").read_text() == first
    told = capsys.readouterr().out
    assert "| `BOHB` |" in told
    assert "not measured" in told


@pytest.fixture
def thirty(tmp_path):
    """Made-up learning curves: boosting at rate .1 is best, and the time is the share."""
    cells = {}
    for k, name in enumerate(learners()):
        level = 0.2 if name == "boosting, rate 0.1" else 0.25 + 0.001 * k
        for share in (*FIDELITIES, 1.0):
            cells[f"{name} @ {share:g}"] = (level + 0.02 / math.sqrt(share), share)
    kept = tmp_path / "cells.json"
    kept.write_text(json.dumps(cells))
    return Learners(tmp_path, kept)


def test_there_are_thirty_learners(thirty):
    assert len(problem_of(thirty).space.modules[0].algorithms) == 30


def test_a_race_counts_what_its_looks_took(thirty):
    found = race(thirty, SuccessiveHalving(), 0)
    assert found.best == found.answer == "boosting, rate 0.1"
    assert found.full_seconds == pytest.approx(30.0)
    # One full for ADMM's first, 29 or 30 looks at 1.5^-8, ten at 1.5^-5, three at 1.5^-3, one in full.
    assert found.best_seconds == pytest.approx(
        2 + 30 * 1.5**-8 + 10 * 1.5**-5 + 3 * 1.5**-3, abs=0.2
    )
    assert found.share < 1 / 3


def test_the_table_of_kinds_says_where_a_solver_does_not_fit():
    text = kinds_table({}, "z")
    assert all(k.name in text for k in KINDS if k.block == "z")
    (row,) = [line for line in text.splitlines() if "`Hyperband`" in line]
    assert row.count("| - ") >= 3
