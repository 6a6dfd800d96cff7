import csv
import itertools
import math
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import fenceline as fl
from benchmarks import counted, optimiser
from benchmarks.ablation import MeasuredBlocks, WithoutStructure
from benchmarks.counted import Counted, Trace, read, run
from benchmarks.failing import failing
from benchmarks.harness import Curve
from benchmarks.optimiser import main
from benchmarks.optimiser_plan import OURS, PLAN, RANDOM, TUNING_SEEDS, jobs_of
from benchmarks.verdicts import Target, hardest_rival, quotient, regret_ratio, summary
from benchmarks.virtual_workers import VirtualWorkers
from fenceline.baselines import RandomSearch
from fenceline.evaluation.evaluator import RunEvaluator
from fenceline.problems import artificial, artificial_optimum
from fenceline.search.structured.search import StructuredBO
from fenceline.search.surrogates import pipeline_likelihood as shared_evidence

SEED = 100


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("tiny")
    with pytest.MonkeyPatch.context() as patch:
        kinds = ("artificial", "workers8", "failing", "classical-branin", "classical-gramacy")
        lines = [x for x in PLAN if x.curve.needs == "fenceline" and x.setting in kinds]
        patch.setattr(optimiser, "PLAN", lines)
        assert main(["--smoke", "--seeds", "1", "--jobs", "1", "--out", str(out)]) == 0
    return out


def trace(*objectives: float, optimum: float = 0.0, seconds: float = 0.01) -> Trace:
    n = len(objectives)
    times = np.full(n, seconds)
    return Trace(optimum, np.array(objectives), np.ones(n, dtype=bool), times, times)


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_tiny_run_writes_every_table_and_figure(tiny: Path):
    names = {path.name for path in tiny.iterdir() if path.is_file()}
    figures = {f"{stem}.{kind}" for stem in ("regret", "ablation") for kind in ("png", "svg")}
    tables = {"regret.csv", "time.csv", "runs.csv", "targets.csv", "report.md"}
    assert names == figures | tables


def test_every_target_has_a_verdict_and_what_was_not_run_says_so(tiny: Path):
    found = rows(tiny / "targets.csv")
    assert {row["part"] for row in found} == set("ABCDFGH")
    assert {row["verdict"] for row in found} <= {"met", "missed", "no data"}
    (without_optuna,) = (r for r in found if "at n = 50 over Optuna" in r["asked"])
    assert without_optuna["verdict"] == "no data"
    never_run = [s for s in (tiny / "report.md").read_text().splitlines() if s[:7] == "| SMAC3"]
    assert never_run
    assert all("not run" in line for line in never_run)


def test_a_second_look_repeats_no_run(tiny: Path, capsys: pytest.CaptureFixture[str]):
    parts = {path: path.stat().st_mtime_ns for path in (tiny / "runs").iterdir()}
    assert main(["--smoke", "--seeds", "1", "--report-only", "--out", str(tiny)]) == 0
    assert {path: path.stat().st_mtime_ns for path in (tiny / "runs").iterdir()} == parts
    assert "Unfinished" in capsys.readouterr().out


