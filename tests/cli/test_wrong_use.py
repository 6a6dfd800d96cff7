"""Every wrong invocation ends with one line, a remedy and code 2, before time is spent."""

import json
import shutil
import sys

import numpy as np
import pytest
from quick_pipelines import QUICK

from fenceline.store.journal import Journal

GAP = ("-c", "score_gap(roc_auc) <= 0.1")


@pytest.fixture(scope="module")
def place(finished, table, tmp_path_factory):
    """A directory full of things that are not what a command hopes for."""
    root = tmp_path_factory.mktemp("wrong")
    table.to_csv(root / "toy.csv", index=False)
    (root / "empty.csv").write_text("")
    (root / "header.csv").write_text("a,label\n")
    (root / "single.csv").write_text("a,label\n1,x\n")
    (root / "target_only.csv").write_text("label\nx\ny\n")
    (root / "gaps.csv").write_text("a,label\n1,x\n2,\n3,y\n")
    (root / "infinite.csv").write_text("a,label\n1,0.5\n2,inf\n3,1.5\n")
    (root / "junk.csv").write_bytes(np.random.default_rng(0).bytes(5000))
    (root / "zeros.csv").write_bytes(bytes(500))
    (root / "junk.parquet").write_bytes(b"no parquet")
    (root / "junk.arrow").write_bytes(b"no arrow either, not at all")
    (root / "junk.csv.gz").write_text("not compressed")
    (root / "texts.csv").write_text("income,debt,AGE,SEX\nmuch,little,old,f\n")
    (root / "lacking.csv").write_text("income,debt\n1,2\n")
    (root / "other").mkdir()
    (root / "other" / "notes.txt").write_text("not a run")
    (root / "mistyped.toml").write_text("wrokers = 2\n")
    (root / "texted.toml").write_text('workers = "two"\n')
    (root / "changed.toml").write_text(
        f'data = "{root / "toy.csv"}"\ntarget = "label"\nsha256 = "0"\n'
    )
    for name in ("run", "newer", "newer_config", "broken", "damaged", "modelless", "junk_model"):
        shutil.copytree(finished, root / name)
    meta = json.loads((root / "newer" / "meta.json").read_text())
    (root / "newer" / "meta.json").write_text(json.dumps(meta | {"format": 9}))
    config = (root / "newer_config" / "config.toml").read_text()
    (root / "newer_config" / "config.toml").write_text(config.replace("format = 1", "format = 9"))
    (root / "broken" / "config.toml").write_text("target = [")
    journal = (root / "damaged" / "journal.jsonl").read_bytes()
    (root / "damaged" / "journal.jsonl").write_bytes(journal[:300] + b"zzz" + journal[303:])
    (root / "modelless" / "model.skops").unlink()
    (root / "junk_model" / "model.skops").write_bytes(b"no model")
    shutil.copytree(finished, root / "journalless")
    (root / "journalless" / "journal.jsonl").unlink()
    shutil.copytree(finished, root / "from_python")
    (root / "from_python" / "config.toml").unlink()
    return root


