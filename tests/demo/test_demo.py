import math
from importlib.resources import files

import pytest
from typer.testing import CliRunner, Result

from fenceline import FencelineClassifier, data
from fenceline.certificate.certify import Certificate, Check
from fenceline.cli import app
from fenceline.demo import credit
from fenceline.problem.parameter import Real
from fenceline.problem.space import Algorithm, Module, Space

LOOSE = ["--latency-us", "10000", "--gap", "0.5", "--bad-loans", "0.9"]
QUICK = Space(
    [
        Module("scaler", [Algorithm("StandardScaler")]),
        Module("estimator", [Algorithm("LogisticRegression", {"C": Real(0.01, 10, log=True)})]),
    ]
)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(
        app, ["demo", *arguments], prog_name="fenceline", env={"COLUMNS": "80", "NO_COLOR": "1"}
    )


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """The demo writes into the current directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def quick(monkeypatch):
    """Let the demo search a space of one learner, in this process."""

    def model(constraints, seconds, seed):
        return FencelineClassifier(
            objective=credit.OBJECTIVE,
            constraints=constraints,
            space=QUICK,
            evaluations=4,
            cv=2,
            random_state=seed,
            callbacks=watchers,
        )

    watchers: list = []
    monkeypatch.setattr(credit, "model", model)
    return watchers


def test_the_bundled_table_is_whole_and_says_where_it_is_from():
    table = data.credit()
    assert table.shape == (4454, 14)
    assert (table["Status"] == "bad").sum() == 1254
    assert table["Income"].isna().sum() == 381
    notice = (files(data) / "CREDIT.md").read_text(encoding="utf-8")
    assert "modeldata" in notice
    assert "MIT License" in notice


def test_the_fence_has_three_sides():
    assert [str(c) for c in credit.fence(10, 0.2, 0.3)] == [
        "latency_us(batch=1000) <= 10",
        "score_gap(roc_auc,Age,bins=35) <= 0.2",
        "false_positive_rate <= 0.3",
    ]


def test_the_model_of_the_demo_keeps_to_the_budget_and_searches_the_default_space():
    model = credit.model(credit.fence(10, 0.2, 0.3), 7, 3)
    assert (model.seconds, model.random_state) == (7, 3)
    names = [a.name for a in model.space.modules[-1].algorithms]
    assert names[0] == "LogisticRegression"
    assert "MLP" not in names


def test_without_a_latency_the_simplest_pipeline_is_the_yardstick(quick, monkeypatch):
    assert 0 < credit.simplest_us(*credit.applicants()) < 1000
    monkeypatch.setattr(credit, "simplest_us", lambda table, status: 2000.0)
    assert "latency, µs/row <= 6000" in run(*LOOSE[2:]).stdout


def test_the_report_and_the_model_are_written_and_named(quick, elsewhere):
    result = run(*LOOSE, "--out", "made/here")
    assert result.exit_code == 0, result.output
    for name in ("report.html", "model.skops"):
        assert f"made/here/{name}" in result.stdout
        assert (elsewhere / "made" / "here" / name).exists()
    (elsewhere / "file").write_text("")
    assert "choose another directory" in run(*LOOSE, "--out", "file").output


def test_the_question_the_model_and_its_certificate_are_shown(quick):
    result = run(*LOOSE)
    assert result.exit_code == 0, result.output
    for words in (
        "Who gets a loan? 4,454 applicants, 13 columns",
        "bad loans granted <= 0.9",
        "4 pipelines measured in",
        "estimator  LogisticRegression(C=",
        "threshold  probability ",
        "1 - balanced accuracy",
        "Certified: all three hold on ",
        "applicants the search never saw, at 95% confidence.",
        "fenceline fit",
    ):
        assert words in result.stdout
    assert result.stdout.count("certified") == 3
    assert "…" not in result.stdout, "the table must fit into 80 columns"
    assert "\x1b" not in result.stdout


def test_an_impossible_fence_ends_with_what_to_loosen_and_code_3(quick):
    result = run(*LOOSE[:2], "--gap", "1e-9", *LOOSE[4:])
    assert result.exit_code == 3
    assert "loosen score_gap(roc_auc,Age,bins=35) from 1e-09 to" in " ".join(result.stdout.split())
    assert "The model" not in result.stdout


def test_what_unseen_rows_do_not_confirm_is_shown_and_ends_with_code_3(quick, monkeypatch):
    def refuse(trial, constraints, *_, **__):
        checks = [Check(c, 99.0, -math.inf, 99.0, "infeasible") for c in constraints]
        return Certificate(tuple(checks), 0.95, 891, 3)

    monkeypatch.setattr("fenceline.certificate.refits.certify", refuse)
    result = run(*LOOSE)
    assert result.exit_code == 3
    assert "Not confirmed: the model is outside the fence on 891 applicants" in result.stdout
    assert result.stdout.count("infeasible") == 3


def test_ctrl_c_shows_what_there_is_and_ends_with_code_130(quick):
    def interrupt(progress):
        if progress.count == 2:
            raise KeyboardInterrupt

    quick.append(interrupt)
    result = run(*LOOSE)
    assert result.exit_code == 130
    assert "Interrupted: 2 pipelines measured" in result.stdout
    assert "The model" in result.stdout


def test_what_would_have_won_without_the_fence_is_told(quick):
    # At the threshold that is best without a fence, a third of the bad loans is granted.
    result = run(*LOOSE[:4], "--bad-loans", "0.02")
    told = " ".join(result.stdout.split())
    assert "would have won with 0." in told
    assert "> 0.02." in told
    assert "of them outside the fence." in told


@pytest.mark.parametrize(
    ("arguments", "remedy"),
    [
        (["--seconds", "0"], "try --seconds 50"),
        (["--seconds", "nan"], "try --seconds 50"),
        (["--seed", "-1"], "try --seed 0"),
        (["--gap", "-0.1"], "try --gap 0.18"),
        (["--bad-loans", "inf"], "try --bad-loans 0.25"),
        (["--latency-us", "0"], "try --latency-us 15"),
    ],
)
def test_numbers_that_make_no_sense_are_refused_with_one_that_does(arguments, remedy):
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert remedy in result.stderr
