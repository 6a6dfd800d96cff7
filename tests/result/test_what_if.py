import itertools
import math

import numpy as np
import pytest

import fenceline as fl
from fenceline.errors import ConstraintError
from fenceline.result import what_if as module
from fenceline.result.what_if import measured_options, what_if

SPACE = fl.Space([fl.Module("model", [fl.Algorithm("knn", {"k": fl.Integer(1, 999)})])])
FENCE = ("latency_us <= 10", "auc >= 0.6")


def problem(constraints=FENCE, objective="loss"):
    return fl.Problem(SPACE, lambda c: {}, objective, constraints)


def point(k, about=None, details=None, errors=None, **metrics):
    about = about or problem()
    chosen = SPACE.configuration({"model": ("knn", {"k": k})})
    violation = about.violation(metrics, errors or {})
    loss = metrics[about.objective]
    return fl.Evaluation(
        chosen, metrics, loss, violation, errors=errors or {}, details=details or {}
    )


def result(*evaluations, about=None):
    return fl.Result(about or problem(), evaluations, "evaluations", 1.0)


def random_search(count, seed=0):
    rng = np.random.default_rng(seed)
    found = [
        point(k, loss=float(a), latency_us=float(b), auc=float(c))
        for k, (a, b, c) in enumerate(rng.uniform((0, 1, 0.5), (1, 20, 1), (count, 3)), 1)
    ]
    return result(*found)


FAST = point(1, loss=0.4, latency_us=2.0, auc=0.8)
SLOW = point(2, loss=0.2, latency_us=14.0, auc=0.8)
UNFAIR = point(3, loss=0.3, latency_us=5.0, auc=0.5)


def test_bounds_that_stay_give_the_best_of_the_search():
    found = result(FAST, SLOW, UNFAIR).what_if({})
    assert found.evaluation is FAST
    assert found.bounds == {"latency_us <= 10": 10.0, "auc >= 0.6": 0.6}


def test_a_looser_bound_admits_what_was_measured_outside():
    found = result(FAST, SLOW, UNFAIR).what_if({"latency_us": 15})
    assert found.evaluation is SLOW
    assert found.metrics == {"latency_us": 14.0, "auc": 0.8}


def test_costs_say_how_much_better_it_would_be_without_each_constraint():
    found = result(FAST, SLOW, UNFAIR).what_if({})
    assert found.costs == pytest.approx({"latency_us <= 10": 0.2, "auc >= 0.6": 0.1})
    assert found.pressing == "latency_us <= 10"
    assert result(SLOW).what_if({"latency_us": 20}).pressing is None


def test_a_fence_that_nothing_keeps_to_says_which_side_keeps_all_out():
    found = result(FAST, UNFAIR).what_if({"latency_us": 1})
    assert (found.evaluation, found.objective) == (None, None)
    assert found.costs == {"latency_us <= 10": math.inf, "auc >= 0.6": 0.0}


def test_no_dominated_option_is_kept_and_none_is_missed():
    search = random_search(400)
    assert len(measured_options(search).at) < 120
    for latency, auc in itertools.product((2, 5, 10, 19), (0.5, 0.7, 0.9, 0.99)):
        inside = [
            e
            for e in search.evaluations
            if e.metrics["latency_us"] <= latency and e.metrics["auc"] >= auc
        ]
        best = min(inside, key=lambda e: e.objective, default=None)
        assert what_if(search, {"latency_us": latency, "auc": auc}).evaluation is best


def test_blocks_do_not_matter(monkeypatch):
    before = measured_options(random_search(200)).at.tolist()
    monkeypatch.setattr(module, "_BLOCK", 7)
    assert measured_options(random_search(200)).at.tolist() == before


def test_very_many_options_are_thinned_out_and_keep_both_ends(monkeypatch):
    every = measured_options(random_search(200)).at
    monkeypatch.setattr(module, "MOST_OPTIONS", 10)
    few = measured_options(random_search(200)).at
    assert len(few) == 10
    assert (few[0], few[-1]) == (every[0], every[-1])


def curve(**values):
    odds = [-2.0, 0.0, 1.0, 3.0]
    return {
        "curve": {
            "log_odds": odds,
            "selected": [1.0, 0.6, 0.3, 0.1],
            "values": values,
            "errors": {},
        }
    }


