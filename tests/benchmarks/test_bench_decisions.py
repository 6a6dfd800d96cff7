"""Decisions inside a fence: arithmetic, the answer by hand, what is judged and how."""

import importlib.util
import math

import numpy as np
import pandas as pd
import pytest
from fairlearn.metrics import demographic_parity_difference, equalized_odds_difference
from sklearn.metrics import balanced_accuracy_score

from benchmarks import newcomer
from benchmarks.catalogue import Entry
from benchmarks.decisions import command, rivals
from benchmarks.decisions.by_hand import decide_by_hand, weights
from benchmarks.decisions.fence import Bound, Reading, keeps, rate, read, score
from benchmarks.decisions.ours import GROUP, constraint
from benchmarks.decisions.paired import paired
from benchmarks.decisions.plan import METHODS, fences_of, jobs_of
from benchmarks.decisions.report import Case, write_report
from benchmarks.decisions.rows import Decided, grouped, load
from benchmarks.decisions.verdicts import behind_of, verdicts_of

N = 3000
CENSUS = Entry("fairness/census", N, "binary", ("sex",))
PLAIN = {"fpr": 0.2, "dpd": 0.31234, "eod": 0.2, "latency": 10.0}


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    sex = rng.choice(["f", "m"], N)
    skill = rng.normal(size=N) + 0.6 * (sex == "m")
    # The same skill is not judged the same: selection rates differ, and so do odds.
    judged = skill + 0.6 * (sex == "m") + 0.5 * rng.normal(size=N)
    target = np.where(judged > 0.6, "yes", "no")
    return pd.DataFrame({"skill": skill, "sex": sex, "same": 1, "target": target})


@pytest.fixture
def data(tmp_path, frame):
    (tmp_path / "fairness").mkdir()
    frame.to_csv(tmp_path / "fairness/census.csv.gz", index=False)
    line = f"| fairness/census.csv.gz | {N} | 3 (1) | 0 | 2 (no:1, yes:1) | here | free | protected: sex |\n"
    (tmp_path / "README.md").write_text(line)
    return tmp_path


@pytest.fixture
def table(data):
    return load(data / "fairness/census.csv.gz", "sex")


def flags(rng, n=500):
    return rng.random(n) < 0.4, rng.random(n) < 0.5, rng.choice(["a", "b", "c"], n)


def test_gaps_are_fairlearns():
    truth, chosen, groups = flags(np.random.default_rng(1))
    for kind, theirs in (
        ("dpd", demographic_parity_difference),
        ("eod", equalized_odds_difference),
    ):
        expected = theirs(truth, chosen, sensitive_features=groups)
        assert read(kind, truth, chosen, groups).value == pytest.approx(expected)


def test_rates_have_binomial_errors_and_never_none():
    chosen = np.array([True] * 20 + [False] * 80)
    assert rate(chosen, np.ones(100, bool)) == Reading(0.2, pytest.approx(0.04))
    assert rate(chosen, ~chosen).error > 0
    truth = ~chosen
    assert read("fpr", truth, chosen, truth).value == 1.0
    assert read("recall", truth, chosen, truth).value == 0.0


def test_scores_are_scikit_learns():
    truth, chosen, _ = flags(np.random.default_rng(2))
    expected = balanced_accuracy_score(truth, chosen)
    assert score("balanced_accuracy", truth, chosen) == pytest.approx(expected)
    assert score("precision", truth, np.zeros(500, bool)) == 0.0


def test_recall_is_bounded_from_below_and_the_rest_from_above():
    recall, gap = Bound.parse("recall=.8"), Bound.parse("dpd=.1")
    assert recall.excess(Reading(0.9, 0.02), 2.0) == pytest.approx(-0.06)
    assert gap.excess(Reading(0.09, 0.02), 2.0) == pytest.approx(0.03)
    assert keeps([recall, gap], {"recall": Reading(0.8, 0.1), "dpd": Reading(0.1, 0.1)})
    assert (str(recall), str(gap)) == ("recall >= 0.8", "dpd <= 0.1")


@pytest.mark.parametrize("text", ["dpd", "dpd=", "auroc=.9", "dpd=few"])
def test_a_bound_that_makes_no_sense_is_refused_with_the_value(text):
    with pytest.raises(ValueError, match=f"'{text}' is no bound"):
        Bound.parse(text)


