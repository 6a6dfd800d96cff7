import csv

import numpy as np
import pytest

from benchmarks.constraints import main
from benchmarks.constraints_plan import CELLS, OURS, RANDOM, TPE, UNAWARE, Cell, plan_of
from benchmarks.constraints_tables import (
    best,
    best_known,
    first_feasible,
    gap_ratio,
    share_feasible,
    targets,
)
from benchmarks.counted import Trace

INF = np.inf


def trace(*objectives):
    nothing = np.zeros(len(objectives))
    return Trace(None, np.array(objectives), nothing == 0, nothing, nothing)


def test_infeasible_evaluations_count_for_nothing_but_the_share():
    run = trace(INF, 3.0, INF, 2.0)
    assert best(run, 1) == INF
    assert best(run, 4) == 2.0
    assert np.isnan(best(run, 5))
    assert first_feasible(run) == 2.0
    assert share_feasible(run, 4) == 0.5


def test_a_run_that_never_gets_inside_has_no_first_and_no_share():
    run = trace(INF, INF)
    assert first_feasible(run) == INF
    assert share_feasible(run, 2) == 0.0


def test_the_best_known_value_is_that_of_any_method():
    curves = {"a": {0: trace(INF, 3.0), 1: trace(1.0, 1.0)}, "b": {0: trace(2.0, 5.0)}}
    assert best_known(curves) == {0: 2.0, 1: 1.0}


def test_gaps_are_compared_on_common_seeds():
    known = {0: 1.0, 1: 1.0}
    ratio = gap_ratio({0: trace(2.0), 1: trace(9.0)}, {0: trace(5.0)}, known, 1)
    assert (ratio.median, ratio.problems) == (0.25, 1)
    assert gap_ratio({}, {0: trace(5.0)}, known, 1).problems == 0
    assert gap_ratio({0: trace(INF)}, {0: trace(INF)}, known, 1).median == 1.0


def test_targets_are_met_and_missed_by_what_was_measured():
    cell = Cell(2, 0.02)
    ours = {0: trace(INF, 2.0, 1.4, 1.0)}
    curves = {
        OURS.name: ours,
        TPE.name: {0: trace(INF, INF, INF, 3.0)},
        UNAWARE.name: {0: trace(INF, INF, 2.0, 1.0)},
    }
    found = targets({cell.name: curves}, [cell], [3, 4])
    assert [(t.against, t.verdict) for t in found] == [
        (UNAWARE.name, "met"),  # 0.4 against 1
        (UNAWARE.name, "missed"),  # 0 against 0
        (TPE.name, "met"),  # first at 2 against 4
        (TPE.name, "met"),
    ]


def test_what_was_not_run_has_no_verdict():
    found = targets({}, [Cell(1, 0.1)], [100, 200])
    assert {t.verdict for t in found} == {"no data"}


def test_every_cell_has_every_method():
    assert len(CELLS) == 9
    plan = plan_of(CELLS)
    assert len(plan) == 9 * 8
    assert {line.problem(0).constraints.__len__() for line in plan} == {1, 2, 4}


def test_tuning_problems_are_not_reported(capsys):
    with pytest.raises(SystemExit):
        main(["--first-seed", "5"])
    assert "are for tuning" in capsys.readouterr().err


def test_a_smoke_run_writes_tables_and_is_not_repeated(tmp_path, capsys):
    skipped = [
        argument
        for line in plan_of(CELLS[:1])
        if line.curve not in (OURS, RANDOM)
        for argument in ("--skip", line.curve.name)
    ]
    arguments = ["--smoke", "--seeds", "1", "--jobs", "1", "--cells", CELLS[0].name, *skipped]
    assert main([*arguments, "--out", str(tmp_path)]) == 0
    assert "2 runs, about" in capsys.readouterr().out
    assert main([*arguments, "--out", str(tmp_path)]) == 0
    assert "2 of 2 runs are there already" in capsys.readouterr().out
    with (tmp_path / "runs.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["curve"] for row in rows} == {OURS.name, RANDOM.name}
    assert (tmp_path / "gap-k2.png").exists()
    assert main([*arguments, "--report-only", "--out", str(tmp_path)]) == 0
