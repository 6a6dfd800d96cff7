import json
import shutil
import tomllib
from pathlib import Path

import pandas as pd
import pytest
from quick_pipelines import QUICK

import fenceline
from fenceline.certificate.certify import Certificate
from fenceline.cli.job import guess_task
from fenceline.pipelines.cross_validation import CrossValidation
from fenceline.store.records import Finish, Proposal
from fenceline.store.run_directory import read_run

FILES = {
    "certificate.json",
    "inspection.json",
    "config.toml",
    "journal.jsonl",
    "meta.json",
    "model.skops",
    "report.html",
    "summary.json",
    "unseen.json",
}


def proposals(directory):
    return [e.configuration for e in read_run(directory)[1] if isinstance(e, Proposal)]


def outcomes(directory):
    return [e for e in read_run(directory)[1] if isinstance(e, Finish)]


def test_fit_leaves_everything_in_the_run_directory(finished):
    assert {path.name for path in finished.iterdir()} == FILES
    model = fenceline.load(finished / "model.skops")
    assert model.result_.best is not None
    assert len(outcomes(finished)) == 4
    certificate = json.loads((finished / "certificate.json").read_text())
    assert certificate["status"] == model.certificate_.status
    assert [check["text"] for check in certificate["checks"]] == [
        "size_mb <= 5",
        "score_gap(roc_auc,SEX) <= 0.9",
    ]


def test_config_repeats_the_run_exactly(cli, finished, tmp_path):
    result = cli(
        "fit", "--config", finished / "config.toml", *QUICK, "--out", tmp_path / "again", "-q"
    )
    assert result.exit_code == 0, result.output
    assert proposals(tmp_path / "again") == proposals(finished)
    again, first = (
        tomllib.loads((where / "config.toml").read_text())
        for where in (tmp_path / "again", finished)
    )
    assert again == first
    assert first["task"] == "classification"


def test_options_go_before_the_config(cli, finished, tmp_path):
    out = tmp_path / "other"
    result = cli(
        "fit",
        "--config",
        finished / "config.toml",
        *QUICK,
        "--evaluations",
        2,
        "--seed",
        5,
        "--out",
        out,
    )
    assert result.exit_code == 0, result.output
    assert len(outcomes(out)) == 2
    assert tomllib.loads((out / "config.toml").read_text())["seed"] == 5


def test_answer_shows_the_verdict_the_fence_and_the_files(cli, asked, tmp_path):
    result = cli(*asked, "--out", tmp_path / "run")
    assert result.exit_code == 0, result.output
    for words in (
        "4 pipelines measured",
        "size_mb <= 5",
        "score_gap(roc_auc,SEX)",
        "unseen",
        "certificate.json, report.html",
    ):
        assert words in result.stdout
    assert "Classification, because label has 2 distinct values" in result.stderr
    assert "good counts as positive" in result.stderr
    assert "new best" in result.stderr
    assert "\x1b" not in result.output


def test_json_is_alone_on_standard_output(cli, asked, tmp_path):
    result = cli(*asked, "--out", tmp_path / "run", "--json")
    found = json.loads(result.stdout)
    assert found["status"] in ("certified", "feasible")
    assert found["exit_code"] == result.exit_code == 0
    assert [c["constraint"] for c in found["constraints"]] == [
        "size_mb <= 5",
        "score_gap(roc_auc,SEX) <= 0.9",
    ]
    assert "new best" in result.stderr
    assert found == json.loads((tmp_path / "run" / "summary.json").read_text())


def test_infeasible_fit_says_what_to_loosen_and_leaves_no_model(cli, toy, tmp_path):
    out = tmp_path / "run"
    words = [
        "--target",
        "label",
        "--space",
        "quick_pipelines:space",
        "--evaluations",
        3,
        "-q",
        "--out",
        out,
    ]
    result = cli("fit", toy, *words, "-c", "size_mb <= 1e-6")
    assert result.exit_code == 3
    assert "loosen size_mb from 1e-06 to" in " ".join(result.stdout.split())
    made = {"model.skops", "inspection.json", "unseen.json"}
    assert {path.name for path in out.iterdir()} == FILES - made
    assert "loosen" in cli("report", out).stdout + (out / "report.html").read_text()
    explained = cli("explain", out)
    assert explained.exit_code == 0
    assert "nothing to certify" in explained.stdout