def fit(*words):
    return (
        "fit",
        "toy.csv",
        "--target",
        "label",
        "--space",
        "quick_pipelines:space",
        "--evaluations",
        "2",
        *words,
    )


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        # the command itself
        (("fitt",), "Did you mean 'fit'?"),
        (("fit", "--tagret", "label"), "--target"),
        (fit("--workers", "many"), "--help"),
        (("demo", "--second", "3"), "--seconds"),
        (("demo", "--seconds"), "--help"),
        (("demo", "--seconds", "0"), "try --seconds"),
        (("demo", "--seconds", "inf"), "try --seconds"),
        (("demo", "--gap", "-0.1"), "try --gap"),
        (("demo", "--latency-us", "0"), "try --latency-us"),
        (("demo", "--seed", "-1"), "try --seed 0"),
        (("demo", "table.csv"), "--help"),
        # tables
        (("fit",), "write fenceline fit DATA --target COLUMN"),
        (("fit", "none.csv", "--target", "label"), "check the path"),
        (("fit", "empty.csv", "--target", "label"), "give a table with a header and rows"),
        (("fit", "header.csv", "--target", "label"), "give a table with rows"),
        (("fit", "single.csv", "--target", "label"), "more rows"),
        (("fit", "target_only.csv", "--target", "label"), "no column to learn from"),
        (("fit", "junk.csv", "--target", "label"), "not text in UTF-8); give .csv"),
        (("fit", "zeros.csv", "--target", "label"), "binary data); give .csv"),
        (("fit", "junk.parquet", "--target", "label"), "give .csv"),
        (("fit", "junk.arrow", "--target", "label"), "give .csv"),
        (("fit", "junk.csv.gz", "--target", "label"), "check the file"),
        (("fit", "toy.xlsx", "--target", "label"), "give .csv"),
        (("fit", "other", "--target", "label"), "give .csv"),
        # target and task
        (("fit", "toy.csv"), "name the column to predict with --target"),
        (("fit", "toy.csv", "--target", "lable"), "Did you mean 'label'?"),
        (("fit", "toy.csv", "--target", "profit"), "Its columns: 'income', 'debt'"),
        (("fit", "gaps.csv", "--target", "label"), "leave those rows out"),
        (("fit", "infinite.csv", "--target", "label"), "leave those rows out"),
        (fit("--task", "regresion"), "Did you mean 'regression'?"),
        (fit("--task", "regression"), "use --task classification"),
        (
            ("fit", "toy.csv", "--target", "debt", "--task", "classification"),
            "use --task regression",
        ),
        (fit("--drop", "incme"), "Did you mean 'income'?"),
        (fit("--weight", "wieght"), "Its columns"),
        # the fence
        (fit("--objective", "roc_uac"), "Did you mean 'roc_auc'?"),
        (fit("-c", "latency <= 3"), "Did you mean 'latency_us'?"),
        (fit("-c", "size_mb <= 3", "-c", "size_mb >= 4"), "loosen one bound"),
        (fit("-c", "size_mb <= 3", "-c", "size_mb <= 4"), "keep the stricter one"),
        (fit("-c", "accuracy >= 80"), "Did you mean 0.8?"),
        (fit("-c", "neg_log_loss <= 0.4"), "Did you mean 'log_loss <= 0.4'?"),
        (fit("-c", "specificity >= 0.9"), "Write 'false_positive_rate <= 0.1'"),
        (fit("-c", "latency_us(rows=3) <= 9"), "Usage: latency_us(batch"),
        (fit(*GAP), "add --group COLUMN"),
        (fit("-c", "score_gap(roc_auc, SXE) <= 0.1"), "Did you mean 'SEX'?"),
        (fit("--group", "SEX"), "add one, such as --constraint"),
        (fit("--group", "SXE", *GAP), "Did you mean 'SEX'?"),
        (fit("--group", "AGE:40,30", *GAP), "growing order"),
        (fit("--group", "AGE:young", *GAP), "write it like --group SEX"),
        (fit("--group", "SEX:1,2", *GAP), "write --group 'SEX'"),
        (fit("--group", "AGE", *GAP), "merge it with another group"),
        # numbers and places
        (fit("--seconds", "-3"), "try --seconds 60"),
        (fit("--seconds", "nan"), "try --seconds 60"),
        (fit("--evaluations", "0"), "try --evaluations 100"),
        (fit("--workers", "0"), "try --workers 2"),
        (fit("--seed", "-1"), "try --seed 0"),
        (fit("--confidence", "95"), "try --confidence 0.95"),
        (fit("--unseen", "1.5"), "try --unseen 0.3"),
        (fit("--unseen", "nowhere.csv"), "nowhere.csv"),
        (fit("--prefer", "certain"), "Did you mean 'certainty'?"),
        (fit("--group-thresholds"), "neither constraints nor objective compare groups"),
        (fit("--cv", "1"), "try --cv 3"),
        (fit("--cv", "1000"), "use a smaller cv"),
        (fit("--ensemble", "0"), "try --ensemble 5"),
        (fit("--space", "hgue"), "'default', 'wide', 'paper', 'small'"),
        (fit("--engine", "spark"), "'local', 'dask://host:port'"),
        (fit("--limits", "60"), "--limits 'seconds=60,megabytes=2000'"),
        (fit("--limits", "seconds=soon"), "--limits 'seconds=60'"),
        (fit("--limits", "seconds=-1"), "leave it out for no limit"),
        (fit("--out", "other"), "choose another directory"),
        (fit("--out", "run"), "fenceline resume run"),
        (fit("--out", "toy.csv"), "name a directory"),
        (fit("--out", "toy.csv/run"), "choose a place"),
        # config.toml
        (("fit", "--config", "none.toml"), "check the path"),
        (("fit", "--config", "broken/config.toml"), "mend that place"),
        (("fit", "--config", "mistyped.toml"), "Did you mean 'workers'?"),
        (("fit", "--config", "texted.toml"), "must be a whole number"),
        (("fit", "--config", "changed.toml"), "restore it"),
        # run directories
        (("resume", "none"), "make one with fenceline fit"),
        (("resume", "toy.csv"), "name the run directory"),
        (("resume", "other"), "name the directory that fenceline fit wrote"),
        (("resume", "newer"), "Install a newer Fenceline"),
        (("resume", "newer_config"), "install a newer Fenceline"),
        (("resume", "broken"), "mend that place"),
        (("resume", "damaged", "--evaluations", "1"), "Restore the file from a copy"),
        (("resume", "journalless"), "start anew with fenceline fit --config"),
        (("resume", "from_python"), "run_dir"),
        (("resume", "run"), "give more with --seconds or --evaluations"),
        (("resume", "run", "--seconds", "-1"), "try --seconds 60"),
        (("resume", "run", "--workers", "0"), "try --workers 2"),
        (("report", "other"), "name the directory that fenceline fit wrote"),
        (("report", "junk_model"), "Restore it from a copy"),
        (("explain", "none"), "check the path"),
        # predict
        (("predict", "run"), "write fenceline predict run DATA"),
        (("predict", "run", "none.csv"), "check the path"),
        (("predict", "run", "lacking.csv"), "'AGE', 'SEX'; add them"),
        (("predict", "run", "texts.csv"), "held numbers when the model was fitted"),
        (("predict", "modelless", "toy.csv"), "fenceline explain modelless"),
        (("predict", "run", "toy.csv", "--out", "none/x.csv"), "make it, or choose another"),
        (("predict", "run", "toy.csv", "--out", "x.docx"), "give .csv"),
        (("predict", "run", "toy.csv", "--out", "other"), "give .csv"),
        # bench
        (("bench", "--seeds", "0"), "try --seeds 3"),
        (("bench", "--evaluations", "0"), "try --evaluations 100"),
        (("bench", "--target", "label"), "write fenceline bench DATA"),
    ],
    ids=lambda part: " ".join(part)[-60:] if isinstance(part, tuple) else "",
)
def test_wrong_use_ends_with_one_line_a_remedy_and_code_2(cli, place, monkeypatch, words, remedy):
    monkeypatch.chdir(place)
    quiet = ("--quiet",) if words[0] == "fit" else ()
    before = sorted(place.rglob("*"))
    result = cli(*words, *quiet)
    assert result.exit_code == 2, result.output
    assert isinstance(result.exception, SystemExit), "no traceback"
    assert result.stdout == ""
    assert result.stderr.startswith("fenceline: ")
    assert result.stderr.count("\n") == 1
    assert remedy in result.stderr
    assert sorted(place.rglob("*")) == before, "nothing is left behind"


