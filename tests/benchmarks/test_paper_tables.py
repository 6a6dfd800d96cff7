import numpy as np
import pandas as pd
import pytest

from benchmarks import paper_tables
from benchmarks.paper_tables import BANDIT, BOTH, JOINT, SETS, Incumbents, main, verdict, versus


def incumbents(losses, each=1.0):
    return Incumbents(np.minimum.accumulate(losses), each * np.arange(1.0, len(losses) + 1))


def test_speed_up_and_improvement_are_those_of_the_appendix():
    """Theirs ends at .4 after 4 evaluations and 8 s; ours is there after 2, in 2 s, and ends at .3."""
    pair = versus(
        {0: incumbents([0.9, 0.4, 0.3, 0.3])}, {0: incumbents([0.8, 0.5, 0.5, 0.4], 2.0)}, 4
    )
    assert pair.speedup == 2.0
    assert pair.speedup_seconds == 4.0
    assert pair.improvement == pytest.approx(25.0)


def test_a_value_that_is_never_reached_is_no_speed_up():
    pair = versus({0: incumbents([0.9, 0.9])}, {0: incumbents([0.8, 0.5])}, 2)
    assert pair.speedup == 0.0
    assert pair.improvement == pytest.approx(-80.0)


def test_only_seeds_that_both_have_are_compared():
    assert versus({0: incumbents([1.0])}, {1: incumbents([1.0])}, 1) is None


@pytest.mark.parametrize(
    ("held", "told"),
    [
        ([], "not run"),
        ([True, True], "holds"),
        ([True, False], "holds in part"),
        ([True, False, False], "does not hold"),
    ],
)
def test_a_claim_holds_on_all_sets_or_in_part_or_not(held, told):
    assert verdict(held) == told


def test_a_tiny_run_compares_and_is_not_repeated(tmp_path, monkeypatch, capsys):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.standard_normal((80, 3)), columns=list("abc"))
    table["target"] = (table.a + 0.3 * rng.standard_normal(80) > 0).map({True: "P", False: "N"})
    table.to_csv(tmp_path / "wind.csv.gz", index=False)
    monkeypatch.setattr(paper_tables, "METHODS", (BANDIT, JOINT))
    arguments = ["--data", str(tmp_path), "--sets", "wind", "--seeds", "1", "--evaluations", "3"]
    arguments += ["--rows", "80", "--space", "small", "--without-skopt", "--jobs", "1"]
    arguments += ["--out", str(tmp_path / "out")]
    assert main(arguments) == 0
    runs = {p: p.stat().st_mtime_ns for p in (tmp_path / "out" / "runs").iterdir()}
    assert main(arguments) == 0
    assert {p: p.stat().st_mtime_ns for p in (tmp_path / "out" / "runs").iterdir()} == runs
    told = capsys.readouterr().out.rpartition("runs took")[2]
    (row,) = [line for line in told.splitlines() if line.startswith("| wind ")]
    printed = SETS["wind"]
    assert f"| {printed.speedups[0]} / {printed.improvements[0]} |" in row
    assert BOTH.name in told
    assert "not run" in row


def test_sets_that_are_not_there_are_said_before_anything_runs(tmp_path):
    with pytest.raises(SystemExit, match="the eight sets"):
        main(["--data", str(tmp_path)])
