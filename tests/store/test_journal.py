import json
import os
import resource
import subprocess
import sys
import warnings
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from damage import DAMAGES

from fenceline.errors import JournalDamagedError, RunLockedError, StoreError
from fenceline.store.journal import Journal, scan

DAMAGED_JOURNALS = 10_000 if os.environ.get("FENCELINE_SOAK") else 700


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.jsonl"


def fill(path: Path, count: int = 5) -> list[dict[str, Any]]:
    with closing(Journal(path)) as journal:
        for number in range(count):
            journal.append("note", {"number": number, "text": f"entry {number}"})
    return reopened(path)


def reopened(path: Path) -> list[dict[str, Any]]:
    with closing(Journal(path)) as journal:
        return journal.records


def test_what_was_appended_is_there_when_reopened(path: Path) -> None:
    records = fill(path)
    assert [record["number"] for record in records] == [0, 1, 2, 3, 4]
    assert records[0] == {"kind": "note", "number": 0, "text": "entry 0"}


def test_a_reopened_journal_goes_on_where_it_ended(path: Path) -> None:
    fill(path, 3)
    with closing(Journal(path)) as journal:
        journal.append("note", {"number": 3})
    assert [record["number"] for record in reopened(path)] == [0, 1, 2, 3]


def test_every_line_is_json_that_other_tools_can_read(path: Path) -> None:
    fill(path)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["seq"] for line in lines] == [0, 1, 2, 3, 4, 5]


def test_numbers_and_texts_come_back_exactly(path: Path) -> None:
    fields = {
        "a": 0.1 + 0.2,
        "b": np.float64(1e-300),
        "c": np.int64(7),
        "d": np.array([1.5, 2.5]),
        "e": "line\nbreak, \x00, ü, \udc80 and \u2028",
        "f": -float("inf"),
    }
    with closing(Journal(path)) as journal:
        journal.append("note", fields)
    (record,) = reopened(path)
    del record["kind"]
    assert record == fields | {"d": [1.5, 2.5]}


@pytest.mark.parametrize("missing", [1, 2, 30])
def test_a_torn_last_line_is_cut_with_a_warning(path: Path, missing: int) -> None:
    fill(path)
    os.truncate(path, path.stat().st_size - missing)
    with pytest.warns(UserWarning, match="cut off"):
        records = reopened(path)
    assert len(records) == 4
    assert reopened(path) == records, "the second time there is nothing to warn about"


def test_a_lost_block_of_zeros_at_the_end_is_cut_with_a_warning(path: Path) -> None:
    records = fill(path)
    with path.open("ab") as file:
        file.write(bytes(100) + b"\n")
    with pytest.warns(UserWarning, match="cut off"):
        assert reopened(path) == records


def test_a_torn_first_line_is_a_new_journal(path: Path) -> None:
    fill(path, 0)
    os.truncate(path, 10)
    with pytest.warns(UserWarning, match="cut off"):
        assert reopened(path) == []


@pytest.mark.parametrize("line", [1, 3, 5])
def test_a_damaged_line_is_named_and_left_alone(path: Path, line: int) -> None:
    fill(path)
    lines = path.read_bytes().splitlines(keepends=True)
    lines[line] = lines[line].replace(b"entry", b"Entry")
    path.write_bytes(b"".join(lines))
    with pytest.raises(JournalDamagedError, match=f"Line {line + 1} .* checksum"):
        Journal(path)
    assert path.read_bytes() == b"".join(lines)


def test_the_advice_given_for_a_damaged_line_works(path: Path) -> None:
    fill(path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:3], b"rubbish\n", *lines[4:]]))
    with pytest.raises(JournalDamagedError, match="head -n 3"):
        Journal(path)
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:3]))
    assert len(reopened(path)) == 2


def test_a_line_of_another_journal_is_noticed(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    fill(one)
    with closing(Journal(other)) as journal:
        for number in range(5):
            journal.append("note", {"number": number, "text": f"other {number}"})
    mixed = one.read_bytes().splitlines(keepends=True)[:4]
    mixed += other.read_bytes().splitlines(keepends=True)[4:]
    one.write_bytes(b"".join(mixed))
    with pytest.raises(JournalDamagedError, match="Line 5"):
        Journal(one)


@pytest.mark.parametrize("content", [b"a,b\n1,2\n", b"no newline", b"{}\n", b"[1]\n", b"\x89PNG\n"])
def test_a_foreign_file_is_refused_and_left_alone(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(StoreError, match="not a journal of Fenceline"):
        Journal(path)
    assert path.read_bytes() == content


def test_a_newer_format_asks_for_a_newer_version(path: Path) -> None:
    path.write_text('{"seq":0,"kind":"journal","format":2,"checksum":"another"}\n')
    with pytest.raises(StoreError, match=r"format 2.*newer Fenceline"):
        Journal(path)


def test_a_second_writer_is_refused(path: Path) -> None:
    with closing(Journal(path)), pytest.raises(RunLockedError, match="Another process"):
        Journal(path)
    assert reopened(path) == []


def test_a_place_that_cannot_be_written_is_refused() -> None:
    with pytest.raises(StoreError, match="cannot be opened for writing"):
        Journal(Path("/proc/no-such-journal.jsonl"))


def test_a_closed_journal_says_so(path: Path) -> None:
    journal = Journal(path)
    journal.close()
    journal.close()
    with pytest.raises(StoreError, match="is closed"):
        journal.append("note", {})


def test_a_full_disk_stops_the_run_and_loses_nothing(path: Path) -> None:
    # A process may limit the size of its own files: to it, the disk is full at that size.
    script = f"""
import resource, pathlib
from fenceline.errors import StoreError
from fenceline.store.journal import Journal
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, {resource.RLIM_INFINITY}))
journal, count = Journal(pathlib.Path({str(path)!r})), 0
try:
    while True:
        journal.append("note", {{"number": count}})
        count += 1
except StoreError as problem:
    assert f"{{count}} records are safe" in " ".join(str(problem).split()), problem
    print(count)
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert len(reopened(path)) == int(run.stdout) > 5


def test_ctrl_c_while_writing_leaves_no_half_record(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_: int) -> None:
        raise KeyboardInterrupt

    with closing(Journal(path)) as journal:
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", interrupted)
            with pytest.raises(KeyboardInterrupt):
                journal.append("note", {"number": 0})
        journal.append("note", {"number": 1})
    assert [record["number"] for record in reopened(path)] == [1]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, list[dict[str, Any]]]:
    path = tmp_path_factory.mktemp("sound") / "journal.jsonl"
    records = fill(path, 12)
    return path.read_bytes(), records


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_journal_never_yields_a_wrong_record(
    sound: tuple[bytes, list[dict[str, Any]]], path: Path, damage: Any
) -> None:
    data, records = sound
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(-(-DAMAGED_JOURNALS // len(DAMAGES))):
        path.write_bytes(damage(data, rng))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            try:
                found, _, _ = scan(path.read_bytes(), path)
                assert found == records[: len(found)]
                assert reopened(path) == found
            except StoreError:
                refused += 1
    if damage.__name__ not in ("truncate", "drop_line"):
        assert refused > 0
