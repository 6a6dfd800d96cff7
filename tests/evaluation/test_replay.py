import fenceline as fl
from fenceline.evaluation.replay import Replay
from fenceline.store import Finish, Proposal

SPACE = fl.Space([fl.Module("m", [fl.Algorithm("a", {"x": fl.Real(0, 1)})])])


def at(x):
    return SPACE.configuration({"m": ("a", {"x": x})})


def journal():
    """Two proposals at a time."""
    return Replay(
        [
            Proposal(0, at(0.1).to_dict(), left=9.0),
            Proposal(1, at(0.2).to_dict(), 0.5, 8.0),
            Finish(1, "ok", {"loss": 2.0}),
            Finish(0, "error"),
            Proposal(2, at(0.3).to_dict(), left=7.0),
            Finish(2, "ok", {"loss": 3.0}),
        ]
    )


def test_a_new_run_has_nothing_to_replay():
    assert not Replay(())
    assert Replay(()).told is None


def test_what_had_finished_before_the_next_proposal_comes_in_its_order():
    replay = journal()
    assert replay.told == 9.0
    assert replay.repeats(at(0.1), 1.0)
    assert list(replay.outcomes()) == []
    assert replay.told == 8.0
    assert replay.repeats(at(0.2), 0.5)
    assert [event.ticket for event in replay.outcomes()] == [1, 0]
    assert replay
    assert replay.repeats(at(0.3), 1.0)
    assert [event.ticket for event in replay.outcomes()] == [2]
    assert not replay


def test_another_proposal_is_left_in_the_journal():
    replay = journal()
    assert not replay.repeats(at(0.9), 1.0)
    assert not replay.repeats(at(0.1), 0.5)
    assert replay.repeats(at(0.1), 1.0)


def test_the_rest_is_told_at_once():
    replay = journal()
    replay.repeats(at(0.1), 1.0)
    assert len(replay.rest()) == 5
    assert not replay
