import csv
from pathlib import Path

import numpy as np
import pytest

import fenceline as fl
from benchmarks.constraints import main
from benchmarks.constraints_plan import (
    CELLS,
    JOINT,
    OURS,
    RANDOM,
    TPE,
    UNAWARE,
    Cell,
    Elsewhere,
    plan_of,
)
from benchmarks.constraints_tables import (
    BELOW,
    best,
    best_known,
    cell_table,
    first_feasible,
    gap_ratio,
    share_feasible,
    targets,
)
from benchmarks.counted import _BYSTANDERS, Trace
from fenceline.problems import artificial

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
    assert [(t.against, t.limit, t.verdict) for t in found] == [
        (UNAWARE.name, 1.0, "met"),  # 0.4 against 1
        (UNAWARE.name, 0.5, "met"),
        (UNAWARE.name, 1.0, "met"),  # 0 against 0: nobody is better, and ours is no half
        (UNAWARE.name, 0.5, "missed"),
        (TPE.name, 0.5, "met"),  # first at 2 against 4
        (TPE.name, BELOW, "met"),
    ]


def test_a_share_that_is_only_as_large_is_not_above():
    cell = Cell(1, 0.5)
    runs = {0: trace(2.0, 1.0)}
    *_, share = targets({cell.name: {OURS.name: runs, TPE.name: runs}}, [cell], [2])
    assert (share.measured, share.verdict) == (1.0, "missed")


def test_a_rival_that_stopped_earlier_is_no_rival_later():
    cell = Cell(1, 0.5)
    curves = {
        OURS.name: {0: trace(3.0, 2.0)},
        JOINT.name: {0: trace(1.0)},
        RANDOM.name: {0: trace(4.0, 4.0)},
    }
    first, second, *_ = targets({cell.name: curves}, [cell], [1, 2])
    assert (first.against, second.against) == (JOINT.name, RANDOM.name)
    rows = {row[0]: row for row in cell_table(cell, curves, [1, 2]).rows}
    assert rows[JOINT.name][1:5] == ["1", "-", "0", "-"]


def test_what_was_not_run_has_no_verdict():
    found = targets({}, [Cell(1, 0.1)], [100, 200])
    assert {t.verdict for t in found} == {"no data"}


def test_every_cell_has_every_method():
    assert len(CELLS) == 9
    plan = plan_of(CELLS)
    assert len(plan) == 9 * 8
    assert {line.problem(0).constraints.__len__() for line in plan} == {1, 2, 4}


def test_the_run_that_judges_takes_a_way_of_its_own():
    problem = artificial(100, constraints=2)
    ours, other = (
        fl.minimize(problem, evaluations=8, algorithm=algorithm, seed=100)
        for algorithm in (fl.ADMM(), Elsewhere())
    )
    # The first pipeline is the safe one for everybody.
    assert ours.evaluations[0].configuration == other.evaluations[0].configuration
    assert all(
        a.configuration != b.configuration
        for a, b in zip(ours.evaluations[1:], other.evaluations[1:], strict=True)
    )


def test_every_bystander_is_there():
    root = Path(fl.__file__).parent
    assert [name for name in _BYSTANDERS if not (root / name).exists()] == []


def test_tuning_problems_are_not_reported(capsys):
    with pytest.raises(SystemExit):
        main(["--first-seed", "5"])
    assert "are for tuning" in capsys.readouterr().err


def test_a_smoke_test_is_not_published(capsys):
    with pytest.raises(SystemExit):
        main(["--smoke", "--publish"])
    assert "worth publishing" in capsys.readouterr().err


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
