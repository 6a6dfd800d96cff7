"""Modules that take several algorithms, and modules that change places."""

import math
import pickle
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fenceline as fl
from fenceline import (
    Algorithm,
    Categorical,
    Integer,
    Module,
    Problem,
    Real,
    Space,
    forbid,
    order,
    solvers,
)
from fenceline.errors import DefinitionError, SpaceError
from fenceline.problem.template import flow
from fenceline.search.admm.settings import fitting

SPACE = Space(
    [
        Module("scaler", [Algorithm("none"), Algorithm("robust", {"q": Real(0.0, 1.0)})]),
        Module(
            "features",
            [
                Algorithm("pca", {"n": Integer(1, 3)}),
                Algorithm("poly", {"d": Categorical([2, 3])}),
                Algorithm("kernel", {"g": Real(0.0, 1.0)}),
            ],
            most=2,
            join="union",
        ),
        Module("selector", [Algorithm("none"), Algorithm("best", {"k": Integer(1, 9)})]),
        Module("model", [Algorithm("tree"), Algorithm("logit", {"C": Real(0.1, 10.0, log=True)})]),
    ],
    reorder=("scaler", "features", "selector"),
)


@st.composite
def spaces(draw) -> Space:
    """Small spaces without hyper-parameters, so that all their pipelines can be listed."""
    modules = []
    for number in range(draw(st.integers(1, 3))):
        names = [f"{'abc'[number]}{n}" for n in range(draw(st.integers(1, 3)))]
        empty = ["none"] if draw(st.booleans()) else []
        modules.append(
            Module(
                f"m{number}",
                [Algorithm(name) for name in (*empty, *names)],
                most=draw(st.integers(1, len(names))),
                join=draw(st.sampled_from(["chain", "union"])),
            )
        )
    several = len(modules) > 1 and draw(st.booleans())
    return Space(modules, reorder=[m.name for m in modules] if several else ())


class TestEveryShapedSpace:
    @settings(max_examples=25, deadline=None)
    @given(spaces())
    def test_every_encoding_means_a_pipeline_and_every_pipeline_has_one_encoding(self, space):
        ranges = [range(len(module.algorithms)) for module in space.modules]
        if math.prod(map(len, ranges)) > 800:
            return
        found = {}
        for z in product(*ranges):
            configuration = space.decode(z, np.zeros(0))
            again, theta = space.encode(configuration)
            assert space.decode(again, theta) == configuration
            assert space.is_canonical(again)
            assert space.is_canonical(z) == (z == again)
            # The text is what is built: equal texts, equal pipelines.
            assert found.setdefault(str(flow(configuration)), configuration) == configuration
        assert len({space.encode(c)[0] for c in found.values()}) == len(found)
        assert space.size == len(found)
        assert space.cardinality == len(found)
        assert set(space.configurations()) == set(found.values())

    @settings(max_examples=30, deadline=None)
    @given(spaces())
    def test_a_description_makes_the_same_space_again(self, space):
        assert Space.from_dict(space.to_dict()) == space
        assert pickle.loads(pickle.dumps(space)) == space


def test_a_union_is_a_set_and_a_chain_is_not():
    def count(join):
        algorithms = [Algorithm(name) for name in "abc"]
        return Space([Module("m", algorithms, most=2, join=join)]).size

    assert count("union") == 3 + 3
    assert count("chain") == 3 + 6


def test_sizes_by_hand():
    # features: 3 single and 3 pairs; scaler and selector in or out; all that are in, in any order:
    # only features 1, with one of the others 2 x 2!, with both 3!.
    assert SPACE.size == 2 * 6 * (1 + 2 * 2 + 6)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_samples_survive_encoding_and_json(seed):
    configuration = SPACE.sample(np.random.default_rng(seed))
    assert SPACE.decode(*SPACE.encode(configuration)) == configuration
    assert SPACE.configuration(configuration.to_dict()) == configuration


def test_a_configuration_says_what_it_is():
    configuration = SPACE.configuration(
        {
            "shape": "selector? -> scaler? -> (features + features_2?) -> model",
            "scaler": ("robust", {"q": 0.5}),
            "features": ("poly", {"d": 2}),
            "features_2": ("kernel", {"g": 0.5}),
            "selector": ("best", {"k": 3}),
            "model": "tree",
        }
    )
    assert str(configuration) == "best(k=3) -> robust(q=0.5) -> (kernel(g=0.5) + poly(d=2)) -> tree"


def test_by_hand_what_is_not_said_is_empty():
    configuration = SPACE.configuration({"features": ("pca", {"n": 2}), "model": "tree"})
    assert str(configuration) == "pca(n=2) -> tree"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Module("m", [Algorithm("a")], most=2), "from 1 to 1"),
        (lambda: Module("m", [Algorithm("a")], most=0), "Got 0"),
        (lambda: Module("m", [Algorithm("a"), Algorithm("b")], most=2, join="and"), "'and'"),
        (lambda: Space([Module("m", [Algorithm("a")])], reorder=["m"]), "two or more"),
        (lambda: Space([Module("m", [Algorithm("a")])], reorder="m"), "list of module names"),
        (lambda: Space([Module("m", [Algorithm("a")])], reorder=["m", "n"]), "'n'"),
        (
            lambda: Space(
                [Module(f"m{n}", [Algorithm("a")]) for n in range(7)], [f"m{n}" for n in range(7)]
            ),
            "5,040 orders",
        ),
        (
            lambda: Space([Module(n, [Algorithm("a"), Algorithm("b")], 2) for n in ("m", "m_2")]),
            "'m_2'",
        ),
        (lambda: Space([Module("shape", [Algorithm("a"), Algorithm("b")], 2)]), "rename it"),
        (lambda: Space([Module("my module", [Algorithm("a"), Algorithm("b")], 2)]), "my module"),
    ],
)
def test_wrong_use_is_refused_at_the_door(make, message):
    with pytest.raises(SpaceError, match=message):
        make()


