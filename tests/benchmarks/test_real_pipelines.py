import csv
import math
import signal
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

import fenceline as fl
from benchmarks import real_pipelines
from benchmarks.harness import Curve
from benchmarks.optimiser import main
from benchmarks.optimiser_plan import JOINT, OURS, RANDOM, TUNING_SEEDS
from benchmarks.real_data import LIMITS, Sample, problem_of, processor_time
from benchmarks.real_pipelines import METHODS, Search, jobs_of
from benchmarks.real_tables import (
    Run,
    complete,
    critical_difference,
    mean_ranks,
    ranks,
    verdict,
    write_report,
)
from benchmarks.remembering import Memo, Remembering
from fenceline.evaluation import Outcome, Serial
from fenceline.pipelines import named_space

SPACE = "small"


def write_classes(path: Path, seed: int, rows: int = 90) -> Path:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, 3))
    label = np.where(X[:, 0] + rng.standard_normal(rows) > 0, "yes", "no")
    pd.DataFrame(X, columns=["a", "b", "c"]).assign(target=label).to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    directory = tmp_path_factory.mktemp("tables")
    return [str(write_classes(directory / f"{name}.csv", i)) for i, name in enumerate("pq")]


def command(tables: list[str], out: Path, *more: str) -> list[str]:
    methods = ["--methods", RANDOM.name, OURS.slug]
    chosen = ["--data", *tables, "--space", SPACE, "--rows", "60", "--smoke", "--jobs", "1"]
    return [*chosen, *methods, "--out", str(out), *more]


