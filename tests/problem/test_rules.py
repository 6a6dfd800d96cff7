import pickle
import time

import numpy as np
import pytest

import fenceline as fl
from fenceline.baselines import JointBO, RandomSearch
from fenceline.errors import DefinitionError
from fenceline.search.admm.solvers import Bandit, Bayesian, Random

SPACE = fl.Space(
    [
        fl.Module(
            "scaler",
            [
                fl.Algorithm("none"),
                fl.Algorithm("robust", {"q_min": fl.Real(0.0, 1.0), "q_max": fl.Real(0.0, 1.0)}),
            ],
        ),
        fl.Module(
            "model",
            [
                fl.Algorithm("bayes"),
                fl.Algorithm("knn", {"k": fl.Integer(1, 9), "p": fl.Categorical([1, 2])}),
            ],
        ),
    ]
)
# Seven modules of five algorithms: 78,125 combinations of choices.
WIDE = fl.Space(
    [
        fl.Module(
            f"step{i}",
            [fl.Algorithm(a) for a in "abcd"] + [fl.Algorithm("e", {"x": fl.Real(0, 1)})],
        )
        for i in range(7)
    ]
)
RULES = [
    fl.forbid({"scaler": "none", "model": "knn"}),
    fl.order("scaler.robust.q_min", "<", "scaler.robust.q_max"),
]
ALGORITHMS = {
    "default": fl.ADMM(),
    "paper": fl.ADMM.paper(precision=fl.Fixed(4)),
    "measured": fl.ADMM(theta=Bayesian(), z=Bandit(), precision=fl.Fixed(4)),
    "random blocks": fl.ADMM(theta=Random(), z=Random(), precision=fl.Fixed(4)),
    "joint": JointBO(),
    "random": RandomSearch(),
}


def measure(configuration):
    numbers = [v for choice in configuration.values() for v in choice.params.values()]
    return {"loss": sum((v - 0.4) ** 2 for v in numbers)}


def configuration(scaler="none", model="bayes"):
    return SPACE.configuration({"scaler": scaler, "model": model})


def robust(q_min, q_max):
    return ("robust", {"q_min": q_min, "q_max": q_max})


def test_a_forbidden_combination_is_refused_and_its_halves_are_not():
    problem = fl.Problem(SPACE, measure, allowed=RULES[0])
    knn = ("knn", {"k": 3, "p": 1})
    assert not problem.allows(configuration("none", knn))
    assert problem.allows(configuration("none", "bayes"))
    assert problem.allows(configuration(robust(0.1, 0.9), knn))


def test_a_combination_may_name_values_and_several_algorithms():
    rule = fl.forbid({"scaler": ["none", "robust"], "model": ("knn", {"k": [1, 2], "p": 1})})
    problem = fl.Problem(SPACE, measure, allowed=rule)
    assert not problem.allows(configuration("none", ("knn", {"k": 2, "p": 1})))
    assert problem.allows(configuration("none", ("knn", {"k": 2, "p": 2})))
    assert problem.allows(configuration("none", ("knn", {"k": 3, "p": 1})))


@pytest.mark.parametrize(
    ("relation", "below", "equal", "above"),
    [
        ("<", True, False, False),
        ("<=", True, True, False),
        (">", False, False, True),
        (">=", False, True, True),
    ],
)
def test_order_compares_two_values_where_both_are_active(relation, below, equal, above):
    rule = fl.order("scaler.robust.q_min", relation, "scaler.robust.q_max")
    assert rule(configuration(robust(0.2, 0.8))) is below
    assert rule(configuration(robust(0.5, 0.5))) is equal
    assert rule(configuration(robust(0.8, 0.2))) is above
    assert rule(configuration("none")) is True


def test_order_may_span_modules():
    rule = fl.order("model.knn.k", ">", "scaler.robust.q_min")
    assert rule(configuration(robust(0.2, 0.8), ("knn", {"k": 1, "p": 1})))
    assert not fl.order("model.knn.k", "<", "scaler.robust.q_min")(
        configuration(robust(0.2, 0.8), ("knn", {"k": 1, "p": 1}))
    )


@pytest.mark.parametrize("name", ALGORITHMS)
def test_no_algorithm_measures_a_pipeline_that_breaks_a_rule(name):
    asked = []

    def watched(configuration):
        asked.append(configuration)
        return measure(configuration)

    problem = fl.Problem(SPACE, watched, allowed=[*RULES, lambda c: len(str(c)) % 7 != 0])
    result = fl.minimize(problem, evaluations=30, algorithm=ALGORITHMS[name])
    assert len(asked) == len(set(asked)) == len(result.evaluations) == 30
    assert all(problem.allows(c) for c in asked)
    assert {e.status for e in result.evaluations} == {"ok"}


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_finds_the_one_combination_in_78125_that_is_allowed(name):
    def only(configuration):
        return "".join(choice.algorithm for choice in configuration.values()) == "ebcdabc"

    problem = fl.Problem(WIDE, measure, allowed=only)
    result = fl.minimize(problem, evaluations=12, algorithm=ALGORITHMS[name])
    assert len(result.evaluations) >= 1
    assert all(only(e.configuration) for e in result.evaluations)
    # The loss is (x - 0.4)^2: the search goes on inside what is allowed.
    assert result.best.objective < 0.05


@pytest.mark.parametrize("name", ["default", "random", "joint"])
def test_a_sliver_of_a_hyper_parameters_range_is_found(name):
    """One in 100,000 of the reals."""
    space = fl.Space(
        [fl.Module("m", [fl.Algorithm("a", {"x": fl.Real(0, 1), "y": fl.Real(0, 1)})])]
    )
    problem = fl.Problem(space, measure, allowed=lambda c: abs(c["m"].params["x"] - 0.123) < 0.5e-5)
    result = fl.minimize(problem, evaluations=10, algorithm=ALGORITHMS[name])
    assert len(result.evaluations) == 10
    assert all(problem.allows(e.configuration) for e in result.evaluations)


