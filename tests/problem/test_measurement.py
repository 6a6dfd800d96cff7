import json
import math
import pickle

import pytest

import fenceline as fl
from fenceline.errors import MeasurementError
from fenceline.problem.measurement import Measurement, Spread, most_parts, read

FULL = Measurement(
    {"loss": 0.25, "latency_us": 8.0},
    {"latency_us": 0.5},
    {"loss": Spread(0.01, (0.2, 0.3)), "latency_us": Spread(None, (8.0,))},
    {"curve": [1, 2]},
)


def test_it_is_a_mapping_of_plain_numbers():
    assert FULL["loss"] == 0.25
    assert dict(FULL) == {"loss": 0.25, "latency_us": 8.0}
    assert len(FULL) == 2
    assert FULL == {"loss": 0.25, "latency_us": 8.0}


def same(one, other):
    assert one.to_plain() == other.to_plain()


def test_it_comes_back_from_json_and_pickle():
    same(Measurement.from_plain(json.loads(json.dumps(FULL.to_plain()))), FULL)
    same(pickle.loads(pickle.dumps(FULL)), FULL)
    same(read(FULL), FULL)


def test_plain_numbers_and_pairs_are_taken_apart():
    found = read({"loss": 1, "latency_us": (8, 0.5), "details": {"a": (1, 2)}})
    expected = Measurement({"loss": 1.0, "latency_us": 8.0}, {"latency_us": 0.5}, {}, {"a": [1, 2]})
    same(found, expected)


def test_an_error_beside_a_metric_is_one_that_feasibility_leaves_out():
    found = read({"gap": 0.1, "gap/se": 0.02, "other/se": 3.0})
    assert dict(found) == {"gap": 0.1, "other/se": 3.0}
    assert found.spreads == {"gap": Spread(0.02)}
    assert found.errors == {}


def test_an_error_that_is_bounded_itself_stays_a_metric():
    space = fl.Space([fl.Module("m", [fl.Algorithm("a")])])
    problem = fl.Problem(space, dict, "gap", [fl.metric("gap/se") <= 0.1])
    found = problem.check({"gap": 0.1, "gap/se": 0.2})
    assert found["gap/se"] == 0.2
    assert problem.violation(found) > 0


@pytest.mark.parametrize(
    ("measured", "words"),
    [
        (Measurement({"loss": math.nan}), "'loss' must be finite"),
        (Measurement({"loss": 1.0}, {"loss": -1.0}), "standard error of metric 'loss'.*negative"),
        (Measurement({"loss": 1.0}, {}, {"loss": Spread(-1.0)}), "'loss' must not be negative"),
        (Measurement({"loss": 1.0}, {}, {"loss": Spread(math.inf)}), "spread.*must be finite"),
        (Measurement({"loss": 1.0}, {}, {"loss": Spread(0.1, (1.0, "2"))}), "part 2.*a number"),
        ({"loss": 1.0, "loss/se": "0.1"}, "must be a number"),
    ],
)
def test_what_is_no_number_is_refused_wherever_it_is(measured, words):
    with pytest.raises(MeasurementError, match=words):
        read(measured)


@pytest.mark.parametrize("found", [None, [], "ok", {"metrics": 3}, {"loss": 0.5}])
def test_what_is_no_measurement_in_json_is_refused(found):
    with pytest.raises(MeasurementError, match="cannot be read"):
        Measurement.from_plain(found)


def test_a_spread_that_is_no_list_says_nothing():
    found = Measurement.from_plain({"metrics": {"loss": 1.0}, "spreads": {"loss": {}}})
    assert found.spreads == {"loss": Spread()}


def test_a_pipeline_is_measured_in_as_many_parts_as_its_metrics_show():
    assert most_parts(FULL.spreads) == 2
    assert most_parts({}) == 0


def test_a_measure_may_return_one():
    space = fl.Space([fl.Module("m", [fl.Algorithm("a")])])
    problem = fl.Problem(space, lambda c: FULL, "loss", ["latency_us <= 10"])
    (evaluation,) = fl.minimize(problem, evaluations=1).evaluations
    assert evaluation.metrics == {"loss": 0.25, "latency_us": 8.0}
    assert evaluation.errors == {"latency_us": 0.5}
    assert evaluation.spreads == FULL.spreads
    assert evaluation.details == {"curve": [1, 2]}
    assert evaluation.columns == {
        "loss": 0.25,
        "latency_us": 8.0,
        "loss/se": 0.01,
        "loss/fold1": 0.2,
        "loss/fold2": 0.3,
        "latency_us/fold1": 8.0,
    }
