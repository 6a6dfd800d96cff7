import dataclasses
import gc
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fenceline import Algorithm, Evaluation, Module, Real, Space
from fenceline.errors import JournalDamagedError, RunLockedError, RunMismatchError, StoreError
from fenceline.problem.evaluation import Status
from fenceline.store import Finish, Proposal, RunDirectory, read_run
from fenceline.store.journal import Journal
from fenceline.store.meta import plain

SPACE = Space([Module("model", [Algorithm("logit", {"C": Real(1e-3, 1e3, log=True)})])])
META: dict[str, Any] = {"space": SPACE, "objective": "loss", "constraints": ["a <= 1"], "seed": 0}


def configuration(C: float = 1.0) -> Any:
    return SPACE.configuration({"model": ("logit", {"C": C})})


def evaluation(status: Status = "ok", loss: float = 0.5, **details: Any) -> Evaluation:
    metrics = {"loss": loss} if status == "ok" else {}
    return Evaluation(configuration(), metrics, loss, 0.0, status, **details)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "first"


def test_a_run_is_found_again_as_it_was_written(path: Path) -> None:
    with RunDirectory.open(path, META) as run:
        assert run.events == []
        run.propose(0, configuration(0.1))
        run.propose(1, configuration(0.2))
        run.finish(1, evaluation(loss=0.1 + 0.2, seconds=0.5, cpu_seconds=0.4, megabytes=9.0))
        run.finish(0, evaluation("timeout", seconds=60.0, message="too long"))
    with RunDirectory.open(path, META) as run:
        assert run.events == [
            Proposal(0, {"model": ["logit", {"C": 0.1}]}),
            Proposal(1, {"model": ["logit", {"C": 0.2}]}),
            Finish(1, "ok", {"loss": 0.1 + 0.2}, 0.5, 0.4, 9.0),
            Finish(0, "timeout", {}, 60.0, message="too long"),
        ]
        first = run.events[0]
        assert isinstance(first, Proposal)
        assert SPACE.configuration(first.configuration) == configuration(0.1)


def test_a_run_of_something_else_is_refused_with_the_differences(path: Path) -> None:
    RunDirectory.open(path, META).close()
    space = Space([Module("model", [Algorithm("logit", {"C": Real(1e-3, 10.0, log=True)})])])
    with pytest.raises(RunMismatchError) as refusal:
        RunDirectory.open(path, META | {"seed": 1, "space": space, "groups": "age"})
    message = str(refusal.value)
    assert "  seed: 0 there, 1 here\n" in message
    assert ".high: 1000.0 there, 10.0 here\n" in message
    assert '  groups: absent there, "age" here\n' in message
    assert "objective" not in message


def test_a_refused_run_leaves_the_lock_free(path: Path) -> None:
    RunDirectory.open(path, META).close()
    with pytest.raises(RunMismatchError):
        RunDirectory.open(path, META | {"seed": 1})
    RunDirectory.open(path, META).close()


def test_another_version_of_the_library_may_continue(path: Path) -> None:
    RunDirectory.open(path, META).close()
    meta = json.loads((path / "meta.json").read_text())
    (path / "meta.json").write_text(json.dumps(meta | {"library": "fenceline 0.0.1"}))
    with RunDirectory.open(path, META) as run:
        assert run.meta["library"] == "fenceline 0.0.1"


def test_a_newer_format_asks_for_a_newer_version(path: Path) -> None:
    RunDirectory.open(path, META).close()
    meta = json.loads((path / "meta.json").read_text())
    (path / "meta.json").write_text(json.dumps(meta | {"format": 2}))
    with pytest.raises(StoreError, match=r"format 2.*newer Fenceline"):
        RunDirectory.open(path, META)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"a": 1}'])
def test_a_damaged_description_is_refused(path: Path, content: str) -> None:
    RunDirectory.open(path, META).close()
    (path / "meta.json").write_text(content)
    with pytest.raises(StoreError, match=r"meta\.json is not the description"):
        RunDirectory.open(path, META)


def test_a_journal_without_its_description_is_refused(path: Path) -> None:
    with RunDirectory.open(path, META) as run:
        run.propose(0, configuration())
    (path / "meta.json").unlink()
    with pytest.raises(StoreError, match=r"meta\.json is missing"):
        RunDirectory.open(path, META)