def test_runs_of_other_code_are_out_of_date_and_the_report_says_so(
    tiny: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(counted, "code_of", lambda distribution: "another")
    main(["--smoke", "--seeds", "1", "--report-only", "--out", str(tiny)])
    assert "Out of date" in capsys.readouterr().out


def test_problems_that_settings_were_tuned_on_are_refused():
    with pytest.raises(SystemExit):
        main(["--first-seed", str(TUNING_SEEDS[-1])])


def test_no_two_runs_of_the_plan_share_a_file(tmp_path: Path):
    jobs = jobs_of(PLAN, range(100, 120), 1.0, tmp_path)
    assert len({job.part for job in jobs}) == len(jobs)
    assert all(job.seed not in TUNING_SEEDS for job in jobs)


def test_the_first_runs_are_those_wanted_first():
    assert [line.curve.name for line in PLAN[:3]] == ["Fenceline", "Optuna TPE", "random search"]


def test_a_run_keeps_every_evaluation_and_can_be_repeated_exactly(tmp_path: Path):
    jobs = [
        Counted(RANDOM, "artificial", artificial, SEED, 30, tmp_path / name) for name in ("a", "b")
    ]
    for job in jobs:
        run(job)
    first, second = (read(job) for job in jobs)
    assert first is not None
    assert second is not None
    assert len(first.objectives) == 30
    np.testing.assert_array_equal(first.objectives, second.objectives)
    result = fl.minimize(artificial(SEED), evaluations=30, algorithm=RandomSearch(), seed=SEED)
    np.testing.assert_array_equal(first.objectives, [e.objective for e in result.evaluations])


def burning(seed: int) -> fl.Problem:
    def measure(configuration: object) -> dict[str, float]:
        return {"loss": float(sum(math.sqrt(k) for k in range(200_000)))}

    return replace(artificial(seed), measure=measure)


def test_the_measurement_is_not_charged_to_the_optimiser(tmp_path: Path):
    job = Counted(RANDOM, "burning", burning, SEED, 5, tmp_path)
    run(job)
    found = read(job)
    assert found is not None
    assert found.cpu_seconds[1:].max() < 0.005


def test_virtual_workers_hand_everything_out_once_in_another_order():
    engine = VirtualWorkers(4, seed=0)
    engine.put(lambda argument: argument)
    order = []
    for ticket in range(40):
        engine.submit(ticket, ticket)
        if ticket >= 3:
            finished = engine.next()
            assert finished is not None
            assert finished[0] == finished[1].value
            order.append(finished[0])
    while (finished := engine.next()) is not None:
        order.append(finished[0])
    assert sorted(order) == list(range(40))
    assert order != sorted(order)


def test_on_a_slow_machine_virtual_workers_are_handed_no_more_than_they_can_take(
    monkeypatch: pytest.MonkeyPatch,
):
    """A suggestion of ten seconds, on a real clock, had one more wait beside tasks of a minute."""
    clock = itertools.count(0.0, 10.0)
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
    evaluator = RunEvaluator(artificial(SEED), VirtualWorkers(8, seed=0), evaluations=30)
    rng = np.random.default_rng(0)
    for _ in range(30):
        evaluator.submit(artificial(SEED).space.sample(rng))
        assert len(evaluator.pending) < 8


def test_with_virtual_workers_a_search_proposes_while_others_are_pending(tmp_path: Path):
    job = Counted(OURS, "workers8", artificial, SEED, 30, tmp_path, workers=8)
    run(job)
    found = read(job)
    assert found is not None
    assert len(found.objectives) == 30
    alone = fl.minimize(artificial(SEED), evaluations=30, seed=SEED)
    assert sorted(found.objectives) != sorted(e.objective for e in alone.evaluations)


def test_a_fifth_of_random_pipelines_fails_and_the_optimum_does_not():
    problem, rng = failing(SEED), np.random.default_rng(1)
    drawn = [problem.space.sample(rng) for _ in range(2000)]

    def fails(configuration: fl.Configuration) -> bool:
        try:
            problem.measure(configuration)
        except RuntimeError:
            return True
        return False

    failed = [fails(c) for c in drawn]
    assert np.mean(failed) == pytest.approx(0.2, abs=0.03)
    assert failed == [fails(c) for c in drawn]
    value, best = artificial_optimum(SEED)
    assert problem.measure(best)["loss"] == pytest.approx(value)
    assert problem.optimum == value


def test_without_structure_no_module_has_an_effect_of_its_own(monkeypatch: pytest.MonkeyPatch):
    before = dict(shared_evidence._PRIORS)
    seen = []
    explain = shared_evidence.PipelineEvidence.__call__

    def watched(self: shared_evidence.PipelineEvidence, logarithms: np.ndarray) -> object:
        seen.append(np.exp(logarithms[-2 - 2 * len(self.parts) : -2]).max())
        return explain(self, logarithms)

    monkeypatch.setattr(shared_evidence.PipelineEvidence, "__call__", watched)
    fl.minimize(artificial(SEED), evaluations=15, algorithm=WithoutStructure(), seed=SEED)
    assert seen
    assert max(seen) < 1e-9
    assert list(shared_evidence._PRIORS.items()) == list(before.items())


def test_measured_blocks_move_either_choices_or_hyper_parameters():
    algorithm = StructuredBO(search=MeasuredBlocks())
    result = fl.minimize(artificial(SEED), evaluations=36, algorithm=algorithm, seed=SEED)
    design = 12
    for n in range(design, 36):
        moved = result.evaluations[n].configuration
        past = sorted(result.evaluations[:n], key=lambda e: e.objective)
        if (n // 4) % 2:
            for module, choice in moved.items():
                (known, *_) = (
                    e.configuration[module]
                    for e in past
                    if e.configuration[module].algorithm == choice.algorithm
                )
                assert choice == known
        else:
            best = past[0].configuration
            assert [c.algorithm for c in moved.values()] == [c.algorithm for c in best.values()]


def test_a_ratio_compares_only_seeds_that_both_were_run_on():
    ours = {1: trace(2.0), 2: trace(100.0), 3: trace(4.0)}
    theirs = {1: trace(4.0), 3: trace(8.0), 4: trace(0.1)}
    ratio = regret_ratio(ours, theirs, 1)
    assert ratio.median == pytest.approx(0.5)
    assert ratio.problems == 2


def test_a_rival_that_was_not_run_so_long_is_not_the_best_one():
    ours = {1: trace(3.0, 1.0)}
    rivals = {"short": {1: trace(1.0)}, "long": {1: trace(9.0, 5.0)}}
    assert hardest_rival(ours, rivals, 1)[0] == "short"
    assert hardest_rival(ours, rivals, 2)[0] == "long"
    assert hardest_rival(ours, rivals, 3)[1].problems == 0


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [(1.0, 2.0, 0.5), (0.0, 0.0, 1.0), (1e-9, 1e-12, 1.0), (np.inf, np.inf, 1.0), (1.0, np.inf, 0)],
)
def test_a_quotient_of_regrets_is_always_a_number(ours: float, theirs: float, expected: float):
    assert quotient(ours, theirs, floor=1e-6) == pytest.approx(expected)


def test_a_quotient_with_nothing_is_nothing():
    assert np.isnan(quotient(np.nan, 1.0))
    assert np.isnan(quotient(1.0, np.nan))


def test_a_median_between_infinities_is_infinite():
    assert summary([np.inf, np.inf, 1.0]).median == np.inf
    assert summary([np.inf, 1.0, 2.0]).median == 2.0


@pytest.mark.parametrize(
    ("measured", "verdict"),
    [(0.2, "met"), (0.21, "missed"), (np.inf, "missed"), (np.nan, "no data")],
)
def test_a_verdict_follows_from_the_measurement(measured: float, verdict: str):
    assert Target("A", "regret", 0.2, measured, "somebody", 20).verdict == verdict


def test_a_window_of_times_reaches_a_tenth_to_either_side():
    run_of = trace(*np.ones(120))
    run_of.cpu_seconds[:] = np.arange(120)
    assert run_of.around(100).tolist() == list(range(90, 110))
    assert len(run_of.around(121)) == 0


def test_settings_of_a_curve_made_by_a_partial_survive_the_disk(tmp_path: Path):
    curve = Curve("settings", partial(StructuredBO, search=MeasuredBlocks(turn=2)))
    job = Counted(curve, "artificial", artificial, SEED, 3, tmp_path)
    run(job)
    assert job.done
    other = Counted(replace(curve, build=StructuredBO), "artificial", artificial, SEED, 3, tmp_path)
    assert not other.done