def test_groups_have_rows_enough_and_nobody_is_missing():
    ages = pd.Series(np.arange(100))
    assert sorted(set(grouped(ages))) == ["above 49.5", "up to 49.5"]
    races = pd.Series(["a"] * 80 + ["b"] * 14 + ["c"] * 3 + ["d"] * 2 + [None])
    counts = pd.Series(grouped(races)).value_counts()
    assert counts.to_dict() == {"a": 80, "b": 14, "other": 6}
    rare = pd.Series(["a"] * 50 + ["b"] * 39 + ["c"] * 9 + ["d"] * 2)
    assert pd.Series(grouped(rare)).value_counts().to_dict() == {"a": 50, "b": 39, "other": 11}


def test_a_third_judges_and_constant_columns_are_left_out(table):
    own, judging = table.split(0)
    assert len(judging) == N // 3
    assert not set(own) & set(judging)
    assert list(table.X.columns) == ["skill", "sex"]


def test_reweighing_at_strength_one_makes_class_and_group_independent(table):
    counts = weights(table.truth, table.groups, 1.0)
    shares = [
        np.average(table.truth[table.groups == g], weights=counts[table.groups == g]) for g in "fm"
    ]
    assert shares[0] == pytest.approx(shares[1])
    np.testing.assert_array_equal(weights(table.truth, table.groups, 0.0), 1.0)


def test_the_answer_by_hand_leaves_room_and_reweighing_costs_less(table):
    own, judging = table.split(0)
    fence = [Bound("dpd", 0.4)]
    found = {}
    for strengths in ((0.0,), (0.0, 1.0)):
        hand = decide_by_hand(table, own, fence, "balanced_accuracy", strengths)
        chosen = hand.scores(table.X.iloc[judging]) >= hand.threshold
        gap = read("dpd", table.truth[judging], chosen, table.groups[judging])
        assert gap.value + gap.error < 0.4
        found[strengths] = score("balanced_accuracy", table.truth[judging], chosen)
    assert found[0.0, 1.0] > found[0.0,] + 0.05 > 0.8


def test_no_answer_by_hand_where_there_is_no_room(table):
    own, _ = table.split(0)
    impossible = [Bound("dpd", 0.001), Bound("recall", 0.9)]
    assert decide_by_hand(table, own, impossible, "balanced_accuracy") is None


def test_bounds_halve_what_a_plain_booster_does():
    fences = fences_of(CENSUS, PLAIN)
    assert fences["fpr"] == ("balanced_accuracy", [Bound("fpr", 0.1)])
    assert fences["dpd"][1] == [Bound("dpd", 0.156)]
    assert fences["recall"] == ("precision", [Bound("recall", 0.8)])
    assert [bound.kind for bound in fences["three"][1]] == ["fpr", "dpd", "latency"]
    assert fences["three"][1][-1].limit == 15.0
    assert set(fences_of(Entry("meta/a", N, "binary"), PLAIN)) == {"recall", "fpr"}


def test_fairlearn_takes_part_only_where_groups_are_compared(tmp_path):
    found = jobs_of(
        CENSUS,
        PLAIN,
        list(METHODS.values()),
        ("fpr", "eod"),
        seconds=60,
        seed=0,
        data=tmp_path,
        out=tmp_path,
    )
    methods = [(job.settings["fence"], job.settings["method"]) for job in found]
    assert methods == [("fpr", m.name) for m in METHODS.values() if not m.comparing] + [
        ("eod", name) for name in METHODS
    ]
    assert {j.settings["seconds"] for j in found if j.timed} == {60}
    assert {j.settings["seconds"] for j in found if not j.timed} == {0}


@pytest.mark.parametrize(
    ("bound", "text"),
    [
        ("fpr=.1", "false_positive_rate <= 0.1"),
        ("recall=.8", "recall >= 0.8"),
        ("dpd=.1", f"demographic_parity_difference({GROUP}) <= 0.1"),
        ("eod=.1", f"equalized_odds_difference({GROUP}) <= 0.1"),
        ("latency=12", "latency_us(batch=1000) <= 12"),
    ],
)
def test_we_are_told_of_the_same_bounds(bound, text):
    assert str(constraint(Bound.parse(bound))) == text


