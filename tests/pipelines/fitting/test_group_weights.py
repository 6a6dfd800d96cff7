"""How much groups count in fitting: what is weighted, what is not, and what it is good for."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier

from fenceline import FencelineClassifier, metrics
from fenceline.errors import InfeasibleError, SpaceError
from fenceline.metrics import Table
from fenceline.pipelines import CrossValidation, build, with_emphasis
from fenceline.pipelines.fitting.group_weights import (
    MOST_GROUPS,
    compared,
    crossed,
    emphasised,
    split_emphasis,
)
from fenceline.pipelines.fitting.group_weights import searched as searched_space
from fenceline.pipelines.spaces.operators import Setting
from fenceline.problem.configuration import Choice
from fenceline.problem.parameter import Integer, Real
from fenceline.problem.space import Algorithm, Module, Space

GAP = metrics.score_gap("roc_auc", "g")
SPACE = Space(
    [
        Module("scaler", [Algorithm("none")]),
        Module(
            "estimator",
            [
                Algorithm("LogisticRegression", {"C": Real(0.1, 10, log=True)}),
                Algorithm("KNeighbors", {"n_neighbors": Integer(1, 9)}),
            ],
        ),
    ]
)


def two_ways(n=1200, share=0.25, seed=0):
    """Draw rows of two groups whose labels depend on different columns, one against the other's interest."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    group = (rng.random(n) < share).astype(int)
    signal = np.where(group, X[:, 1] - X[:, 0], X[:, 0] + 0.3 * X[:, 1])
    return X, (signal + 0.5 * rng.normal(size=n) > 0).astype(int), group


X, Y, GROUP = two_ways()


def measure(**more):
    given = {"cv": 2, "cache": 0.0} | more
    return CrossValidation(
        Table(X, Y, "binary", {"g": GROUP}, given.get("weights")),
        {GAP.name: GAP},
        folds=given["cv"],
        cache_megabytes=given["cache"],
    )


def chosen(model="LogisticRegression", weight=None, **more):
    params = {"C": 1.0} if model == "LogisticRegression" else {"n_neighbors": 5}
    emphasis = Choice("none") if weight is None else Choice("Emphasis", {"group_2": weight})
    return {
        "emphasis": emphasis,
        "scaler": Choice("none"),
        "estimator": Choice(model, params),
    } | more


def test_a_space_takes_the_weights_of_groups_once_and_begins_with_none():
    space = with_emphasis(SPACE, 3)
    assert [module.name for module in space.modules] == ["emphasis", "scaler", "estimator"]
    assert [(a.name, len(a.params)) for a in space.modules[0].algorithms] == [
        ("none", 0),
        ("Reweighing", 1),
        ("Emphasis", 2),
    ]
    numbers = with_emphasis(SPACE, 3, classes=False).modules[0]
    assert [a.name for a in numbers.algorithms] == ["none", "Emphasis"]
    assert space.decode(space.first, space.centre)["emphasis"] == Choice("none")
    with pytest.raises(SpaceError, match="already"):
        with_emphasis(space, 3)


def test_rows_count_by_their_group_and_as_much_as_before_on_the_whole():
    table = Table(X, Y, "binary", {"g": GROUP}, np.linspace(0.5, 1.5, len(Y)))
    rows = np.arange(0, 1200, 3)
    weights = emphasised(Choice("Emphasis", {"group_2": 1.2}), table, rows, [("g", ())])
    assert weights.sum() == pytest.approx(table.weights[rows].sum())
    ratio = weights / table.weights[rows]
    assert len(np.unique(ratio.round(9))) == 2
    assert ratio[GROUP[rows] == 1].mean() / ratio[GROUP[rows] == 0].mean() == pytest.approx(
        np.exp(1.2)
    )


