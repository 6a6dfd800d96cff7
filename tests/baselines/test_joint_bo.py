import numpy as np

import fenceline as fl
from fenceline.baselines import JointBO
from fenceline.search.admm.solvers import Random
from fenceline.testing import AlgorithmSuite

SPACE = fl.Space(
    [
        fl.Module("scaler", [fl.Algorithm("none"), fl.Algorithm("clip", {"q": fl.Real(0.0, 1.0)})]),
        fl.Module("model", [fl.Algorithm("tree", {"depth": fl.Integer(1, 9)})]),
    ]
)


class TestJointBO(AlgorithmSuite):
    algorithm = JointBO()
    budget = 15


class Watching(Random):
    """A random solver that keeps the sub-problem it was given."""

    def proposals(self, task, rng):
        type(self).task = task
        return super().proposals(task, rng)


def test_one_sub_problem_holds_choices_and_all_hyper_parameters():
    problem = fl.Problem(SPACE, lambda c: {"loss": float(c["model"].params["depth"])})
    fl.minimize(problem, evaluations=5, algorithm=JointBO(solver=Watching()))
    kinds = [type(p).__name__ for p in Watching.task.parameters]
    assert kinds == ["Categorical", "Categorical", "Real", "Integer"]
    points, merits = Watching.task.observed()
    np.testing.assert_allclose(merits, 1 + 8 * points[:, 3])


def test_a_broken_constraint_is_penalised():
    """loss 1 + rho / 2 (depth - 4)^2 beyond the bound of 4."""
    problem = fl.Problem(
        SPACE,
        lambda c: {"loss": 1.0, "size": float(c["model"].params["depth"])},
        constraints=["size <= 4"],
    )
    fl.minimize(problem, evaluations=9, algorithm=JointBO(solver=Watching(), rho=3.0))
    points, merits = Watching.task.observed()
    beyond = np.maximum(0.0, 1 + 8 * points[:, 3] - 4)
    assert (beyond > 0).any()
    assert (beyond == 0).any()
    inside = beyond == 0
    np.testing.assert_allclose(merits[inside], 1.0)
    assert (merits[~inside] > 1.0).all()
    # The penalty is quadratic, whatever counts as one unit of violation.
    np.testing.assert_allclose(
        (merits[~inside] - 1.0) / beyond[~inside] ** 2,
        (merits[~inside][0] - 1) / beyond[~inside][0] ** 2,
    )