def test_fit_and_explain_count_the_same_pipelines(cli, toy, tmp_path):
    """Where time is too short for a search, one pipeline is measured that no journal holds."""
    out = tmp_path / "run"
    words = ["--target", "label", *QUICK, "--seconds", 0.01, "--workers", 1, "--out", out]
    result = cli("fit", toy, *words, "-c", "size_mb <= 1e-6")
    assert result.exit_code == 3
    told = " ".join(result.stdout.split())
    assert "1 pipeline measured in" in told
    miss = told[told.index("None of 1 pipelines") : told.index("; or give a larger budget")]
    assert miss in " ".join(cli("explain", out).stdout.split())
    [line] = json.loads((out / "summary.json").read_text())["constraints"]
    assert line["price"] is None, "nothing is inside, so nothing has a price"


def test_what_cannot_be_is_refused_before_anything_is_written(cli, toy, tmp_path):
    out = tmp_path / "run"
    for words in (("--objective", "speling"), ("-c", "accuracy >= 80")):
        result = cli("fit", toy, "--target", "label", "--out", out, *words)
        assert result.exit_code == 2
        assert "Writing" not in result.output
        assert not out.exists()


def test_refused_certificate_is_remembered(cli, finished, tmp_path):
    """A pipeline that unseen rows refuse leaves no model, yet explain must know of the refusal."""
    run = tmp_path / "run"
    shutil.copytree(finished, run)
    (run / "model.skops").unlink()
    summary = json.loads((run / "summary.json").read_text())
    summary["certificate"]["checks"][0]["verdict"] = "infeasible"
    (run / "summary.json").write_text(json.dumps(summary))
    assert json.loads(cli("explain", run, "--json").stdout)["status"] == "infeasible"


def test_interrupted_fit_keeps_all_and_can_be_resumed(cli, asked, tmp_path, monkeypatch):
    out = tmp_path / "run"
    measured = []
    measure = CrossValidation.__call__

    def interrupted_at_the_third(self, configuration, fidelity=1.0):
        measured.append(configuration)
        if len(measured) == 3:
            raise KeyboardInterrupt
        return measure(self, configuration, fidelity)

    with monkeypatch.context() as patch:
        patch.setattr(CrossValidation, "__call__", interrupted_at_the_third)
        result = cli(*asked, "--out", out, "-q")
    assert result.exit_code == 130, result.output
    assert "Interrupted; all is kept. 2 pipelines measured" in result.stdout
    assert {path.name for path in out.iterdir()} == FILES

    result = cli("resume", out, *QUICK, "-q")
    assert result.exit_code == 0, result.output
    assert len(outcomes(out)) == 4, "what is left of the budget, and nothing twice"


def test_resumed_run_ends_as_one_that_was_never_interrupted(cli, finished, asked, tmp_path):
    out = tmp_path / "run"
    assert cli(*asked, "--evaluations", 2, "--out", out, "-q").exit_code == 0
    assert cli("resume", out, *QUICK, "--evaluations", 2, "-q").exit_code == 0
    assert proposals(out) == proposals(finished)
    assert tomllib.loads((out / "config.toml").read_text())["evaluations"] == 4