@pytest.mark.parametrize("kind", ["dpd", "eod"])
def test_fairlearns_answers_are_fairer_than_a_plain_boosters(table, kind, monkeypatch):
    monkeypatch.setattr(rivals, "ROUNDS", 4)
    own, judging = table.split(0)
    truth, groups = table.truth[judging], table.groups[judging]
    free = decide_by_hand(table, own, [], "balanced_accuracy")
    chosen = free.scores(table.X.iloc[judging]) >= free.threshold
    plain = read(kind, truth, chosen, groups).value
    for rival in (rivals.exponentiated, rivals.postprocessed):
        fence = [Bound(kind, plain / 2)]
        answer = rival(table, own, judging, fence, "balanced_accuracy", 0)
        assert read(kind, truth, answer.chosen, groups).value < 0.8 * plain
        assert len(np.asarray(answer.predict(judging[:10]))) == 10


def test_the_error_of_a_paired_difference_is_that_of_rows_drawn_again():
    rng = np.random.default_rng(3)
    truth, one, _ = flags(rng, 400)
    other = np.where(rng.random(400) < 0.1, ~one, one)
    difference, error = paired("balanced_accuracy", truth, one, other)
    drawn = [rng.integers(0, 400, 400) for _ in range(1000)]
    by_rows = [
        score("balanced_accuracy", truth[r], one[r])
        - score("balanced_accuracy", truth[r], other[r])
        for r in drawn
    ]
    assert difference == pytest.approx(
        score("balanced_accuracy", truth, one) - score("balanced_accuracy", truth, other)
    )
    assert error == pytest.approx(np.std(by_rows), rel=0.1)


def case(method, right=0.8, value=0.05, certificate="none", table="census", **outcome):
    """Decisions of which a share is right, and a gap with its error."""
    rng = np.random.default_rng(0)
    truth = rng.random(4000) < 0.5
    chosen = np.where(rng.random(4000) < right, truth, ~truth)
    outcome |= {"certificate": certificate, "score": score("balanced_accuracy", truth, chosen)}
    bounds, readings = (Bound("dpd", 0.1),), {"dpd": Reading(value, 0.01)}
    return Case(table, "dpd", method, "balanced_accuracy", bounds, outcome, readings, truth, chosen)


def no_answer(method):
    bounds = (Bound("dpd", 0.1),)
    return Case("census", "dpd", method, "balanced_accuracy", bounds, {}, {}, None, None)


def judged(words, *cases):
    return next(v for v in verdicts_of(cases) if words in v.asked)


@pytest.mark.parametrize(("value", "broken"), [(0.09, 0), (0.11, 0), (0.116, 0), (0.117, 1)])
def test_a_certificate_is_contradicted_beyond_the_error_of_the_rows_that_judge(value, broken):
    found = judged("contradicted", case("fenceline", value=value, certificate="certified"))
    assert found.measured == f"{broken} of 1"
    assert found.met == (not broken)


def test_nothing_certified_is_no_proof_of_good_certificates():
    assert judged("contradicted", case("fenceline", value=0.2)).met is None


def test_what_is_certified_by_hand_must_be_certified_by_us():
    hand = case("reweighed", certificate="certified")
    ours = case("fenceline", certificate="certified")
    assert judged("by hand is", hand, ours).met
    assert judged("by hand is", hand, case("fenceline")).met is False
    assert judged("by hand is", case("reweighed"), ours).met is None


def test_only_rivals_inside_the_fence_are_compared():
    ours, better = case("fenceline", 0.8), case("flaml", 0.9)
    assert judged("behind the best", ours, better).measured == "1 of 1 (census/dpd)"
    assert judged("FLAML", ours, better).met is False
    outside = case("flaml", 0.9, value=0.11)
    assert judged("behind the best", ours, outside).met
    assert not [v for v in verdicts_of([ours, outside]) if "FLAML" in v.asked]


