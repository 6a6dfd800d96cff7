import sys

import numpy as np
import pytest

import fenceline as fl
from fenceline.errors import DefinitionError, MissingDependencyError

mpl = pytest.importorskip("matplotlib")
mpl.use("Agg")

from matplotlib import pyplot  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402

from fenceline import plots  # noqa: E402

SPACE = fl.Space(
    [
        fl.Module(
            "model",
            [fl.Algorithm("a", {"x": fl.Real(0, 1)}), fl.Algorithm("b", {"x": fl.Real(0, 1)})],
        )
    ]
)
PROBLEM = fl.Problem(SPACE, lambda c: {}, constraints=["cost <= 1", "rate == 0.5 +- 0.1"])


def measured(algorithm, loss, cost, rate=0.5):
    configuration = SPACE.configuration({"model": (algorithm, {"x": loss})})
    values = {"loss": loss, "cost": cost, "rate": rate}
    return fl.Evaluation(configuration, values, loss, PROBLEM.violation(values))


EVALUATIONS = (
    measured("a", 0.5, 2.0),
    measured("a", 0.8, 0.5),
    measured("b", 0.9, 0.4),
    measured("b", 0.6, 0.9),
)
RESULT = fl.Result(PROBLEM, EVALUATIONS, "evaluations", 1.0)


@pytest.fixture
def ax():
    return Figure().add_subplot()


def test_best_so_far_starts_at_the_first_feasible_pipeline(ax):
    assert plots.best_so_far(RESULT, ax=ax) is ax
    (line,) = ax.lines
    np.testing.assert_allclose(line.get_xydata(), [[2, 0.8], [3, 0.8], [4, 0.6]])
    assert ax.get_ylabel() == "best feasible loss"


@pytest.mark.parametrize("named", ["cost", "cost <= 1", PROBLEM.constraints[0]])
def test_trade_off_draws_points_front_and_fence(ax, named):
    plots.trade_off(RESULT, named, ax=ax)
    outside, inside = ax.collections
    np.testing.assert_allclose(outside.get_offsets(), [[2.0, 0.5]])
    assert len(inside.get_offsets()) == 3
    along, fence = ax.lines
    np.testing.assert_allclose(along.get_ydata(), [0.9, 0.8, 0.6, 0.5])
    np.testing.assert_allclose(fence.get_xdata(), [1, 1])


def test_a_value_asked_for_exactly_has_two_fences(ax):
    plots.trade_off(RESULT, "rate", ax=ax)
    np.testing.assert_allclose([line.get_xdata()[0] for line in ax.lines], [0.4, 0.6])


def test_algorithms_have_one_line_each_and_the_best_is_on_top(ax):
    plots.algorithms(RESULT, ax=ax)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["model: b", "model: a"]


def test_axes_are_made_where_none_are_given():
    made = plots.best_so_far(RESULT)
    assert len(made.lines) == 1
    pyplot.close(made.figure)


def test_an_unknown_constraint_is_refused_with_the_known_ones(ax):
    with pytest.raises(DefinitionError, match=r"no constraint latency\..*Known: 'cost <= 1'"):
        plots.trade_off(RESULT, "latency", ax=ax)


def test_anything_but_a_result_is_refused(ax):
    with pytest.raises(DefinitionError, match="Got a dict; an estimator has one as result_"):
        plots.best_so_far({}, ax=ax)


def test_a_missing_matplotlib_is_named_with_the_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'fenceline\[plots\]'"):
        plots.best_so_far(RESULT)
