"""What a search keeps of what was measured."""

import numpy as np
import pytest

import fenceline as fl
from fenceline.problem.measurement import Spread
from fenceline.search.structured.data import Data
from fenceline.search.structured.rows import Rows

SPACE = fl.Space(
    [
        fl.Module("m", [fl.Algorithm("a", {"x": fl.Real(0, 1)}), fl.Algorithm("b")]),
        fl.Module("n", [fl.Algorithm("c", {"k": fl.Integer(0, 4)})]),
    ]
)
PROBLEM = fl.Problem(
    SPACE, lambda c: {}, constraints=["g <= 1", fl.metric("h").equals(0.0, 0.5)], objective="f"
)


class Evaluator:
    """A history that a test writes."""

    def __init__(self):
        self.history = []
        self.pending = []

    def add(self, configuration, status="ok", errors=None, **metrics):
        spreads = {n[:-3]: Spread(v) for n, v in metrics.items() if n.endswith("_se")}
        metrics = {n: v for n, v in metrics.items() if not n.endswith("_se")}
        ok = status == "ok"
        self.history.append(
            fl.Evaluation(
                configuration,
                metrics if ok else {},
                metrics["f"] if ok else np.inf,
                0.0,
                status,
                errors=errors or {},
                spreads=spreads,
            )
        )


def pipeline(x=None, k=0):
    return SPACE.configuration(
        {"m": ("b", {}) if x is None else ("a", {"x": x}), "n": ("c", {"k": k})}
    )


@pytest.fixture
def evaluator():
    return Evaluator()


@pytest.fixture
def data(evaluator):
    return Data(PROBLEM, evaluator)


def test_metrics_have_a_row_per_success_and_pipelines_a_row_each(data, evaluator):
    evaluator.add(pipeline(0.25, 1), f=3.0, g=0.5, h=-0.2)
    evaluator.add(pipeline(0.5), status="error")
    evaluator.add(pipeline(None, 4), f=1.0, g=2.0, h=0.7)
    data.refresh()
    assert data.ok.tolist() == [True, False, True]
    assert data.z.tolist() == [[0, 0], [0, 0], [1, 0]]
    assert data.loss.tolist() == [3.0, 1.0]
    np.testing.assert_allclose(data.excess, [[-0.5, -0.2], [1.0, 0.7]])
    assert data.feasible().tolist() == [0]
    z, theta = data.row(1)
    assert z == (1, 0)
    np.testing.assert_array_equal(theta, [np.nan, 1.0])


def test_a_pipeline_measured_again_keeps_its_row(data, evaluator):
    evaluator.add(pipeline(0.25), f=3.0, g=0.5, h=0.0)
    assert not data.refresh()
    evaluator.add(pipeline(0.25), f=2.0, g=1.5, h=0.0)
    assert data.refresh()
    assert data.loss.tolist() == [2.0]
    assert data.excess[0, 0] == 0.5
    assert not data.refresh()


def test_room_is_counted_in_errors_that_feasibility_leaves_out(data, evaluator):
    evaluator.add(pipeline(0.1), f=1.0, g=0.8, h=0.0, g_se=0.1, h_se=0.01)
    evaluator.add(pipeline(0.2), f=2.0, g=0.5, h=0.0, g_se=0.1, h_se=0.01)
    data.refresh()
    assert data.typical_error.tolist() == [0.1, 0.01]
    assert data.feasible().tolist() == [0, 1]
    assert data.feasible(room=4.0).tolist() == [1]
    # The second is known to be 5 errors inside; one more is worth a try, nine are not.
    assert data.within_reach(10.0) == pytest.approx(6.0)
    assert data.within_reach(2.0) == 2.0


def test_an_error_that_feasibility_counts_asks_for_no_room(data, evaluator):
    evaluator.add(pipeline(0.1), errors={"g": 0.1}, f=1.0, g=0.5, h=0.0, g_se=0.1)
    data.refresh()
    assert data.typical_error.tolist() == [0.0, 0.0]
    assert data.excess[0, 0] == pytest.approx(-0.5 + 1.645 * 0.1, abs=1e-3)
    assert data.within_reach(4.5) == 0.0


def test_a_row_that_is_kept_does_not_keep_the_table(data, evaluator):
    evaluator.add(pipeline(0.25), f=3.0, g=0.5, h=0.0)
    data.refresh()
    assert data.row(0)[1].base is None


def test_rows_survive_the_growth_of_their_table():
    rows = Rows(2)
    for k in range(100):
        rows.append([k, -k])
    assert rows.view[:, 0].tolist() == list(range(100))
    assert rows.view.shape == (100, 2)
