"""Grammars: every derivation is a pipeline of the space, and no pipeline is there twice."""

from itertools import islice, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fenceline as fl
from fenceline import Algorithm, Grammar, Integer, Real
from fenceline.errors import SpaceError
from fenceline.pipelines import Setting, build
from fenceline.problem.template import flow

TPOT = """
    pipeline = scaler? -> step{0,2} -> model
    step     = select | (expand + expand) | stack
    stack    = Identity + expand
    scaler   = StandardScaler | MinMaxScaler | RobustScaler
    select   = SelectPercentile | VarianceThreshold
    expand   = PCA | Nystroem | PolynomialFeatures
    model    = learner | vote(learner, learner)
    learner  = LogisticRegression | DecisionTree | GaussianNB
"""
ALGORITHMS = [
    Algorithm("RobustScaler", {"q_min": Real(0.01, 0.3), "q_max": Real(0.7, 0.99)}),
    Algorithm("SelectPercentile", {"percentile": Integer(10, 90)}),
    Algorithm("Nystroem", {"n_components": Integer(2, 9)}),
    Algorithm("DecisionTree", {"max_depth": Integer(1, 6)}, start={"max_depth": 3}),
]


@st.composite
def expressions(draw, depth=2):
    """Parts of rules over three algorithms, ambiguous as they come."""
    if depth == 0:
        return draw(st.sampled_from(["a", "b", "c", "rule"]))
    kind = draw(st.sampled_from(["|", "->", "?", "{0,2}", "{1,2}", "+", "leaf"]))
    if kind == "leaf":
        return draw(expressions(depth=0))
    if kind in ("?", "{0,2}", "{1,2}"):
        return f"({draw(expressions(depth=depth - 1))}){kind}"
    parts = [draw(expressions(depth=depth - 1)) for _ in range(2)]
    return f"({f' {kind} '.join(parts)})"


@st.composite
def grammars(draw):
    text = f"all = {draw(expressions())} -> end\nrule = a | b | (b -> c)\nend = x | vote(x, y)"
    try:
        return Grammar(text)
    except SpaceError as refused:
        # The one thing that such rules can be refused for: a branch that may be a union itself.
        if "without its brackets" not in str(refused):
            raise
        return Grammar("all = (a | b){0,2} -> end\nend = x | vote(x, y)")


def label(configuration):
    """Return what is built, whatever it is called in the space."""

    def text(tree):
        if isinstance(tree, tuple):
            return str(tree[1])
        parts = [text(part) for part in tree.parts]
        return f"{tree.join}({', '.join(parts if tree.join == 'chain' else sorted(parts))})"

    return text(flow(configuration))


class TestEveryGrammar:
    @settings(max_examples=40, deadline=None)
    @given(grammars())
    def test_every_derivation_encodes_to_itself_and_none_is_there_twice(self, grammar):
        derived = list(islice(grammar.derivations(), 60))
        for configuration in derived:
            z, theta = grammar.space.encode(configuration)
            assert grammar.space.decode(z, theta) == configuration
            assert grammar.space.is_canonical(z)
        assert len(set(derived)) == len(derived)
        assert len({grammar.space.encode(c)[0] for c in derived}) == len(derived)

    @settings(max_examples=40, deadline=None)
    @given(grammars(), st.integers(0, 2**32))
    def test_every_encoding_means_a_pipeline_that_can_be_derived(self, grammar, seed):
        rng = np.random.default_rng(seed)
        drawn = {grammar.space.sample(rng) for _ in range(5)}
        texts = {}
        for configuration in drawn:
            z, theta = grammar.space.encode(configuration)
            assert grammar.space.decode(z, theta) == configuration
            assert texts.setdefault(label(configuration), configuration) == configuration


def test_ten_lines_describe_shapes_as_tpot_builds_them_and_all_of_them_build():
    assert len(TPOT.strip().splitlines()) <= 10
    grammar = Grammar(TPOT, ALGORITHMS)
    setting = Setting("binary", rows=100, columns=10)
    texts = set()
    for configuration in islice(grammar.derivations(), 400):
        build(configuration, setting)
        texts.add(label(configuration))
    assert len(texts) == 400