@pytest.fixture(scope="module")
def tiny(tables: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("out")

    def in_this_process(workers: int, limits: fl.Limits) -> Serial:
        """Save the seconds that a guarded process takes to import what it needs."""
        assert (workers, limits) == (1, LIMITS)
        return Serial()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(real_pipelines, "Local", in_this_process)
        assert main(command(tables, out)) == 0
    return out


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def found(*losses: float) -> Run:
    return Run(np.array(losses), 1.0, 0.1)


def outcome(loss: float) -> Outcome:
    return Outcome("ok", {"loss": loss})


def drawn(seed: int) -> fl.Configuration:
    return named_space(SPACE).sample(np.random.default_rng(seed))


def never_ends() -> None:
    while True:
        sum(range(1000))


def test_a_tiny_run_ranks_two_methods_on_two_tables(tiny: Path):
    kept = rows(tiny / "runs.csv")
    assert {(r["set"], r["method"]) for r in kept} == {
        (name, curve.name) for name in "pq" for curve in (RANDOM, OURS)
    }
    assert {r["evaluations"] for r in kept} == {"5", "10"}
    assert all(0 <= float(r["loss"]) < 0.5 for r in kept)
    for n in ("5", "10"):
        of_p = [float(r["rank"]) for r in rows(tiny / "ranks.csv") if r["evaluations"] == n]
        assert sum(of_p) == 2 * (1 + 2)
    judged = rows(tiny / "targets.csv")
    assert [t["sets"] for t in judged] == ["2", "2"]
    for t in judged:
        best = float(t["mean_rank"]) <= float(t["best_rival_mean_rank"])
        assert t["verdict"] == ("met" if best else "missed")
    assert "smoke test" in (tiny / "report.md").read_text()


def test_a_second_run_repeats_nothing(
    tiny: Path, tables: list[str], capsys: pytest.CaptureFixture[str]
):
    before = {path: path.stat().st_mtime_ns for path in (tiny / "runs").iterdir()}
    main(command(tables, tiny))
    assert "4 of 4 runs are there already" in capsys.readouterr().out
    assert {path: path.stat().st_mtime_ns for path in (tiny / "runs").iterdir()} == before


def test_fresh_runs_find_every_pipeline_measured_already_and_end_the_same(
    tiny: Path, tables: list[str], monkeypatch: pytest.MonkeyPatch
):
    before = {path: rows(path) for path in (tiny / "runs").glob("*.csv")}
    measured = {path: path.read_bytes() for path in (tiny / "measured").iterdir()}

    def refuse(*_: object) -> None:
        raise AssertionError("measured again")

    monkeypatch.setattr(real_pipelines.Local, "submit", refuse)
    main(command(tables, tiny, "--fresh"))
    for path, old in before.items():
        for one, other in zip(old, rows(path), strict=True):
            assert one["loss"] == other["loss"]
            assert one["pipeline"] == other["pipeline"]
    assert {path: path.read_bytes() for path in (tiny / "measured").iterdir()} == measured


def test_the_report_alone_runs_nothing_and_says_what_is_missing(
    tables: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    main(command(tables, tmp_path, "--report-only"))
    assert "Unfinished: 0 of 4 runs" in capsys.readouterr().out
    assert not (tmp_path / "runs").exists()
    assert {t["verdict"] for t in rows(tmp_path / "targets.csv")} == {"no data"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--methods", "nobody"], "no method"),
        (["--parts", "A"], "--parts"),
        (["--rows", "3"], "at least"),
        (["--first-seed", str(TUNING_SEEDS[-1])], "tuning"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    arguments: list[str],
    message: str,
    tables: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
):
    with pytest.raises(SystemExit):
        main([*command(tables, tmp_path), *arguments])
    assert message in capsys.readouterr().err


def test_methods_without_data_are_refused(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        main(["--methods", "fenceline"])
    assert "--data" in capsys.readouterr().err


def test_tables_of_no_use_are_refused_before_any_run(tables: list[str], tmp_path: Path):
    plain = pd.read_csv(tables[0])
    faults = {
        "no column 'target'": plain.drop(columns="target"),
        "3 different values": plain.assign(target=np.arange(len(plain)) % 3),
        "rows of one class": plain.assign(target=np.arange(len(plain)) < 3),
    }
    for message, frame in faults.items():
        frame.to_csv(tmp_path / "bad.csv", index=False)
        with pytest.raises(SystemExit, match=message):
            main(command([tables[0], str(tmp_path / "bad.csv")], tmp_path / "out"))
    with pytest.raises(SystemExit, match="no file"):
        main(command([str(tmp_path / "missing.csv")], tmp_path / "out"))
    with pytest.raises(SystemExit, match="Two tables are called p"):
        main(command([tables[0], tables[0]], tmp_path / "out"))
    with pytest.raises(SystemExit, match="no space 'papr'"):
        main([*command(tables, tmp_path / "out"), "--space", "papr"])
    assert not (tmp_path / "out").exists()


def test_a_sample_is_always_the_same_and_keeps_the_shares_of_the_classes(tmp_path: Path):
    path = write_classes(tmp_path / "t.csv", seed=5, rows=400)
    all_rows, some = Sample(path, 1000).load(), Sample(path, 100).load()
    assert len(all_rows.y) == 400
    assert len(some.y) == 100
    assert np.mean(some.y == "yes") == pytest.approx(np.mean(all_rows.y == "yes"), abs=0.01)
    pd.testing.assert_frame_equal(some.X, Sample(path, 100).load().X)


def test_the_objective_is_one_minus_auroc_on_rows_that_were_held_out(tables: list[str]):
    problem = problem_of(Sample(Path(tables[0]), 90), SPACE)
    nb = problem.space.configuration(
        {"scaler": "none", "transformer": "none", "estimator": "GaussianNB"}
    )
    measure = problem.measure.measure  # type: ignore[attr-defined]
    ((train, valid),) = measure.splits
    assert len(valid) == round(0.33 * 90)
    trial = measure.trial(nb, train, valid)
    scores = trial.pipeline.predict_proba(measure.table.X.iloc[valid])[:, 1]
    expected = 1 - roc_auc_score(measure.table.y[valid] == "yes", scores)
    assert problem.measure(nb) == {problem.objective: pytest.approx(expected)}


def test_a_pipeline_that_takes_too_much_of_the_processor_fails_and_sleep_is_free():
    before = signal.getsignal(signal.SIGPROF)
    with pytest.raises(TimeoutError, match=r"0\.05 s of the processor"), processor_time(0.05):
        never_ends()
    with processor_time(0.05):
        time.sleep(0.1)
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGPROF) == before


def test_other_rows_or_data_are_another_memory(tables: list[str], tmp_path: Path):
    digests = {Sample(Path(path), n).fingerprint() for path in tables for n in (60, 70)}
    assert len(digests) == 4
    assert Sample(Path(tables[0]), 60).fingerprint() in digests


def test_runs_come_table_by_table_and_cheap_methods_first(tables: list[str], tmp_path: Path):
    samples = [Sample(Path(path), 60) for path in tables]
    jobs = jobs_of(samples, METHODS, [100, 101], SPACE, 100, tmp_path)
    assert [job.sample.name for job in jobs] == ["p"] * 14 + ["q"] * 14
    assert jobs[0].curve is RANDOM
    assert jobs[6].curve.name == "SMAC3"
    assert len({job.part for job in jobs}) == len(jobs)
    assert len({job.memo for job in jobs}) == 2


def test_other_measurements_or_another_method_makes_a_run_out_of_date(
    tiny: Path, tables: list[str]
):
    def job(curve: Curve, fingerprint: str) -> Search:
        return Search(curve, sample, SPACE, 100, 10, fingerprint, tiny)

    sample = Sample(Path(tables[0]), 60)
    assert job(OURS, sample.fingerprint()).done
    assert not job(OURS, "another").done
    assert not job(JOINT, sample.fingerprint()).done


def test_the_first_outcome_on_file_stands_for_everybody(tmp_path: Path):
    one, other = Memo(tmp_path / "memo"), Memo(tmp_path / "memo")
    pipeline = drawn(1)
    assert one.find(pipeline) is None
    assert other.add(pipeline, outcome(0.25)) == outcome(0.25)
    assert one.add(pipeline, outcome(0.75)) == outcome(0.25)
    assert one.find(drawn(2)) is None
    assert Memo(tmp_path / "memo").find(pipeline) == outcome(0.25)


def test_a_line_cut_short_spoils_no_other(tmp_path: Path):
    path = tmp_path / "memo"
    Memo(path).add(drawn(1), outcome(1 / 3))
    with path.open("a") as file:
        file.write('\n["{\\"scaler')
    Memo(path).add(drawn(2), outcome(0.5))
    late = Memo(path)
    assert late.find(drawn(1)) == outcome(1 / 3)
    assert late.find(drawn(2)) == outcome(0.5)


def test_a_pipeline_that_failed_is_not_tried_again(tmp_path: Path):
    calls = []

    def fail(configuration: fl.Configuration) -> dict[str, float]:
        calls.append(configuration)
        raise ValueError("no")

    for ticket in range(2):
        engine = Remembering(Serial(), Memo(tmp_path / "memo"))
        engine.put(fail)
        engine.submit(ticket, drawn(1))
        finished = engine.next()
        assert finished is not None
        assert (finished[0], finished[1].status) == (ticket, "error")
        assert engine.next() is None
    assert calls == [drawn(1)]


def test_ties_share_the_mean_rank_and_failures_come_last():
    of_table = {
        "a": {1: found(0.2, 0.1)},
        "b": {1: found(math.inf, 0.1)},
        "c": {1: found(0.3, 0.3)},
        "d": {1: found(math.inf, math.inf)},
    }
    assert ranks({"t": of_table}, 1)["t"] == {"a": 1.0, "b": 3.5, "c": 2.0, "d": 3.5}
    assert ranks({"t": of_table}, 2)["t"] == {"a": 1.5, "b": 1.5, "c": 3.0, "d": 4.0}


def test_a_search_that_ended_early_keeps_its_best():
    assert found(0.3, 0.2).best(50) == 0.2
    assert found().best(50) == math.inf


def test_tables_that_a_method_has_not_finished_are_not_ranked():
    whole = {"a": {1: found(0.1), 2: found(0.1)}, "b": {1: found(0.2), 2: found(0.2)}}
    half = {"a": {1: found(0.1), 2: found(0.1)}, "b": {1: found(0.2)}}
    missing = {"a": {1: found(0.1), 2: found(0.1)}}
    assert list(complete({"x": whole, "y": half, "z": missing}, 2)) == ["x"]


@pytest.mark.parametrize(
    ("losses", "expected"), [((0.1, 0.2), "met"), ((0.2, 0.1), "missed"), ((0.1, 0.1), "met")]
)
def test_the_best_mean_rank_is_no_worse_than_any_rivals(losses: tuple[float, float], expected: str):
    ours, theirs = losses
    outcomes = {"t": {OURS.name: {1: found(ours)}, RANDOM.name: {1: found(theirs)}}}
    means = mean_ranks(ranks(outcomes, 1))
    assert verdict(means, 1, 1).verdict == expected


def test_without_fenceline_or_without_rivals_there_is_no_verdict():
    assert verdict({OURS.name: 1.0}, 50, 9).verdict == "no data"
    assert verdict({RANDOM.name: 1.0, "SMAC3": 2.0}, 50, 9).verdict == "no data"


def test_the_critical_difference_is_that_of_the_published_table():
    # Demsar (2006), table 5: q_0.05 is 2.343 for three classifiers, 2.949 for seven.
    assert critical_difference(3, 1) == pytest.approx(2.343 * math.sqrt(12 / 6), abs=2e-3)
    assert critical_difference(7, 9) == pytest.approx(2.949 * math.sqrt(56 / 54), abs=2e-3)


def test_a_report_shows_losses_of_tables_that_are_not_ranked_yet(tmp_path: Path):
    outcomes = {
        "x": {OURS.name: {1: found(0.125)}, RANDOM.name: {1: found(0.25)}},
        "y": {OURS.name: {1: found(0.5)}},
    }
    text = write_report(tmp_path, outcomes, 1, [1], "")
    (x,) = (line.split(" | ") for line in text.splitlines() if line.startswith("| x "))
    (y,) = (line.split(" | ") for line in text.splitlines() if line.startswith("| y "))
    assert [cell.strip(" |") for cell in x[1:]] == ["0.1250 (1)", "0.2500 (2)"]
    assert [cell.strip(" |") for cell in y[1:]] == ["0.5000", "not run"]
