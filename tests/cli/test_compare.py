import json
import shutil
import webbrowser
from io import StringIO

import pandas as pd
import pytest
from typer.testing import CliRunner

from fenceline.cli import app
from fenceline.cli.completion import columns, metrics, spaces
from fenceline.cli.show import fence_table
from fenceline.report.comparison import compare


@pytest.fixture
def two(finished, tmp_path):
    """A run, and a copy of it that is worse and has another constraint."""
    paths = tmp_path / "first", tmp_path / "second"
    for path in paths:
        shutil.copytree(finished, path)
    summary = json.loads((paths[1] / "summary.json").read_text())
    summary["objective"]["value"] = 0.4567
    summary["status"] = "feasible"
    summary["constraints"][0]["constraint"] = "size_mb <= 7"
    summary["finalists"] = summary["finalists"][:1]
    (paths[1] / "summary.json").write_text(json.dumps(summary))
    return paths


def told(path):
    return json.loads((path / "summary.json").read_text())


def test_runs_stand_side_by_side(two):
    first, second = map(told, two)
    found = compare({"one": first, "two": second})
    rows = {label: cells for section in found.sections.values() for label, cells in section}
    assert rows["verdict"] == (first["status"], "feasible")
    # A search minimises 1 - AUROC; people see the AUROC.
    assert first["objective"]["name"] == "loss(roc_auc)"
    assert rows["roc_auc"] == (f"{1 - first['objective']['value']:.4g}", "0.5433")
    assert rows["on unseen rows"][1] == "–", "no finalist has this value"
    assert rows["size_mb <= 7"][0] == "–", "the first run has no such constraint"
    assert rows["size_mb <= 7"][1].startswith(f"{second['constraints'][0]['value']:.4g}")
    delivered = [f for f in first["finalists"] if f["objective"] == first["objective"]["value"]]
    assert rows["on unseen rows"][0] == f"{1 - delivered[0]['unseen']:.4g}"
    assert first["finalists"][0]["pipeline"] in rows["1"][0]
    assert rows["pipelines measured"] == ("4", "4")


def test_the_command_prints_a_table_and_writes_a_page(cli, two, tmp_path):
    page = tmp_path / "compared.html"
    result = cli("compare", *two, "--html", page)
    assert result.exit_code == 0, result.output
    assert "0.5433" in result.stdout
    assert str(page) in "".join(result.stdout.split("\n"))
    html = page.read_text()
    assert "<td>0.5433</td>" in html
    assert "<script" not in html
    assert set(json.loads(cli("compare", *two, "--json").stdout)) == set(map(str, two))


def test_one_run_is_no_comparison_and_an_unreadable_one_is_told(cli, two):
    assert "needs two runs" in cli("compare", two[0]).output
    broken = told(two[1])
    broken["pipelines"] = 5
    (two[1] / "summary.json").write_text(json.dumps(broken))
    result = cli("compare", *two)
    assert result.exit_code == 2
    assert "cannot be read" in result.output


def test_standard_input_is_predicted_as_a_file_is(cli, finished, toy, table):
    from_file = cli("predict", finished, toy)
    text = table.to_csv(index=False, sep=";")
    piped = CliRunner().invoke(app, ["predict", str(finished), "-"], input=text)
    assert piped.exit_code == 0, piped.output
    assert piped.stdout == from_file.stdout
    empty = CliRunner().invoke(app, ["predict", str(finished), "-"], input="")
    assert (empty.exit_code, "Standard input is empty" in empty.output) == (2, True)
    lacking = CliRunner().invoke(app, ["predict", str(finished), "-"], input="AGE\n3\n")
    assert "standard input lacks columns" in lacking.output


def test_open_shows_the_report_or_prints_where_it_is(cli, finished, tmp_path, monkeypatch):
    run = tmp_path / "run"
    shutil.copytree(finished, run)
    (run / "report.html").unlink()
    opened = []

    class Browser:
        def open(self, address):
            opened.append(address)

    monkeypatch.setattr(webbrowser, "get", Browser)
    assert cli("open", run).stdout.strip() == str(run / "report.html")
    assert opened == [(run / "report.html").as_uri()]
    assert (run / "report.html").exists(), "it is written if there is none"

    def none():
        raise webbrowser.Error

    monkeypatch.setattr(webbrowser, "get", none)
    result = cli("open", run)
    assert result.exit_code == 0
    assert str(run / "report.html") in result.stdout


class Context:
    def __init__(self, **params):
        self.params = params
        self.args = []


def test_values_are_completed(toy, tmp_path):
    assert list(columns(Context(data=toy), "")) == ["income", "debt", "AGE", "SEX", "label"]
    assert list(columns(Context(data=toy), "l")) == ["label"]
    packed = tmp_path / "odd.csv.gz"
    pd.DataFrame({"a b": [1], "c": [2]}).to_csv(packed, index=False, sep=";")
    assert list(columns(Context(data=packed), "")) == ["a b", "c"]
    for nothing in (None, tmp_path / "none.csv", tmp_path, tmp_path / "table.parquet"):
        assert list(columns(Context(data=nothing), "")) == []
    assert {"false_positive_rate", "fpr", "f1"} <= set(metrics("f"))
    assert list(spaces("sm")) == ["small"]


@pytest.mark.parametrize("width", [60, 80])
def test_values_of_the_fence_stay_visible(finished, width):
    from rich.console import Console

    summary = told(finished)
    summary["constraints"][1]["constraint"] = "score_gap(roc_auc,Age,bins=30:40:50) <= 0.15"
    console = Console(width=width, record=True, file=StringIO())
    console.print(fence_table(summary, narrow=width < 76))
    shown = console.export_text()
    for line in summary["constraints"]:
        assert f"{line['value']:.4g}" in shown
    assert all(len(line) <= width for line in shown.splitlines())
    assert "0.15" in "".join(part.split("  ")[0].strip() for part in shown.splitlines())