@pytest.mark.parametrize("given", [None, np.linspace(0.5, 1.5, 1200)], ids=["even", "weighted"])
def test_reweighing_makes_class_and_group_independent(given):
    table = Table(X, Y, "binary", {"g": GROUP}, given)
    rows = np.arange(0, 1200, 2)
    groups, classes = GROUP[rows], Y[rows]
    before = np.ones(600) if given is None else given[rows]

    def share(weights, *claims):
        return weights[np.logical_and.reduce(claims)].sum() / weights.sum()

    full = emphasised(Choice("Reweighing", {"strength": 1.0}), table, rows, [("g", ())])
    half = emphasised(Choice("Reweighing", {"strength": 0.5}), table, rows, [("g", ())])
    none = emphasised(Choice("Reweighing", {"strength": 0.0}), table, rows, [("g", ())])
    np.testing.assert_allclose(none, before)
    assert full.sum() == pytest.approx(before.sum())
    for g in (0, 1):
        for c in (0, 1):
            alone = share(full, groups == g), share(full, classes == c)
            assert share(full, groups == g, classes == c) == pytest.approx(alone[0] * alone[1])
            # By hand, as in the paper.
            cell = (groups == g) & (classes == c)
            factor = share(before, groups == g) * share(before, classes == c) / share(before, cell)
            np.testing.assert_allclose((full / before)[cell], factor)
            ratio = (half / before)[cell] / (half / before)[(groups == 0) & (classes == 0)][0]
            first = (full / before)[(groups == 0) & (classes == 0)][0]
            np.testing.assert_allclose(ratio, np.sqrt(factor / first))


def test_several_columns_are_crossed_where_each_cell_is_large_enough():
    rng = np.random.default_rng(0)
    other = np.where(rng.random(1200) < 0.5, "x", "y")
    rare = np.where(np.arange(1200) < 40, "few", "many")
    table = Table(X, Y, "binary", {"g": GROUP, "other": other, "rare": rare})
    parity = {name: metrics.demographic_parity_difference(name) for name in ("other", "rare")}
    assert compared(table, [GAP]) == (("g", ()),)
    assert compared(table, [metrics.false_positive_rate()]) == ()
    both = compared(table, [GAP, parity["other"], metrics.equalized_odds_difference("g")])
    assert both == (("g", ()), ("other", ()))
    labels, codes = crossed(table, both)
    assert labels == ["0, x", "0, y", "1, x", "1, y"]
    assert codes.tolist() == (2 * GROUP + (other == "y")).tolist()
    assert compared(table, [GAP, parity["rare"], parity["other"]]) == both
    assert compared(table, [parity["rare"], GAP]) == (("rare", ()),)


def test_numbers_are_not_reweighed_by_class():
    table = Table(X, X[:, 0] + Y, "regression", {"g": GROUP})
    space = searched_space(SPACE, table, (("g", ()),), wanted=True)
    assert [a.name for a in space.modules[0].algorithms] == ["none", "Emphasis"]
    many = Table(X, X[:, 0], "regression", {"g": np.arange(1200) % (MOST_GROUPS + 1)})
    assert searched_space(SPACE, many, (("g", ()),), wanted=True) == SPACE


def test_reweighing_keeps_a_fence_around_selections_at_a_lower_price():
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, 3000)
    skill = rng.normal(size=3000)
    y = (skill + 1.2 * group + rng.normal(size=3000) > 0.8).astype(int)
    table = Table(np.column_stack([skill, group]), y, "binary", {"g": group})
    loss, gap = metrics.loss("balanced_accuracy"), metrics.demographic_parity_difference("g")
    measure = CrossValidation(
        table, {m.name: m for m in (gap, loss)}, [gap <= 0.1], objective=loss.name
    )
    even, fair = (
        measure(chosen() | {"emphasis": lever})
        for lever in (Choice("none"), Choice("Reweighing", {"strength": 1.0}))
    )
    assert even[gap.name] <= 0.1
    assert fair[gap.name] <= 0.1
    assert fair[loss.name] < even[loss.name] - 0.05


def test_the_model_is_fitted_with_them():
    train, valid = measure().splits[0]
    found = measure().trial(chosen(weight=2.0), train, valid).pipeline[-1]
    weights = np.where(GROUP[train], np.exp(2.0), 1.0)
    alone = LogisticRegression(C=1.0, max_iter=found.max_iter, solver=found.solver)
    alone.fit(X[train], Y[train], sample_weight=weights / weights.mean())
    np.testing.assert_allclose(found.coef_, alone.coef_, rtol=1e-6)
    even = measure().trial(chosen(), train, valid).pipeline[-1]
    assert not np.allclose(found.coef_, even.coef_, rtol=0.1)


def test_a_model_that_takes_no_weights_is_fitted_evenly():
    train, valid = measure().splits[0]
    found = measure().trial(chosen("KNeighbors", 2.0), train, valid).pipeline
    even = measure().trial(chosen("KNeighbors"), train, valid).pipeline
    assert isinstance(found[-1], KNeighborsClassifier)
    np.testing.assert_array_equal(found.predict_proba(X[valid]), even.predict_proba(X[valid]))


