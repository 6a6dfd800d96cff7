"""Directories, files and tables from somebody else: one clear line, and nothing is done that they say."""

import contextlib
import gzip
import io
import json
import shutil
import socket
import warnings
import zipfile
import zlib

import numpy as np
import pandas as pd
import pytest
from quick_pipelines import QUICK

import fenceline
from fenceline.cli import tables
from fenceline.errors import FencelineError, StoreError
from fenceline.store import Finish, read_run
from fenceline.store.export import to_csv, to_parquet

SAME = (*QUICK, "-q")


@pytest.fixture
def run(finished, tmp_path):
    shutil.copytree(finished, tmp_path / "run")
    return tmp_path / "run"


def refused(result):
    """Tell whether a command ended with one line about what is wrong."""
    assert isinstance(result.exception, SystemExit), repr(result.exception)
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("fenceline: ")
    assert result.stderr.count("\n") == 1, result.stderr
    return result.stderr


# --- resuming what somebody sent --------------------------------------------------------------


@pytest.fixture
def listener():
    """An address that notes whether anybody connects."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        yield server


def address(server):
    return f"dask://127.0.0.1:{server.getsockname()[1]}"


def name_engine(run, server):
    config = run / "config.toml"
    config.write_text(f'{config.read_text()}engine = "{address(server)}"\n')
    return config


def test_resume_connects_to_no_address_that_a_file_names(cli, run, listener):
    name_engine(run, listener)
    told = refused(cli("resume", run, "--evaluations", 1, *SAME))
    assert "--engine ADDRESS" in told
    with pytest.raises(TimeoutError):
        listener.accept()


def test_nor_does_fit_with_a_config(cli, run, listener, tmp_path):
    config = name_engine(run, listener)
    told = refused(cli("fit", "--config", config, "--out", tmp_path / "other", "-q"))
    assert "--engine ADDRESS" in told
    assert not (tmp_path / "other").exists()
    with pytest.raises(TimeoutError):
        listener.accept()


def test_an_engine_that_is_said_takes_the_place_of_the_one_in_the_file(cli, run, listener):
    name_engine(run, listener)
    result = cli("resume", run, "--evaluations", 1, "--engine", "local", *SAME)
    assert result.exit_code == 0, result.output
    with pytest.raises(TimeoutError):
        listener.accept()


def test_a_loaded_model_names_no_engine(finished, tmp_path):
    model = fenceline.load(finished / "model.skops")
    model.engine = "dask://127.0.0.1:9"
    model.save(tmp_path / "model.skops")
    assert fenceline.load(tmp_path / "model.skops").engine is None


# --- a fit that was killed between its search and its model ------------------------------------


@pytest.mark.parametrize(
    "lost",
    [["summary.json", "model.skops", "certificate.json", "report.html"], ["summary.json"]],
    ids=["nothing was written", "the summary was not"],
)
def test_resume_finishes_a_fit_that_was_killed_after_its_search(cli, run, toy, lost):
    for name in lost:
        (run / name).unlink()
    journal = (run / "journal.jsonl").read_bytes()
    result = cli("resume", run, *SAME)
    assert result.exit_code == 0, result.output
    assert (run / "journal.jsonl").read_bytes() == journal, "nothing was measured"
    assert cli("predict", run, toy).exit_code == 0
    assert json.loads((run / "summary.json").read_text())["certificate"] is not None
    assert "is spent" in refused(cli("resume", run, *SAME)), "and now it is"


def test_resume_finishes_a_continuation_that_was_killed_after_its_search(cli, run):
    before = (run / "summary.json").read_bytes()
    result = cli("resume", run, "--evaluations", 2, *SAME)
    assert result.exit_code == 0, result.output
    (run / "summary.json").write_bytes(before)  # as if it had been killed before it wrote its own
    assert cli("resume", run, *SAME).exit_code == 0
    assert json.loads((run / "summary.json").read_text())["evaluations"] == 6


# --- files that were made to harm ---------------------------------------------------------------

ANYTHING = [None, True, -1, 1.5, 10**400, "x", [], [1], {}, {"a": 1}]


@pytest.mark.parametrize(
    "name", ["status", "ended", "seconds", "evaluations", "constraints", "certificate"]
)
def test_a_summary_that_says_anything_gives_one_clear_error_or_none(cli, run, name):
    path = run / "summary.json"
    told = json.loads(path.read_text())
    (run / "model.skops").unlink()  # or the summary would hardly be asked
    for value in ANYTHING:
        path.write_text(json.dumps(told | {name: value}))
        for command in (("explain", run), ("report", run), ("predict", run, run / "none.csv")):
            result = cli(*command)
            if result.exit_code:
                refused(result)


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff", b"[" * 100_000, b'{"status": NaN}'])
@pytest.mark.parametrize("name", ["summary.json", "meta.json", "journal.jsonl", "config.toml"])
def test_a_file_of_a_run_that_is_none_gives_one_clear_error_or_none(cli, run, name, content):
    (run / name).write_bytes(content)
    (run / "model.skops").unlink()
    for command in (("explain", run), ("report", run), ("resume", run, "--evaluations", 1, *SAME)):
        result = cli(*command)
        if result.exit_code:
            refused(result)


def rewrite(run, change):
    """Change records of a journal and give each a checksum that is right."""
    path, crc, lines = run / "journal.jsonl", 0, []
    for line in path.read_bytes().splitlines():
        record = json.loads(line)
        record.pop("crc")
        change(record)
        body = json.dumps(record, separators=(",", ":")).encode()[:-1]
        crc = zlib.crc32(body, crc)
        lines.append(body + b',"crc":"%08x"}\n' % crc)
    path.write_bytes(b"".join(lines))


FIELDS = {
    "journal": ["format"],
    "proposal": ["ticket", "configuration"],
    "outcome": ["ticket", "status", "metrics", "errors", "seconds", "megabytes", "message"],
}


@pytest.mark.parametrize(("kind", "name"), [(k, n) for k, names in FIELDS.items() for n in names])
def test_a_record_with_a_right_checksum_may_say_anything(cli, run, kind, name, tmp_path):
    (run / "model.skops").unlink()
    whole = (run / "journal.jsonl").read_bytes()
    for value in [*ANYTHING, {"scaler": ["none", []]}, {"loss(roc_auc)": "x"}]:
        (run / "journal.jsonl").write_bytes(whole)
        rewrite(run, lambda r, v=value: r.update({name: v}) if r["kind"] == kind else None)
        for command in (("explain", run), ("report", run)):
            result = cli(*command)
            if result.exit_code:
                refused(result)
        with contextlib.suppress(FencelineError):
            to_csv(run, tmp_path / "run.csv")


@pytest.mark.parametrize("value", ANYTHING, ids=repr)
def test_a_model_whose_header_says_anything_gives_one_clear_error(finished, tmp_path, value):
    for header in (value, {"format": value}, {"format": 1, "numpy": value}):
        path = tmp_path / "model.skops"
        with zipfile.ZipFile(finished / "model.skops") as old, zipfile.ZipFile(path, "w") as new:
            for entry in old.namelist():
                content = old.read(entry)
                new.writestr(entry, json.dumps(header) if entry == "fenceline.json" else content)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of versions
            if header == {"format": 1, "numpy": "x"}:
                continue
            with pytest.raises(StoreError, match=r"not a whole model|has format"):
                fenceline.load(path)


def test_a_file_of_allowed_types_that_is_no_estimator_of_ours_is_refused(finished, tmp_path):
    skops = pytest.importorskip("skops.io")
    path = tmp_path / "model.skops"
    content = io.BytesIO(skops.dumps({"best_pipeline_": 1}))
    with zipfile.ZipFile(finished / "model.skops") as old, zipfile.ZipFile(content, "a") as new:
        new.writestr("fenceline.json", old.read("fenceline.json"))
    path.write_bytes(content.getvalue())
    with pytest.raises(StoreError, match="not a model of Fenceline"):
        fenceline.load(path)


def test_a_version_of_skops_that_runs_code_of_files_is_refused(finished, monkeypatch):
    monkeypatch.setattr("fenceline.estimator.files.version", lambda _: "0.11.0")
    with pytest.raises(
        StoreError, match=r"skops 0\.11\.0, which runs code .* skops 0\.12 or newer"
    ):
        fenceline.load(finished / "model.skops")


def test_a_model_that_opens_to_too_much_is_refused_before_it_is_opened(tmp_path, monkeypatch):
    monkeypatch.setattr("fenceline.estimator.files.MOST_BYTES", 1 << 20)
    with zipfile.ZipFile(tmp_path / "m.skops", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("fenceline.json", "{}")
        file.writestr("schema.json", bytes(5 << 20))
    with pytest.raises(StoreError, match="opens to 5,242,882: that is no model"):
        fenceline.load(tmp_path / "m.skops")


# --- texts that do something --------------------------------------------------------------------


def test_half_characters_and_escapes_in_messages_break_no_report_and_no_export(cli, run, tmp_path):
    def hurt(record):
        if record["kind"] == "outcome" and record["ticket"] == 1:
            record.update(status="error", metrics={}, message="half \ud83d \x1b[31mred")

    rewrite(run, hurt)
    (run / "model.skops").unlink()
    assert cli("report", run).exit_code == 0
    assert "\x1b" not in cli("explain", run).stdout
    to_csv(run, tmp_path / "run.csv")
    to_parquet(run, tmp_path / "run.parquet")
    messages = pd.read_csv(tmp_path / "run.csv")["message"].dropna()
    assert list(messages) == [r"half \ud83d \x1b[31mred"]


@pytest.mark.parametrize("name", ["a[/b]", "[red]a", "a\x1b[31m", "=a"])
def test_a_column_may_have_any_name(cli, table, tmp_path, name):
    table.rename(columns={"SEX": name}).to_csv(tmp_path / "odd.csv", index=False)
    words = ["--target", "label", *QUICK, "--evaluations", 2, "--seed", 1]
    words += ["-c", "score_gap(roc_auc) <= 0.9", "--group", name]
    result = cli("fit", tmp_path / "odd.csv", *words, "--out", tmp_path / "run")
    if name == "=a":
        assert "cannot be named in a constraint" in refused(result)
        return
    assert result.exit_code == 0, result.output
    assert "\x1b" not in result.output
    assert name.replace("\x1b", "\\x1b") in result.stdout
    assert cli("explain", tmp_path / "run").exit_code == 0


def test_a_directory_may_have_any_name(cli, toy, tmp_path):
    odd = tmp_path / "two\nlines"
    words = ["--target", "label", *QUICK, "--evaluations", 2]
    assert cli("fit", toy, *words, "--out", odd, "-q").exit_code == 0
    assert cli("resume", odd, "--evaluations", 1, *SAME).exit_code == 0
    assert sum(isinstance(event, Finish) for event in read_run(odd)[1]) == 3


# --- tables that open to more than they seem ----------------------------------------------------


def test_a_compressed_table_that_fills_the_memory_is_stopped_with_a_clear_word(
    cli, finished, tmp_path, monkeypatch
):
    monkeypatch.setattr(tables, "MOST_BYTES", 1 << 20)
    (tmp_path / "bomb.csv.gz").write_bytes(gzip.compress(b"a\n" + b"1\n" * (5 << 20)))
    told = refused(cli("predict", finished, tmp_path / "bomb.csv.gz"))
    assert "opens to more than 1 MB" in told
    assert "give it uncompressed" in told


def test_so_is_one_of_parquet(cli, finished, tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "MOST_BYTES", 1 << 20)
    pd.DataFrame({"a": np.zeros(1 << 20)}).to_parquet(tmp_path / "bomb.parquet")
    assert "opens to 8 MB" in refused(cli("predict", finished, tmp_path / "bomb.parquet"))