def test_a_union_and_a_vote_are_fitted():
    grammar = Grammar(TPOT, ALGORITHMS)
    configuration = grammar.space.configuration(
        {
            "shape": "scaler? -> (Identity + expand) -> vote(learner, learner_2)",
            "scaler": "StandardScaler",
            "Identity": "Identity",
            "expand": ("Nystroem", {"n_components": 4}),
            "learner": ("DecisionTree", {"max_depth": 2}),
            "learner_2": "LogisticRegression",
        }
    )
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    weights = np.ones(60)
    fitted = fl.pipelines.fit(configuration, X, y, Setting("binary", 60, 3), weights=weights)
    assert [name for name, _ in fitted.steps] == ["scaler", "Identity", "learner"]
    assert fitted[:-1].transform(X).shape == (60, 3 + 4)
    assert fitted.predict_proba(X).shape == (60, 2)


def test_the_cheapest_come_first_and_costs_can_be_told():
    grammar = Grammar("all = a? -> (b | c){0,2} -> d")
    lengths = [str(c).count("->") for c in grammar.derivations()]
    assert lengths == sorted(lengths)
    # a in or out; none, one or two of b and c, in order.
    assert len(lengths) == 2 * (1 + 2 + 4)
    dear = [str(c) for c in grammar.derivations({"b_or_c = b": 5.0, "b_or_c = c": 0.5})]
    assert dear[:2] == ["d", "c -> d"]
    assert dear.index("c -> c -> d") < dear.index("b -> d")


def test_what_is_joined_with_itself_is_itself_where_the_space_has_it_alone():
    one = Grammar("p = m | vote(m, m)\nm = a | b", [Algorithm("b", {"x": Integer(1, 2)})])
    assert [str(c) for c in one.derivations()] == ["a", "b(x=1)", "vote(a, b(x=1))"]
    two = {"shape": "vote(m, m_2)", "m": ("b", {"x": 1}), "m_2": ("b", {"x": 2})}
    assert str(one.space.configuration(two)) == "vote(b(x=1), b(x=2))"
    assert str(one.space.configuration(two | {"m_2": ("b", {"x": 1})})) == "b(x=1)"
    only = Grammar("p = a + a")
    assert [str(c) for c in only.derivations()] == ["(a + a)"]


def test_costs_are_those_of_their_rules():
    grammar = Grammar(TPOT, ALGORITHMS)
    costs = {"model = vote(learner, learner)": 3.0, "step = select": 0.25}
    known = grammar.costs | costs
    values = [
        sum(known[rule] for rule in grammar.rules_of(z))
        for z in islice(grammar.cheapest(costs), 200)
    ]
    assert all(a <= b + 1e-12 for a, b in pairwise(values))


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ("", "there is no rule"),
        ("a b c", "'name = ...'"),
        ("p = a ->", "at 'the end'"),
        ("p = (a | b", "at 'the end'"),
        ("p = a ; b", "at ';'"),
        ("p = a{2,1}", "from few to many"),
        ("p = a\np = b", "twice"),
        ("p = q -> a\nq = b | p", "leads to itself"),
        ("p = a? -> b?", "may be empty"),
        ("p = (a | none) -> b", "write '\\?'"),
        (
            "p = step{0,9} -> m\nstep = (a -> b) | (a + c) | (b + c) | (c -> a)",
            "more than 2,000 shapes",
        ),
        ("p = (a? -> (b + c)) + d", "without its brackets"),
        ("p = shape\nshape = a", "cannot be called 'shape'"),
    ],
)
def test_what_is_wrong_with_rules_is_said(rules, message):
    with pytest.raises(SpaceError, match=message):
        Grammar(rules)


def test_unknown_costs_and_algorithms_are_refused():
    with pytest.raises(SpaceError, match=r"no alternative 'all = z'"):
        next(Grammar("all = a | b").derivations({"all = z": 1.0}))
    with pytest.raises(SpaceError, match="not an Algorithm"):
        Grammar("all = a", ["a"])


def test_algorithms_are_taken_from_a_space():
    space = fl.pipelines.named_space("default")
    grammar = Grammar(
        "p = scaler? -> model\nscaler = RobustScaler\nmodel = MLP | DecisionTree", space
    )
    (model,) = (m for m in grammar.space.modules if m.name == "model")
    assert model is grammar.space.modules[-1]
    assert [len(a.params) for a in model.algorithms] == [5, 2]
    assert fl.Space.from_dict(grammar.space.to_dict()) == grammar.space
