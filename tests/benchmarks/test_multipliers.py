from pathlib import Path

import numpy as np
import pytest

from benchmarks import multipliers
from benchmarks.counted import Trace
from benchmarks.multipliers import DEFAULT, LOOP, main, plan_of, table


def trace(*objectives: float) -> Trace:
    count = len(objectives)
    return Trace(0.0, np.array(objectives), np.ones(count, bool), np.zeros(count), np.zeros(count))


def test_pairs_are_compared_on_the_problems_that_both_have_run():
    results = {
        "free": {
            DEFAULT.name: {100: trace(3.0, 1.0), 101: trace(2.0)},
            LOOP.name: {100: trace(0.5), 101: trace(2.5), 102: trace(9.0)},
        }
    }
    line = table(results, ["free", "k1-p0.1"]).splitlines()[2:]
    assert line == ["| free | 2 (2) | 2.5 (3) | 1 / 1 |"]


def test_every_kind_of_problem_is_run_by_every_curve():
    cells = [multipliers.FREE, *(c.name for c in multipliers.CELLS)]
    lines = plan_of((DEFAULT, LOOP), cells)
    assert len(lines) == 20
    assert len(lines[2].problem(0).constraints) > 0


def test_a_run_is_not_repeated(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.setattr(multipliers, "EVALUATIONS", 8)
    words = ["--seeds", "1", "--cells", "k1-p0.5", "--out", str(tmp_path)]
    assert main(words) == 0
    assert main(words) == 0
    assert "2 of 2 runs are there already" in capsys.readouterr().out
    assert len((tmp_path / "runs.csv").read_text().splitlines()) == 3


def test_problems_for_tuning_are_not_reported(tmp_path: Path):
    with pytest.raises(SystemExit):
        main(["--first-seed", "3", "--out", str(tmp_path)])