def test_what_is_shared_between_pipelines_does_not_depend_on_them():
    sharing = measure(cache=50.0)
    threshold = Choice("Threshold", {"log_odds": 0.3})
    for weight in (None, -1.0, 1.0, -1.0):
        for more in ({}, {"threshold": threshold}):
            configuration = chosen(weight=weight, **more)
            assert sharing(configuration) == measure()(configuration)
    # For each fold the prepared rows, and a model for each of three emphases under a threshold.
    assert len(sharing.prefixes) == 2 * (1 + 3)


def test_an_unfitted_pipeline_has_no_such_step():
    pipeline = build(chosen(weight=1.0), Setting("binary", *X.shape))
    assert [name for name, _ in pipeline.steps] == ["scaler", "estimator"]
    assert split_emphasis(chosen(weight=1.0))[1] == Choice("Emphasis", {"group_2": 1.0})
    assert split_emphasis(chosen())[1] is None


def searched(constraints=(GAP <= 0.1,), **more):
    settings = {"evaluations": 16, "cv": 2, "space": SPACE} | more
    return FencelineClassifier("roc_auc", constraints, on_infeasible="warn", **settings)


def test_it_is_searched_where_groups_are_compared():
    def modules(model, **given):
        with np.errstate(all="ignore"):
            model.set_params(evaluations=1).fit(X, Y, **given)
        return [module.name for module in model.result_.problem.space.modules]

    groups = {"g": GROUP}
    assert modules(searched([GAP <= 0.9]), groups=groups)[0] == "emphasis"
    assert "emphasis" not in modules(searched([GAP <= 0.9], search_emphasis=False), groups=groups)
    assert "emphasis" not in modules(searched(["size_mb <= 1"]))
    own = with_emphasis(SPACE, 2, -1.0, 1.0)
    assert modules(searched([GAP <= 0.9], space=own), groups=groups).count("emphasis") == 1
    many = {"g": np.arange(len(Y)) % (MOST_GROUPS + 1)}
    crowded = searched([GAP <= 0.9])
    assert modules(crowded, groups=many)[0] == "emphasis"
    algorithms = crowded.result_.problem.space.modules[0].algorithms
    assert [a.name for a in algorithms] == ["none", "Reweighing"]


@pytest.mark.parametrize(
    ("space", "constraint", "words"),
    [
        (with_emphasis(SPACE, 2), "size_mb <= 1", "nothing compares groups"),
        (with_emphasis(SPACE, 3), GAP <= 0.9, r"does not suit 2 groups.*with_emphasis\(space, 2\)"),
        (
            Space([Module("emphasis", [Algorithm("StandardScaler")]), *SPACE.modules]),
            GAP <= 0.9,
            "does not suit 2 groups",
        ),
    ],
    ids=["no groups", "too many", "something else"],
)
def test_weights_of_groups_that_are_not_there_are_refused_at_the_door(space, constraint, words):
    with pytest.raises(SpaceError, match=words):
        searched([constraint], space=space).fit(X, Y, groups={"g": GROUP})


def test_a_fence_that_no_algorithm_keeps_is_kept_by_looking_more_at_one_group():
    linear = Space([Module("estimator", SPACE.modules[-1].algorithms[:1])])
    fence = [GAP <= 0.1]
    settings = {"space": linear, "evaluations": 16, "cv": 2}
    even = FencelineClassifier("roc_auc", fence, search_emphasis=False, **settings)
    with pytest.raises(InfeasibleError):
        even.fit(X, Y, groups={"g": GROUP})
    assert even.result_.best is None
    model = FencelineClassifier("roc_auc", fence, on_infeasible="warn", **settings)
    model.fit(X, Y, groups={"g": GROUP})
    assert model.result_.best is not None
    # By the name of the group, not by its number.
    assert model.best_configuration_["emphasis"].params[str(np.unique(GROUP)[1])] > 0.5
    again = two_ways(seed=1)
    scores = model.predict_proba(again[0])[:, 1]
    parts = [roc_auc_score(again[1][again[2] == g], scores[again[2] == g]) for g in (0, 1)]
    assert abs(parts[0] - parts[1]) < 0.15
