"""The rivals that know constraints, or are kept from knowing them."""

import numpy as np
import pytest

import fenceline as fl
from fenceline.baselines import ADMMBO, UCST, ConstrainedEI, RandomSearch
from fenceline.baselines.admmbo import _feasibility_improvement
from fenceline.baselines.joint_space import JointSpace
from fenceline.errors import DefinitionError
from fenceline.problems import artificial, classical
from fenceline.testing import AlgorithmSuite


class TestUCST(AlgorithmSuite):
    algorithm = UCST()
    budget = 14


class TestUCSTOfRandomSearch(AlgorithmSuite):
    algorithm = UCST(RandomSearch())


class TestConstrainedEI(AlgorithmSuite):
    algorithm = ConstrainedEI(initial=8)
    budget = 20


class TestADMMBO(AlgorithmSuite):
    algorithm = ADMMBO(initial=6, first=(2, 2), later=(1, 1))
    budget = 12


def test_what_searches_under_ucst_never_sees_the_fence_but_is_judged_by_it():
    class Watching:
        def iterates(self, problem, evaluator, rng):
            self.constraints = problem.constraints
            yield from RandomSearch().iterates(problem, evaluator, rng)

    watching = Watching()
    problem = artificial(0, constraints=2, feasible_fraction=0.5)
    result = fl.minimize(problem, evaluations=40, algorithm=UCST(watching))
    assert watching.constraints == ()
    assert 0 < result.feasible_fraction < 1
    assert result.prices == {str(c): 0.0 for c in problem.constraints}


def test_constrained_ei_comes_near_the_optimum_behind_the_constraint():
    problem = classical()["gramacy"]
    result = fl.minimize(problem, evaluations=40, algorithm=ConstrainedEI())
    assert result.best.objective < problem.optimum + 0.05


def test_admmbo_finds_its_way_inside():
    problem = classical()["gramacy"]
    algorithm = ADMMBO(first=(5, 5), later=(3, 3))
    result = fl.minimize(problem, evaluations=60, algorithm=algorithm)
    assert result.best.objective < problem.optimum + 0.2


def test_the_improvement_of_feasibility_is_that_of_the_paper():
    q, chance = np.array([-0.1, 0.5, 1.5]), np.array([0.9, 0.4, 0.4])
    np.testing.assert_allclose(_feasibility_improvement(q, chance), [0.0, 0.2, 0.9])


def test_a_configuration_is_found_again_from_its_point():
    joint = JointSpace(artificial(0))
    rng = np.random.default_rng(0)
    for _ in range(20):
        configuration = joint.problem.sample(rng)
        assert joint.configure(joint.locate(configuration)) == configuration


def test_initial_must_be_positive():
    with pytest.raises(DefinitionError, match="initial must be at least 1"):
        ConstrainedEI(initial=0)
