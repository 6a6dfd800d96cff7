"""The campaign itself: a short round passes, and a run that lies or repeats itself does not."""

import random
import signal

import pytest

from fenceline.errors import RunLockedError
from fenceline.store import RunDirectory, read_run
from fenceline.testing import campaign
from fenceline.testing.campaign import Hostile, Schedule, check, play

QUIET = Schedule("serial", 1, 6, 3, 0.3, ("raise",), (), ())


def test_a_seed_draws_the_same_schedule_again():
    drawn = [Schedule.draw(random.Random("7/local/3"), "local") for _ in range(2)]
    assert drawn[0] == drawn[1]
    assert drawn[0] != Schedule.draw(random.Random("7/local/4"), "local")


def test_a_round_with_a_kill_and_damage_keeps_the_invariant(tmp_path):
    kills, damage = ((2.5, int(signal.SIGKILL)),), ("torn",)
    play(tmp_path, Schedule("local", 2, 12, 3, 0.3, ("raise", "desert"), kills, damage))


@pytest.fixture
def played(tmp_path):
    play(tmp_path, QUIET)
    return tmp_path


def best(folder):
    return min(e.metrics["loss"] for e in read_run(folder / "run")[1] if getattr(e, "metrics", {}))


def test_a_false_measurement_in_the_journal_is_found(played, monkeypatch):
    monkeypatch.setattr(campaign, "loss", lambda configuration: 2.0)
    with pytest.raises(AssertionError):
        check(played, QUIET, best(played), [], set())


def test_a_false_status_in_the_journal_is_found(played, monkeypatch):
    monkeypatch.setattr(Hostile, "deed", lambda self, configuration: "raise")
    with pytest.raises(AssertionError, match="raise became"):
        check(played, QUIET, best(played), [], set())


def test_a_measurement_that_was_made_again_is_found_unless_the_kill_excuses_it(played):
    notes = played / "notes"
    at, _, key = notes.read_text().splitlines()[0].partition(" ")
    with notes.open("a") as file:
        file.write(f"{float(at) + 9} {key}\n")
    check(played, QUIET, best(played), [float(at) + 0.1], set())
    with pytest.raises(AssertionError, match="measured again"):
        check(played, QUIET, best(played), [float(at) + 5], set())


def test_a_false_answer_a_lock_and_a_file_that_is_left_are_found(played):
    answer = best(played)
    with pytest.raises(AssertionError, match="the answer is"):
        check(played, QUIET, answer + 1, [], set())
    (played / "run" / "left.tmp").touch()
    with pytest.raises(AssertionError, match=r"left\.tmp"):
        check(played, QUIET, answer, [], set())
    with (
        RunDirectory.open(played / "run", read_run(played / "run")[0]),
        pytest.raises(RunLockedError),
    ):
        check(played, QUIET, answer, [], set())


def test_damage_upon_damage_is_damage_once(played):
    journal = played / "run" / "journal.jsonl"
    (lost,) = campaign._damage(journal, "torn")
    assert "model" in lost
    torn = journal.read_bytes()
    assert campaign._damage(journal, "torn") == set()
    assert journal.read_bytes() == torn