def test_many_rules_that_are_rarely_met_together_are_climbed():
    """Twenty orders between hyper-parameters hold together once in a million draws."""
    modules = [
        fl.Module(f"m{i}", [fl.Algorithm("a", {"low": fl.Real(0, 1), "high": fl.Real(0, 1)})])
        for i in range(20)
    ]
    rules = [fl.order(f"m{i}.a.low", "<", f"m{i}.a.high") for i in range(20)]
    problem = fl.Problem(fl.Space(modules), measure, allowed=rules)
    assert problem.allows(problem.examples[0])
    rng = np.random.default_rng(0)
    assert len({problem.sample(rng) for _ in range(20)}) > 10


def test_rules_that_leave_nothing_of_a_finite_space_are_refused_before_the_start():
    space = fl.Space(
        [fl.Module("m", [fl.Algorithm("a", {"n": fl.Integer(1, 50)}), fl.Algorithm("b")])]
    )
    problem = fl.Problem(space, measure, allowed=[fl.forbid({"m": "a"}), fl.forbid({"m": "b"})])
    with pytest.raises(DefinitionError, match=r"No pipeline is allowed: all 51 were tried"):
        fl.minimize(problem, evaluations=5)


def test_a_predicate_that_allows_nothing_is_refused_after_an_honest_search(monkeypatch):
    monkeypatch.setattr("fenceline.problem.rule_sampling._MOST_DRAWS", 2000)
    problem = fl.Problem(SPACE, measure, allowed=lambda c: False)
    with pytest.raises(
        DefinitionError, match=r"2,000 pipelines of the space were tried.*narrow the space"
    ):
        fl.minimize(problem, evaluations=5)


def test_a_finite_space_is_exhausted_when_all_that_is_allowed_is_measured():
    space = fl.Space([fl.Module(m, [fl.Algorithm(a) for a in "abc"]) for m in ("x", "y")])
    problem = fl.Problem(space, measure, allowed=fl.forbid({"x": "a", "y": ["b", "c"]}))
    assert problem.cardinality == 7
    started = time.process_time()
    for algorithm in ALGORITHMS.values():
        result = fl.minimize(problem, evaluations=1000, algorithm=algorithm)
        assert result.ended == "exhausted"
        assert len(result.evaluations) == 7
    assert time.process_time() - started < 60


def test_runs_with_rules_repeat_themselves_and_share_nothing():
    problem = fl.Problem(SPACE, measure, allowed=RULES)
    first, second = (
        [e.configuration for e in fl.minimize(problem, evaluations=20, seed=3).evaluations]
        for _ in range(2)
    )
    assert first == second


def test_rules_do_not_change_a_run_that_never_meets_them():
    free = fl.Problem(SPACE, measure)
    ruled = fl.Problem(SPACE, measure, allowed=lambda c: True)
    first, second = (
        [
            e.configuration
            for e in fl.minimize(p, evaluations=9, algorithm=RandomSearch()).evaluations
        ]
        for p in (free, ruled)
    )
    assert first == second


def test_a_continued_run_must_have_the_same_rules(tmp_path):
    fl.minimize(fl.Problem(SPACE, measure, allowed=RULES), evaluations=5, run_dir=tmp_path)
    with pytest.raises(fl.errors.RunMismatchError, match="allowed"):
        fl.minimize(fl.Problem(SPACE, measure, allowed=RULES[:1]), evaluations=8, run_dir=tmp_path)
    result = fl.minimize(fl.Problem(SPACE, measure, allowed=RULES), evaluations=8, run_dir=tmp_path)
    assert len(result.evaluations) == 8


def test_declared_rules_can_be_pickled_and_compared():
    problem = fl.Problem(SPACE, measure, allowed=RULES)
    assert pickle.loads(pickle.dumps(problem)) == problem
    assert problem.allowed == tuple(RULES)


def test_a_rule_that_raises_is_named_with_the_pipeline():
    def careless(configuration):
        return configuration["model"].params["k"] < 5

    problem = fl.Problem(SPACE, measure, allowed=careless)
    with pytest.raises(DefinitionError, match=r"The rule careless raised KeyError: 'k' for"):
        fl.minimize(problem, evaluations=5)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: fl.forbid({}), "forbid: give the modules"),
        (lambda: fl.forbid({"model": 5}), "module 'model' needs an algorithm"),
        (lambda: fl.forbid({"modle": "knn"}), "no module 'modle'. Did you mean 'model'"),
        (lambda: fl.forbid({"model": "kn"}), "no algorithm 'kn'. Did you mean 'knn'"),
        (lambda: fl.forbid({"model": ("knn", {"n": 1})}), "no hyper-parameter 'n'"),
        (lambda: fl.forbid({"model": ("knn", {"k": 10})}), r"'k' of 'knn' must lie in \[1, 9\]"),
        (lambda: fl.order("model.knn.k", "==", "model.knn.p"), "relation must be one of"),
        (lambda: fl.order("model.knn.k", "<", "model.knn.q"), "no hyper-parameter 'model.knn.q'"),
        (lambda: fl.order("model.knn.k", "<", "model.knn.p"), "is a category and has no order"),
        (lambda: 5, r"allowed must be a function .* Got 5"),
        (lambda: ["x"], r"allowed must be a function .* Got 'x'"),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(make, words):
    with pytest.raises(DefinitionError, match=words):
        fl.Problem(SPACE, measure, allowed=make())
