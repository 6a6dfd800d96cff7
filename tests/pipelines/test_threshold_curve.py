"""Which threshold of a curve is chosen, and how the curve is stored."""

import json

import numpy as np
import pytest

from fenceline import metric
from fenceline.pipelines.threshold_curve import KEPT, ThresholdCurve

LOG_ODDS = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])


def curve(**more):
    given = {
        "log_odds": LOG_ODDS,
        "selected": np.array([1.0, 0.6, 0.4, 0.2, 0.0]),
        "values": {
            "loss": np.array([0.5, 0.2, 0.1, 0.3, 0.5]),
            "rate": np.array([0.9, 0.5, 0.3, 0.1, 0.0]),
        },
        "errors": {"loss": np.full(5, 0.01), "rate": np.full(5, 0.05)},
    }
    return ThresholdCurve(**given | more)


@pytest.mark.parametrize(
    ("constraints", "room", "at"),
    [
        ([], 0.0, 2),
        ([metric("rate") <= 0.1], 0.0, 3),
        ([metric("rate") >= 0.4], 0.0, 1),
        ([metric("rate") <= 0.3], 0.0, 2),
        ([metric("rate") <= 0.3], 1.0, 3),  # one error of room
        ([metric("rate") <= 0.28], 0.0, 3),
        ([metric("rate") <= 0.28], -1.0, 2),  # one error beyond it
        ([metric("rate").equals(0.5, 0.05)], 0.0, 1),
        ([metric("other") <= 0.0], 0.0, 2),  # does not depend on the threshold
        ([metric("rate") <= 0.05], 0.0, 4),  # nobody, for nothing else is inside
        (
            [metric("rate") <= 0.05, metric("loss") <= 0.4],
            0.0,
            3,
        ),  # nothing is inside: the least miss
    ],
)
def test_the_best_threshold_inside_the_fence_is_chosen(constraints, room, at):
    assert curve().choose("loss", constraints, room) == at


def test_where_a_metric_is_not_defined_nothing_is_chosen():
    values = {"loss": np.array([0.5, 0.2, np.nan, 0.3, 0.5]), "rate": np.full(5, 0.1)}
    assert curve(values=values).choose("loss", []) == 1
    values = {
        "loss": np.array([0.5, 0.2, 0.1, 0.3, 0.5]),
        "rate": np.where(LOG_ODDS == 0, np.nan, 0.1),
    }
    assert curve(values=values).choose("loss", [metric("rate") <= 0.2]) == 1


def test_an_objective_that_is_not_in_the_curve_is_replaced_by_the_balanced_error():
    values = {"balanced_accuracy": np.array([0.5, 0.6, 0.7, 0.8, 0.5]), "rate": LOG_ODDS}
    assert curve(values=values).choose("loss(roc_auc)", []) == 3


def test_a_stored_curve_is_thinned_but_keeps_the_chosen_threshold_and_even_odds():
    log_odds = np.sort(np.append(np.random.default_rng(0).normal(size=170), 0.0))
    wide = {"loss": np.linspace(0, 1, 171), "rate": np.where(log_odds > 2, np.nan, 0.123456)}
    full = ThresholdCurve(log_odds, np.linspace(1, 0, 171), wide, wide)
    stored = ThresholdCurve.from_dict(json.loads(json.dumps(full.thinned(101).to_dict())))
    assert len(stored.log_odds) <= KEPT
    assert float(f"{log_odds[101]:.4g}") in stored.log_odds
    assert 0.0 in stored.log_odds
    # Next to the chosen one nothing is left out; both ends are there.
    near = [float(f"{x:.4g}") for x in log_odds[90:113]]
    assert set(near) <= set(stored.log_odds.tolist())
    assert {float(f"{x:.4g}") for x in log_odds[[0, -1]]} <= set(stored.log_odds.tolist())
    assert np.isnan(stored.values["rate"]).any()
    assert np.nanmax(stored.values["rate"]) == 0.1235