def test_bad_constraint_is_shown_with_a_caret_under_the_mistake(cli, place, monkeypatch):
    monkeypatch.chdir(place)
    result = cli(*fit("-c", "size_mb =< 3"))
    assert result.exit_code == 2
    first, text, caret, remedy = result.stderr.splitlines()
    assert first.startswith("fenceline: ")
    assert text[caret.index("^") :] == "=< 3"
    assert "Write it like" in remedy


@pytest.mark.parametrize(
    ("package", "words", "extra"),
    [
        ("pyarrow", ("fit", "junk.parquet", "--target", "label"), "fenceline[parquet]"),
        ("pyarrow", ("fit", "junk.arrow", "--target", "label"), "fenceline[parquet]"),
        ("distributed", fit("--engine", "dask://127.0.0.1:1", "-q"), "fenceline[dask]"),
        ("ray", fit("--engine", "ray", "-q"), "fenceline[ray]"),
    ],
)
def test_missing_extra_is_named(cli, place, monkeypatch, package, words, extra):
    monkeypatch.chdir(place)
    monkeypatch.setitem(sys.modules, package, None)
    for adapter in ("fenceline.evaluation.engines.dask", "fenceline.evaluation.engines.ray"):
        monkeypatch.delitem(sys.modules, adapter, raising=False)  # as if never imported before
    result = cli(*words)
    assert result.exit_code == 2, result.output
    assert extra in result.stderr
    assert result.stderr.count("\n") == 1


def test_run_that_another_process_is_writing_is_left_alone(cli, place, monkeypatch):
    monkeypatch.chdir(place)
    journal = Journal(place / "run" / "journal.jsonl")
    config = (place / "run" / "config.toml").read_text()
    try:
        result = cli("resume", "run", *QUICK, "--evaluations", 1, "-q")
    finally:
        journal.close()
    assert result.exit_code == 2, result.output
    assert result.stderr.count("\n") == 1
    assert "Wait for that run to end" in result.stderr
    assert (place / "run" / "config.toml").read_text() == config


def test_refused_fit_leaves_an_empty_directory_empty(cli, place, tmp_path, monkeypatch):
    monkeypatch.chdir(place)
    result = cli(*fit("--engine", "spark", "--out", tmp_path, "-q"))
    assert result.exit_code == 2, result.output
    assert list(tmp_path.iterdir()) == []
