import numpy as np
import pandas as pd
import pytest

from benchmarks.decisions.fence import Bound
from benchmarks.decisions.ours import constraint
from benchmarks.decisions.rows import Decided
from benchmarks.sequences import replay as replays
from benchmarks.sequences.cases import Case
from benchmarks.sequences.replay import Replay
from benchmarks.sequences.rules import RULES, outcome
from fenceline.certificate.sequence import Option
from fenceline.pipelines.ensemble import Candidate


def option(loss, assurance):
    candidate = Candidate((loss,), {}, 0.0)
    return Option(candidate, loss, 1.0, {}, gain=0.5 - loss, assurance=assurance)


def replayed(risks, rooms=(1.0, 1.0, 1.0)):
    """A safe option and two bolder ones, tested once."""
    options = [option(0.4, 2.0), option(0.2, 1.0), option(0.1, 0.0)]
    losses = np.array([[0.4, 0.2, 0.1]])
    return Replay("a", "eod", options, np.array([risks]), np.array([rooms]), losses)


def test_a_sequence_ends_at_its_first_failure_and_a_hedge_goes_on_at_less_risk():
    found = replayed([0.01, 1.0, 0.02])
    one = outcome(RULES["one sequence"], [found])
    assert (one.certified, one.outside) == (1.0, 0.0)
    assert one.gain == pytest.approx(0.25)  # a loss of .4 where .1 was to be had
    hedged = outcome(RULES["two, at half the risk"], [found])
    assert hedged.gain == pytest.approx(1.0)
    # At the smaller risk what passed before may fail.
    found = replayed([0.04, 1.0, 0.04])
    assert outcome(RULES["one sequence"], [found]).certified == 1.0
    assert outcome(RULES["two, at half the risk"], [found]).certified == 0.0


def test_what_is_certified_and_truly_outside_is_counted():
    found = outcome(RULES["one sequence"], [replayed([0.01] * 3, (1.0, 1.0, -0.1))])
    assert (found.certified, found.outside) == (1.0, 1.0)
    assert found.gain == 1.0  # never more than the best that is inside
    assert outcome(RULES["one sequence"], [replayed([1.0] * 3)]).gain == 0.0


def test_a_search_is_fitted_and_tested_on_rows_that_are_drawn_again(monkeypatch):
    monkeypatch.setattr(replays, "DRAWS", 2)
    monkeypatch.setattr(replays, "THRESHOLDS", 4)
    monkeypatch.setattr(replays, "MOST", 3)
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(1500, 3)), columns=list("abc"))
    truth = (X["a"] + rng.normal(size=1500) > 0).to_numpy()
    table = Decided(X, truth, np.where(X["b"] > 0, "upper", "lower"))
    fence = [constraint(Bound("fpr", 0.3))]
    found = replays.replay(Case(0, "none", "fpr", table, 700, "balanced_accuracy", fence), 4.0)
    assert found.risks.shape == found.rooms.shape == found.losses.shape == (2, len(found.options))
    assert 1 <= len({o.pipeline for o in found.options}) <= 3
    assert set(np.unique(found.risks)) <= {*replays.RISKS, 1.0}
    safest = max(range(len(found.options)), key=lambda i: found.options[i].assurance)
    assert (found.risks[:, safest] <= 0.05).all()
    assert (found.rooms[:, safest] > 0).all()
    assert outcome(RULES["one sequence"], [found]).certified == 1.0