def test_ctrl_c_before_the_search_ends_with_code_130_and_no_traceback(cli, asked, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("fenceline.cli.job.read_table", interrupt)
    result = cli(*asked)
    assert result.exit_code == 130
    assert "Traceback" not in result.output


def test_without_out_the_directory_is_named_after_the_table(cli, asked, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("toy-run").mkdir()
    result = cli(*asked, "--evaluations", 1, "-q")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "toy-run-2" / "model.skops").exists()


def test_regression_without_constraints(cli, table, tmp_path):
    path, out = tmp_path / "numbers.csv", tmp_path / "run"
    table.head(80).to_csv(path, index=False)
    words = ["--target", "debt", "--drop", "label", "--drop", "SEX", "--evaluations", 2]
    result = cli("fit", path, *words, "--cv", 0.3, "--out", out)
    assert result.exit_code == 0, result.output
    assert "Regression, because debt has numbers with fractions" in result.stderr
    assert "there was no fence" in result.stdout
    assert json.loads((out / "certificate.json").read_text())["status"] == "none"
    model = fenceline.load(out / "model.skops")
    assert list(model.feature_names_in_) == ["income", "AGE"]


def test_dropped_column_can_still_be_a_group(cli, asked, tmp_path):
    out = tmp_path / "run"
    result = cli(*asked, "--drop", "SEX", "--evaluations", 2, "--out", out, "-q")
    assert result.exit_code == 0, result.output
    model = fenceline.load(out / "model.skops")
    assert "SEX" not in model.feature_names_in_
    assert isinstance(model.certificate_, Certificate)


@pytest.mark.parametrize(
    ("values", "task", "reason"),
    [
        (["a", "b", "a"], "classification", "no numbers"),
        ([True, False], "classification", "no numbers"),
        ([0, 1, 1, 0], "classification", "2 distinct values"),
        ([0.0, 1.0], "classification", "2 distinct values"),
        ([1, 2, 3, 3], "classification", "3 distinct whole numbers"),
        ([0.5, 1.5, 2.0], "regression", "fractions"),
        (range(50), "regression", "50 distinct numbers"),
    ],
)
def test_task_is_guessed_with_a_reason(values, task, reason):
    guessed, why = guess_task(pd.Series(values, name="y"))
    assert guessed == task
    assert reason in why


def test_verbose_shows_every_pipeline_and_quiet_none(cli, asked, tmp_path):
    loud = cli(*asked, "--out", tmp_path / "loud", "--verbose")
    assert loud.stderr.count(" of 4 evaluations") == 4
    silent = cli(*asked, "--out", tmp_path / "silent", "--quiet")
    assert silent.stderr == ""


def test_ensemble_shows_its_members_and_their_votes(cli, table, tmp_path):
    # A line and a step: a linear model sees the one, a tree the other.
    risk = table["income"] + 1.5 * (table["debt"].abs() < 0.6)
    path, out = tmp_path / "both.csv", tmp_path / "run"
    table.assign(label=(risk > risk.median()).astype(int)).to_csv(path, index=False)
    words = [
        "--target",
        "label",
        "--space",
        "quick_pipelines:space",
        "--evaluations",
        8,
        "--ensemble",
        3,
    ]
    result = cli("fit", path, *words, "-c", "size_mb <= 5", "--out", out, "-q")
    assert result.exit_code == 0, result.output
    members = json.loads((out / "summary.json").read_text())["pipelines"]
    assert len(members) > 1
    assert sum(member["votes"] for member in members) <= 3
    assert result.stdout.count("votes: ") == len(members)
    assert "vote together" in cli("explain", out).stdout


def test_a_second_table_certifies_and_a_model_that_decides_by_group_finds_it(cli, table, tmp_path):
    first, second, out = tmp_path / "first.csv", tmp_path / "second.csv", tmp_path / "run"
    half = len(table) // 2
    table.head(half).to_csv(first, index=False)
    table.tail(len(table) - half).to_csv(second, index=False)
    words = ["--target", "label", "--space", "quick_pipelines:space", "--evaluations", 2]
    words += ["--objective", "balanced_accuracy", "--drop", "SEX", "--group", "SEX"]
    words += ["-c", "demographic_parity_difference(SEX) <= 0.9"]
    words += ["--unseen", second, "--prefer", "objective", "--joint", "--group-thresholds"]
    result = cli("fit", first, *words, "--out", out, "--json")
    assert result.exit_code == 0, result.output
    assert "unlawful in some uses" in result.stderr
    found = json.loads(result.stdout)
    assert found["certificate"]["rows"] == len(table) - half
    assert found["certificate"]["joint"] is True
    assert "by SEX" in found["threshold"]
    again = cli("predict", out, second)
    assert again.stdout.count("\n") == len(table) - half + 1
    without = tmp_path / "without.csv"
    table.drop(columns="SEX").to_csv(without, index=False)
    refused = cli("predict", out, without)
    assert refused.exit_code == 2
    assert "needs 'SEX' of every row" in refused.stderr


def test_too_few_rows_for_a_certificate_are_said_to_be(cli, table, tmp_path):
    path = tmp_path / "few.csv"
    table.head(60).to_csv(path, index=False)
    words = [
        "--target",
        "label",
        "--space",
        "quick_pipelines:space",
        "--evaluations",
        2,
        "-c",
        "size_mb <= 5",
    ]
    result = cli("fit", path, *words, "--weight", "AGE", "--out", tmp_path / "run", "-q")
    assert result.exit_code == 0, result.output
    assert "Feasible, not certified: there were too few rows" in result.stdout
    assert "AGE" not in fenceline.load(tmp_path / "run" / "model.skops").feature_names_in_


def test_killed_run_can_be_explained_reported_and_resumed(cli, finished, tmp_path):
    """Of a process that was killed only the config and the journal are left."""
    run = tmp_path / "run"
    run.mkdir()
    for name in ("config.toml", "meta.json", "journal.jsonl"):
        shutil.copy(finished / name, run / name)
    for command in ("explain", "report"):
        result = cli(command, run)
        assert result.exit_code == 0, result.output
    assert "Not certified" in cli("explain", run).stdout
    assert "unfinished" in cli("predict", run, finished / "none.csv").stderr
    result = cli("resume", run, *QUICK, "--evaluations", 1, "-q")
    assert result.exit_code == 0, result.output
    assert {path.name for path in run.iterdir()} == FILES
    assert len(outcomes(run)) == 5