def test_it_is_told_apart_who_is_ahead_with_a_certificate(tmp_path):
    ours, bold = case("fenceline", 0.8), case("flaml", 0.9)
    proven = case("reweighed", 0.85, certificate="certified")
    assert behind_of([ours, bold]) == [("census", "dpd")]
    assert behind_of([ours, bold], certified=True) == []
    assert behind_of([ours, bold, proven], certified=True) == [("census", "dpd")]
    text, _ = write_report(tmp_path, [ours, bold, proven], "A trial.")
    assert "*and* certified: 1 (census/dpd)" in text


def test_a_little_behind_is_not_behind():
    assert judged("behind the best", case("fenceline", 0.8), case("flaml", 0.805)).met


def test_outside_the_fence_or_without_an_answer_is_behind_whoever_is_inside():
    rival = case("newcomer", 0.6)
    assert judged("behind the best", case("fenceline", 0.9, value=0.2), rival).met is False
    assert judged("behind the best", no_answer("fenceline"), rival).met is False
    assert judged("behind the best", case("fenceline", 0.9, value=0.11), rival).met


def test_the_report_marks_who_is_certified_and_who_is_outside(tmp_path):
    cases = [
        case("newcomer", certificate="certified"),
        case("fenceline", value=0.2, certificate="certified"),
        no_answer("reweighed"),
    ]
    text, met = write_report(tmp_path, cases, "A trial.")
    assert not met
    row = next(line for line in text.splitlines() if line.startswith("| census"))
    assert [cell.strip()[-2:].strip() for cell in row.split("|")[3:-1]] == ["c", "ne", "co"]
    assert len(pd.read_csv(tmp_path / "runs.csv")) == 3


def test_the_command_sets_bounds_then_decides_by_hand_and_resumes(data, tmp_path, capsys):
    arguments = ["--data", str(data), "--out", str(tmp_path / "out"), "--tables", "census"]
    arguments += ["--methods", "newcomer", "--fences", "dpd", "--jobs", "1"]
    command.main(arguments)
    record = tmp_path / "out/runs/census-dpd-newcomer-seed0.json"
    written = record.stat().st_mtime_ns
    command.main(arguments)
    assert record.stat().st_mtime_ns == written
    said = capsys.readouterr().out
    assert "Seed 0: 1 tables (rows): census" in said
    assert "| by hand | 1 | 1 |" in said


def test_ours_and_the_answer_by_hand_are_printed_side_by_side(data, capsys):
    path = str(data / "fairness/census.csv.gz")
    fence = ["--fence", "dpd=.25", "latency=500", "--group", "sex"]
    assert newcomer.main([path, *fence, "--evaluations", "2"]) == 0
    said = capsys.readouterr().out
    assert [line.split()[0] for line in said.splitlines() if "AUROC" in line] == [
        "newcomer",
        "fenceline",
    ]
    assert said.count("dpd <= 0.25: ") == said.count("latency <= 500: ") == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["nowhere"], "there is no table"), (["nowhere", "--fence", "dpd=.1"], "name their column")],
)
def test_the_newcomer_refuses_what_makes_no_sense(arguments, words, capsys):
    with pytest.raises(SystemExit):
        newcomer.options(arguments)
    assert words in capsys.readouterr().err


def test_the_newcomer_names_the_columns_where_the_group_is_none(data):
    arguments = [str(data / "fairness/census.csv.gz"), "--fence", "dpd=.1", "--group", "race"]
    with pytest.raises(SystemExit, match=r"no column 'race'; there are .*sex"):
        newcomer.main(arguments)


@pytest.mark.skipif(importlib.util.find_spec("flaml") is None, reason="FLAML has its environment")
def test_flaml_is_told_of_the_bounds(table):
    own, judging = table.split(0)
    answer = rivals.flaml(table, own, judging, [Bound("dpd", 0.3)], "balanced_accuracy", 0, 2.0)
    assert len(answer.chosen) == len(judging)
    assert math.isfinite(score("balanced_accuracy", table.truth[judging], answer.chosen))


def test_a_table_needs_two_classes_and_its_group(data, frame, tmp_path):
    with pytest.raises(ValueError, match="no column 'race'"):
        load(data / "fairness/census.csv.gz", "race")
    frame.assign(target=np.arange(N) % 3).to_csv(tmp_path / "three.csv", index=False)
    with pytest.raises(ValueError, match="has 3 classes"):
        load(tmp_path / "three.csv")
    assert isinstance(load(data / "fairness/census.csv.gz"), Decided)
