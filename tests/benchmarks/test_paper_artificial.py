import csv
from pathlib import Path

import numpy as np
import pytest

from benchmarks import paper_artificial
from benchmarks.incumbents import Trajectory
from benchmarks.paper_artificial import CURVES, FIGURES, disturbance, main


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("tiny")
    ours = [c for c in CURVES if c.needs == "fenceline"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paper_artificial, "CURVES", ours)
        arguments = ["--seconds", "0.02", "--seeds", "2", "--jobs", "1", "--out", str(out)]
        assert main(arguments) == 0
    return out


def test_every_curve_of_a_figure_is_run_once_and_only_once():
    drawn = {curve.name for figure in FIGURES for curve in figure.curves}
    assert drawn == {curve.name for curve in CURVES}
    assert len(CURVES) == len({curve.slug for curve in CURVES})


def test_a_tiny_run_writes_every_figure_and_table(tiny: Path):
    names = {path.name for path in tiny.iterdir() if path.is_file()}
    figures = {f"{figure.stem}.{kind}" for figure in FIGURES for kind in ("png", "svg")}
    assert names == figures | {"trajectories.csv", "summary.csv", "claims.csv", "comparisons.csv"}


def test_a_tiny_run_keeps_every_curve_apart(tiny: Path):
    with (tiny / "trajectories.csv").open(newline="") as file:
        found = {(row["curve"], row["problem_seed"]) for row in csv.DictReader(file)}
    ours = [curve.name for curve in CURVES if curve.needs == "fenceline"]
    assert found == {(name, seed) for name in ours for seed in ("0", "1")}
    assert len(list((tiny / "runs" / "0.02s").glob("*.csv"))) == 2 * len(ours)


@pytest.mark.parametrize(("disturbed", "remarked"), [(0, False), (3, True)])
def test_a_few_runs_that_lost_their_core_are_enough_for_a_remark(disturbed: int, remarked: bool):
    shares = [0.2] * disturbed + [0.98] * (10 - disturbed)
    one = np.array([1.0])
    runs = {"curve": [Trajectory(one, one, one, 1, share) for share in shares]}
    assert bool(disturbance(runs)) is remarked
