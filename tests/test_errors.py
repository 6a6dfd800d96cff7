import inspect
import pickle

import pytest

import fenceline as fl
from fenceline import errors
from fenceline.errors import FencelineError, suggestion

EXCEPTIONS = [
    value
    for value in vars(errors).values()
    if inspect.isclass(value) and issubclass(value, Exception)
]


@pytest.mark.parametrize("exception", EXCEPTIONS, ids=lambda e: e.__name__)
def test_every_exception_hangs_on_the_one_tree_and_is_drawn_in_it(exception):
    assert issubclass(exception, FencelineError)
    assert exception.__name__ in errors.__doc__
    assert exception.__doc__


@pytest.mark.parametrize(
    ("name", "builtin"),
    [
        ("DefinitionError", ValueError),
        ("MeasurementError", ValueError),
        ("MissingDependencyError", ImportError),
    ],
)
def test_exceptions_can_be_caught_by_their_builtin_kind(name, builtin):
    assert issubclass(getattr(errors, name), builtin)


@pytest.mark.parametrize(
    "name", ["SpaceError", "ConfigurationError", "ConstraintError", "BudgetError"]
)
def test_bad_definitions_can_be_caught_together(name):
    assert issubclass(getattr(errors, name), errors.DefinitionError)


def test_near_miss_is_suggested():
    assert suggestion("latency", ["latency_us", "loss"]) == " Did you mean 'latency_us'?"


def test_swapped_letters_are_put_back_in_order():
    assert suggestion("mea", ["medae", "mae"]) == " Did you mean 'mae'?"


def test_known_names_are_listed_when_none_is_near():
    assert suggestion("zzz", ["loss", "auc"]) == " Known: 'loss', 'auc'."


def test_nothing_is_suggested_when_nothing_is_known():
    assert suggestion("zzz", []) == ""


def test_names_of_any_type_and_any_iterable_are_accepted():
    assert suggestion(5, (n for n in ["5a"])) == " Did you mean '5a'?"


SPACE = fl.Space([fl.Module("m", [fl.Algorithm("a", {"x": fl.Real(0, 1)})])])


def test_a_refused_value_is_carried_with_its_hyper_parameter():
    with pytest.raises(errors.ConfigurationError) as caught:
        SPACE.configuration({"m": ("a", {"x": 7.0})})
    assert caught.value.value == 7.0
    assert caught.value.parameter == fl.Real(0, 1)


def test_a_refused_constraint_is_carried():
    first, second = fl.metric("x") >= 2, fl.metric("x") <= 1
    with pytest.raises(errors.ConstraintError) as caught:
        fl.Problem(SPACE, lambda c: {}, constraints=[first, second])
    assert caught.value.constraint == second
    with pytest.raises(errors.ConstraintError) as caught:
        fl.Problem(SPACE, lambda c: {}, constraints=["x =< 2"])
    assert caught.value.value == "x =< 2"
    with pytest.raises(errors.ConstraintError) as caught:
        bool(first)
    assert caught.value.constraint is first


def test_a_wrong_measurement_is_carried_with_its_metric():
    problem = fl.Problem(SPACE, lambda c: {})
    with pytest.raises(errors.MeasurementError) as caught:
        problem.check({"loss": float("nan")})
    assert caught.value.metric == "loss"
    assert caught.value.value != caught.value.value


def test_errors_with_objects_survive_pickling():
    error = errors.ConfigurationError("told", value=3, parameter=fl.Real(0, 1))
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.value, copy.parameter) == ("told", 3, fl.Real(0, 1))