class TestRules:
    def problem(self, *rules):
        return Problem(SPACE, lambda c: {"loss": 0.0}, allowed=list(rules))

    def samples(self, problem, count=200):
        rng = np.random.default_rng(0)
        return [problem.sample(rng) for _ in range(count)]

    def test_forbid_speaks_of_a_module_whatever_the_slot(self):
        problem = self.problem(forbid({"features": "poly", "model": "tree"}))
        for c in self.samples(problem):
            assert not ("poly" in str(c) and c["model"].algorithm == "tree")

    def test_two_algorithms_of_a_union_can_be_kept_apart(self):
        problem = self.problem(forbid({"features": "kernel", "features_2": "pca"}))
        assert any("kernel" in str(c) for c in self.samples(problem))
        assert not any("kernel" in str(c) and "pca" in str(c) for c in self.samples(problem))

    def test_an_order_of_hyper_parameters_holds_in_every_slot(self):
        problem = self.problem(order("features.kernel.g", "<", "scaler.robust.q"))
        second = 0
        for c in self.samples(problem):
            slot = next((s for s in ("features", "features_2") if c[s].algorithm == "kernel"), None)
            if slot and c["scaler"].algorithm == "robust":
                second += slot == "features_2"
                assert c[slot].params["g"] < c["scaler"].params["q"]
        # kernel comes first in a union by name; so it is enough that it is somewhere.
        assert self.samples(problem)

    def test_an_empty_module_is_one_whose_first_slot_is(self):
        space = Space(
            [
                Module("f", [Algorithm("none"), Algorithm("a"), Algorithm("b")], most=2),
                Module("m", [Algorithm("x")]),
            ]
        )
        problem = Problem(space, lambda c: {"loss": 0.0}, allowed=forbid({"f": "none"}))
        left = {str(c) for c in space.configurations() if problem.allows(c)}
        assert left == {"a -> x", "b -> x", "a -> b -> x", "b -> a -> x"}

    def test_a_misspelt_algorithm_is_refused(self):
        with pytest.raises(DefinitionError, match="no algorithm 'polly'"):
            self.problem(forbid({"features": "polly"}))


def measure(configuration):
    """Best: best -> (kernel + poly) -> robust -> logit, all numbers at .3 of their range."""
    chosen = {configuration[slot].algorithm for slot in ("features", "features_2")}
    loss = 0.4 * (2 - len(chosen & {"kernel", "poly"}))
    text = str(configuration)
    loss += 0.5 * (not text.startswith("best")) + 0.3 * ("robust" not in text)
    loss += 0.2 * ("-> robust" in text and ") -> robust" not in text)
    loss += 0.2 * (configuration["model"].algorithm == "tree")
    return {"loss": loss}


class Rough:
    """The same with fewer rows, for solvers that take looks."""

    fidelities = (1 / 9, 1 / 3)

    def __call__(self, configuration, fidelity=1.0):
        return {"loss": measure(configuration)["loss"] + 0.1 * (1 - fidelity)}


class TestSearches:
    @pytest.mark.parametrize(
        "algorithm", [None, fl.ADMM(), fl.ADMM.paper(), fl.baselines.JointBO()]
    )
    def test_every_algorithm_searches_it_and_measures_no_pipeline_twice(self, algorithm):
        result = fl.minimize(Problem(SPACE, measure), evaluations=12, algorithm=algorithm)
        texts = [str(e.configuration) for e in result.evaluations]
        assert len(set(texts)) == len(texts)
        for e in result.evaluations:
            assert SPACE.decode(*SPACE.encode(e.configuration)) == e.configuration

    @pytest.mark.parametrize("name", fitting("z"))
    def test_every_solver_of_the_choices_searches_it(self, name):
        solver = getattr(solvers, name)()
        algorithm = fl.ADMM(theta=solvers.Random(), z=solver, precision=fl.Fixed(6))
        problem = Problem(SPACE, Rough())
        result = fl.minimize(problem, evaluations=10, algorithm=algorithm)
        texts = [str(e.configuration) for e in result.full]
        assert len(set(texts)) == len(texts)

    def test_the_default_finds_set_and_order(self):
        result = fl.minimize(Problem(SPACE, measure), evaluations=30)
        assert result.best.objective == 0.0

    def test_a_run_is_resumed_where_it_was(self, tmp_path):
        whole = fl.minimize(Problem(SPACE, measure), evaluations=9)
        fl.minimize(Problem(SPACE, measure), evaluations=6, run_dir=tmp_path)
        resumed = fl.minimize(Problem(SPACE, measure), evaluations=9, run_dir=tmp_path)
        assert [e.configuration for e in resumed.evaluations] == [
            e.configuration for e in whole.evaluations
        ]

    def test_a_finite_space_is_searched_to_its_end(self):
        space = Space(
            [Module(n, [Algorithm("none"), Algorithm(n + "1")]) for n in "abc"], reorder=("a", "b")
        )
        result = fl.minimize(Problem(space, lambda c: {"loss": len(str(c))}), evaluations=50)
        assert result.ended == "exhausted"
        assert len(result.evaluations) == space.size == 10