def test_a_run_that_ended_before_it_began_starts_anew(path: Path) -> None:
    path.mkdir(parents=True)
    Journal(path / "journal.jsonl").close()
    (path / "meta.tmp").write_text("{")
    with RunDirectory.open(path, META) as run:
        assert run.events == []
    assert sorted(file.name for file in path.iterdir()) == ["journal.jsonl", "meta.json"]


def test_a_second_writer_is_refused_but_a_reader_is_welcome(path: Path) -> None:
    with RunDirectory.open(path, META) as run:
        run.propose(0, configuration())
        with pytest.raises(RunLockedError):
            RunDirectory.open(path, META)
        meta, events = read_run(path)
    assert meta["seed"] == 0
    assert events == [Proposal(0, configuration().to_dict())]


def test_reading_where_there_is_no_run_says_so(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="holds no run"):
        read_run(tmp_path)


@pytest.mark.parametrize(
    ("story", "complaint"),
    [
        ([("outcome", {"ticket": 0, "status": "ok"})], "was never proposed"),
        ([("proposal", {"ticket": 0, "configuration": {}})] * 2, "proposed twice"),
        (
            [("proposal", {"ticket": 0, "configuration": {}})]
            + [("outcome", {"ticket": 0, "status": "ok"})] * 2,
            "finishes twice",
        ),
        ([("sermon", {})], "'sermon' cannot be read"),
        ([("proposal", {"ticket": 0})], "'proposal' cannot be read"),
        (
            [
                ("proposal", {"ticket": 0, "configuration": {}}),
                ("outcome", {"ticket": 0, "status": "fine"}),
            ],
            "no status is called 'fine'",
        ),
    ],
)
def test_a_story_that_cannot_be_is_refused(
    path: Path, story: list[tuple[str, dict[str, Any]]], complaint: str
) -> None:
    RunDirectory.open(path, META).close()
    journal = Journal(path / "journal.jsonl")
    for kind, fields in story:
        journal.append(kind, fields)
    journal.close()
    with pytest.raises(JournalDamagedError, match=complaint):
        RunDirectory.open(path, META)


@pytest.mark.parametrize("place", ["/proc/no-such-run", "/dev/null/run"])
def test_a_place_that_cannot_be_written_is_refused(place: str) -> None:
    with pytest.raises(StoreError, match="cannot be made"):
        RunDirectory.open(place, META)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_directory_is_refused(path: Path) -> None:
    path.mkdir(parents=True, mode=0o555)
    with pytest.raises(StoreError, match="cannot be opened for writing"):
        RunDirectory.open(path, META)


def test_a_journal_that_cannot_be_opened_is_refused_to_root_too(path: Path) -> None:
    (path / "journal.jsonl").mkdir(parents=True)
    with pytest.raises(StoreError, match="cannot be opened for writing"):
        RunDirectory.open(path, META)


def test_memory_stays_flat_and_a_long_journal_opens_fast(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)  # the disk is not what is tested here
    proposed, measured = configuration(), evaluation(seconds=0.125)
    held = []
    with RunDirectory.open(path, META) as run:
        for ticket in range(20_000):
            run.propose(ticket, proposed)
            run.finish(ticket, measured)
            if ticket in (1_000, 19_999):
                gc.collect()
                held.append(sys.getallocatedblocks())
    assert held[1] - held[0] < 500
    start = time.process_time()
    with RunDirectory.open(path, META) as run:
        assert time.process_time() - start < 2.0
        assert len(run.events) == 40_000


@dataclasses.dataclass(frozen=True)
class Settings:
    rho: float
    inner: tuple[int, ...]
    measure: Callable[..., Any]
    _derived: float = 0.0


def test_settings_and_data_are_described_by_what_they_are() -> None:
    settings = Settings(1.0, (1, 2), plain, _derived=3.0)
    assert plain(settings) == {"type": "Settings", "rho": 1.0, "inner": [1, 2], "measure": "plain"}
    X = np.arange(6.0).reshape(2, 3)
    assert plain(X) == plain(X.copy(order="F"))
    assert plain(X) != plain(X + 1e-12)
    table = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})
    assert plain(table) == plain(table.copy())
    assert plain(table) != plain(table.rename(columns={"a": "c"}))
