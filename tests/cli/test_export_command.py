"""``fenceline export`` and ``dossier`` on a finished run."""

import json
import shutil

import pytest
import skops.io


def test_export_asks_for_a_form(cli, finished):
    result = cli("export", finished)
    assert result.exit_code == 2
    assert "--onnx FILE" in result.output


def test_export_compares_with_the_table_of_the_run_and_writes_what_is_asked_for(
    cli, finished, tmp_path
):
    plain, hub = tmp_path / "plain.skops", tmp_path / "hub"
    result = cli("export", finished, "--sklearn", plain, "--huggingface", hub)
    assert result.exit_code == 0, result.output
    assert "240 rows compared: all predictions are equal" in result.output
    assert "fenceline" not in " ".join(skops.io.get_untrusted_types(file=plain))
    assert sorted(path.name for path in hub.iterdir()) == [
        "README.md",
        "config.json",
        "model.skops",
    ]


def test_onnx_is_written_after_a_comparison(cli, finished, toy, tmp_path):
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    target = tmp_path / "model.onnx"
    result = cli("export", finished, "--onnx", target, "--data", toy)
    assert result.exit_code == 0, result.output
    assert "0 labels differ" in result.output
    inputs = {entry.name for entry in onnx.load(target).graph.input}
    assert inputs == {"income", "debt", "AGE", "SEX"}


def test_a_table_that_is_gone_is_asked_for(cli, finished, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(finished, copy)
    config = copy / "config.toml"
    lines = config.read_text().splitlines()
    config.write_text(
        "\n".join('data = "gone.csv"' if x.startswith("data =") else x for x in lines)
    )
    result = cli("export", copy, "--sklearn", tmp_path / "plain.skops")
    assert result.exit_code == 2
    assert "gone.csv" in result.output
    assert "--data TABLE" in result.output


def test_a_dossier_stands_beside_the_run_and_names_the_hash_of_the_table(cli, finished, tmp_path):
    result = cli("dossier", finished, "--purpose", "Ranks loans", "--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert "A person must still write" in result.output
    text = (tmp_path / "dossier.md").read_text()
    assert "Ranks loans" in text
    summary = json.loads((finished / "summary.json").read_text())
    assert f"| fenceline | {summary['environment']['fenceline']} |" in text
    assert "As recorded by the fit." in text