def test_every_threshold_of_a_stored_curve_is_an_option():
    about = problem(["fpr <= 0.2"])
    details = curve(loss=[0.1, 0.2, 0.3, 0.4], fpr=[0.9, 0.3, 0.1, 0.01])
    found = result(point(1, about, details, loss=0.3, fpr=0.1, threshold=1.0), about=about)
    assert found.what_if({}).log_odds == 1.0
    loose, strict = found.what_if({"fpr": 0.5}), found.what_if({"fpr": 0.05})
    assert (loose.objective, loose.log_odds) == (0.2, 0.0)
    assert (strict.objective, strict.log_odds) == (0.4, 3.0)
    # Where everybody is chosen nothing is decided, however well it looks.
    assert found.what_if({"fpr": 1.0}).objective == 0.2


def test_where_the_objective_only_ranks_the_balance_decides_between_thresholds():
    about = problem(["fpr <= 0.35"], objective="rank")
    details = curve(balanced_accuracy=[0.5, 0.7, 0.6, 0.5], fpr=[0.9, 0.3, 0.1, 0.01])
    found = result(point(1, about, details, rank=0.3, fpr=0.1, threshold=1.0), about=about)
    assert found.what_if({}).log_odds == 0.0


def test_a_constraint_on_something_else_than_decisions_holds_at_every_threshold():
    about = problem(["fpr <= 0.2", "size_mb <= 1"])
    details = curve(loss=[0.1, 0.2, 0.3, 0.4], fpr=[0.9, 0.3, 0.1, 0.01])
    found = result(
        point(1, about, details, loss=0.3, fpr=0.1, size_mb=3.0, threshold=1.0), about=about
    )
    assert found.what_if({}).evaluation is None
    assert found.what_if({"size_mb": 3}).metrics["size_mb"] == 3.0


def test_an_error_keeps_a_value_from_the_bound():
    about = fl.Problem(
        SPACE, lambda c: {}, constraints=[fl.Constraint("x", "<=", 1.0, confidence=0.95)]
    )
    found = result(point(1, about, errors={"x": 0.1}, loss=0.3, x=0.9), about=about)
    assert found.what_if({}).evaluation is None
    assert found.what_if({"x": 1.1}).evaluation is not None


def test_a_value_asked_for_exactly_can_be_moved():
    about = problem(["auc == 0.8 +- 0.1"])
    found = result(
        *(point(k, about, loss=k / 10, auc=v) for k, v in ((1, 0.5), (2, 0.85))), about=about
    )
    assert found.what_if({}).objective == 0.2
    assert found.what_if({"auc": 0.55}).objective == 0.1


def test_what_was_measured_again_is_known_by_its_last_measurement():
    again = point(1, loss=0.5, latency_us=3.0, auc=0.8)
    assert result(FAST, again).what_if({}).objective == 0.5


@pytest.mark.parametrize(
    ("bounds", "message"),
    [({"latency": 3}, "There is no constraint 'latency'"), ({"auc": math.nan}, "finite number")],
)
def test_bounds_that_make_no_sense_are_refused(bounds, message):
    with pytest.raises(ConstraintError, match=message):
        result(FAST).what_if(bounds)


def test_a_search_that_measured_nothing_has_nothing_inside():
    assert result().what_if({}).evaluation is None


def test_relaxations_name_bounds_at_thresholds_that_the_search_did_not_choose():
    about = problem(["fpr <= 0.1"])
    curve = {
        "log_odds": [-1.0, 0.0, 1.0],
        "selected": [0.6, 0.4, 0.2],
        "values": {"loss": [0.1, 0.2, 0.3], "fpr": [0.3, 0.15, 0.05]},
        "errors": {"loss": [0.0] * 3, "fpr": [0.0] * 3},
    }
    inside = point(1, about, {"curve": curve}, loss=0.3, fpr=0.05, threshold=1.0)
    table = result(inside, about=about).relaxations()
    assert table["loss"].tolist() == [0.2, 0.1]
    assert table["fpr <= 0.1"].tolist() == [0.15, 0.3]


def test_of_many_relaxations_the_nearest_and_the_farthest_are_listed():
    misses = [point(i, loss=1.0 / i, latency_us=10.0 + i, auc=0.9) for i in range(1, 30)]
    bounds = result(*misses).relaxations(most=4)["latency_us <= 10"]
    assert (len(bounds), bounds.min(), bounds.max()) == (4, 11.0, 39.0)
