import json
import shutil
import subprocess
import sys
from io import StringIO

import numpy as np
import pandas as pd
import pytest

import fenceline

COMMANDS = ("demo", "fit", "resume", "report", "open", "predict", "explain", "compare", "bench")


def test_version_is_that_of_the_package(cli):
    result = cli("--version")
    assert (result.exit_code, result.stdout) == (0, f"fenceline {fenceline.__version__}\n")


def test_without_a_command_the_help_names_all_commands(cli):
    result = cli()
    assert result.exit_code == 0
    assert all(f" {command} " in result.stdout for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(cli, command):
    result = cli(command, "--help")
    assert result.exit_code == 0
    assert f"Example: fenceline {command}" in result.stdout


def test_help_and_completion_wait_for_nothing_heavy():
    """A fresh interpreter completes a word without loading what takes a second."""
    code = (
        "import sys\n"
        "from fenceline.cli import app\n"
        "try:\n    app(['--help'])\n"
        "except SystemExit: pass\n"
        "print('heavy:', *[m for m in ('pandas', 'sklearn', 'skops') if m in sys.modules])"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert found.stdout.splitlines()[-1] == "heavy:"


@pytest.mark.parametrize(
    ("words", "offered"),
    [("re", ["resume", "report"]), ("fit {table} --target l", ["label"])],
)
def test_a_shell_completes_commands_and_columns(words, offered, toy):
    line = f"fenceline {words.format(table=toy)}"
    found = subprocess.run(
        [sys.executable, "-c", "from fenceline.cli import app; app(prog_name='fenceline')"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={
            "_FENCELINE_COMPLETE": "complete_bash",
            "COMP_WORDS": line,
            "COMP_CWORD": str(len(line.split()) - 1),
            "PATH": "/usr/bin",
        },
    )
    assert found.stdout.split() == offered, found.stderr


def test_report_is_written_anew(cli, finished, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(finished, run)
    (run / "report.html").unlink()
    result = cli("report", run)
    assert result.exit_code == 0, result.output
    assert result.stdout.split() == [str(run / "report.html")]
    assert "<html" in (run / "report.html").read_text()


def test_report_opens_in_the_browser_when_asked(cli, finished, tmp_path, monkeypatch):
    run = tmp_path / "run"
    shutil.copytree(finished, run)
    opened = []
    monkeypatch.setattr("typer.launch", opened.append)
    assert cli("report", run, "--open").exit_code == 0
    assert opened == [(run / "report.html").resolve().as_uri()]


def test_predictions_are_those_of_the_model(cli, finished, table, toy):
    result = cli("predict", finished, toy, "--proba")
    assert result.exit_code == 0, result.output
    found = pd.read_csv(StringIO(result.stdout))
    model = fenceline.load(finished / "model.skops")
    features = table.drop(columns="label")
    assert list(found["prediction"]) == list(model.predict(features))
    assert np.allclose(found["probability of good"], model.predict_proba(features)[:, 1])


@pytest.mark.parametrize("name", ["out.csv", "out.csv.gz", "out.tsv", "out.parquet", "out.feather"])
def test_predictions_in_a_file_of_any_kind(cli, finished, toy, tmp_path, name):
    from fenceline.cli.tables import read_table

    result = cli("predict", finished, toy, "--out", tmp_path / name)
    assert result.exit_code == 0, result.output
    assert result.stdout == ""
    assert set(read_table(tmp_path / name)["prediction"]) <= {"good", "bad"}


def test_columns_of_a_table_to_predict_may_come_in_any_order(cli, finished, table, toy, tmp_path):
    table[["AGE", "debt", "SEX", "income"]].to_csv(tmp_path / "turned.csv", index=False)
    turned = cli("predict", finished, tmp_path / "turned.csv").stdout
    assert turned == cli("predict", finished, toy).stdout


def test_explain_answers_the_four_questions(cli, finished):
    result = cli("explain", finished)
    assert result.exit_code == 0, result.output
    for words in (
        "Why this pipeline",
        "has the highest roc_auc",
        "What the fence costs",
        "What was tried",
        "estimator: GaussianNB, tried",
        "How sure it is",
        "confidence",
    ):
        assert words in result.stdout


def test_explain_speaks_json(cli, finished):
    facts = json.loads(cli("explain", finished, "--json").stdout)
    assert facts["evaluations"] == 4
    assert sum(t["evaluations"] for t in facts["tried"] if t["module"] == "estimator") == 4
    assert {cost["constraint"] for cost in facts["costs"]} == {
        "size_mb <= 5",
        "score_gap(roc_auc,SEX) <= 0.9",
    }


def test_bench_compares_at_equal_evaluations(cli):
    result = cli("bench", "--evaluations", 12, "--seeds", 2, "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["evaluations"] == 12
    names = [line["search"] for line in found["searches"]]
    assert names[:2] == ["Fenceline", "random search"]
    assert result.stderr.count("seed") == 2 * len(names)


def test_bench_on_a_table_prints_a_table(cli, toy):
    words = [
        "--target",
        "label",
        "--space",
        "quick_pipelines:space",
        "-c",
        "size_mb <= 1",
        "--evaluations",
        4,
    ]
    result = cli("bench", toy, *words, "--seeds", 1)
    assert result.exit_code == 0, result.output
    assert "inside: size_mb <= 1" in result.stdout
    fenceline_line = next(li for li in result.stdout.splitlines() if "Fenceline" in li)
    assert "1 of 1" in fenceline_line
    assert "random search" in result.stdout


def test_an_unexpected_error_is_not_hidden(cli, finished, monkeypatch):
    """Only what Fenceline raises on purpose becomes a line; a bug keeps its traceback."""

    def bug(*_):
        raise ZeroDivisionError

    monkeypatch.setattr("fenceline.cli.rundir.open_run", bug)
    assert isinstance(cli("explain", finished).exception, ZeroDivisionError)
