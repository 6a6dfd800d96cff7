import fenceline as fl
from fenceline.baselines import RandomSearch
from fenceline.testing import AlgorithmSuite


class TestRandomSearch(AlgorithmSuite):
    algorithm = RandomSearch()


def test_every_algorithm_and_value_is_met():
    space = fl.Space(
        [
            fl.Module(
                "model",
                [fl.Algorithm("a", {"n": fl.Integer(1, 3)}), fl.Algorithm("b"), fl.Algorithm("c")],
            )
        ]
    )
    problem = fl.Problem(space, lambda configuration: {"loss": 0.0})
    result = fl.minimize(problem, evaluations=100, algorithm=RandomSearch())
    assert {str(e.configuration) for e in result.evaluations} == {
        "a(n=1)",
        "a(n=2)",
        "a(n=3)",
        "b",
        "c",
    }
