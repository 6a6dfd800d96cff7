"""From a configuration with a shape to scikit-learn's steps."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import VotingClassifier, VotingRegressor
from sklearn.pipeline import FeatureUnion

from fenceline import Algorithm, Grammar, Integer, Module, Space
from fenceline.pipelines import Setting, build, drop, fit, only, with_threshold
from fenceline.pipelines.fitting.arrange import algorithms, predictor, text
from fenceline.pipelines.fitting.weights import takes_weights

X, Y = load_iris(return_X_y=True)
SETTING = Setting("multiclass", *X.shape)
SPACE = Space(
    [
        Module("scaler", [Algorithm("none"), Algorithm("StandardScaler")]),
        Module(
            "features",
            [
                Algorithm("Identity"),
                Algorithm("Nystroem", {"n_components": Integer(2, 9)}),
                Algorithm("PolynomialFeatures"),
            ],
            most=2,
            join="union",
        ),
        Module(
            "selector",
            [Algorithm("none"), Algorithm("SelectPercentile", {"percentile": Integer(10, 90)})],
        ),
        Module("model", [Algorithm("LogisticRegression"), Algorithm("GaussianNB")]),
    ],
    reorder=("scaler", "features", "selector"),
)
BOTH = SPACE.configuration(
    {
        "shape": "selector? -> (features + features_2?) -> scaler? -> model",
        "scaler": "StandardScaler",
        "features": "Identity",
        "features_2": ("Nystroem", {"n_components": 5}),
        "selector": ("SelectPercentile", {"percentile": 75}),
        "model": "LogisticRegression",
    }
)


def test_steps_stand_in_the_order_of_the_shape():
    fitted = fit(BOTH, X, Y, SETTING)
    assert [name for name, _ in fitted.steps] == ["selector", "features", "scaler", "model"]
    assert isinstance(fitted["features"], FeatureUnion)
    assert fitted[:-1].transform(X).shape[1] == 3 + 5


def test_built_whole_and_fitted_step_by_step_are_the_same():
    # Three of four columns are left where both make the kernel, so widths agree as well.
    whole = build(BOTH, SETTING).fit(X, Y)
    steps = fit(BOTH, X, Y, SETTING)
    np.testing.assert_array_equal(whole.predict_proba(X), steps.predict_proba(X))


def test_rows_count_in_every_branch_and_voter_that_can_tell():
    grammar = Grammar(
        "p = (StandardScaler + PCA) -> vote(a, b)\na = LogisticRegression\nb = GaussianNB"
    )
    configuration = next(grammar.derivations())
    weights = np.where(Y == 0, 10.0, 0.1)
    plain, weighted = (fit(configuration, X, Y, SETTING, weights=w) for w in (None, weights))
    assert not np.allclose(
        plain[0].transformer_list[0][1].mean_, weighted[0].transformer_list[0][1].mean_
    )
    assert not np.allclose(plain.predict_proba(X), weighted.predict_proba(X))


@pytest.mark.parametrize(
    ("task", "voters", "kind", "voting"),
    [
        ("multiclass", "LogisticRegression, GaussianNB", VotingClassifier, "soft"),
        ("multiclass", "LogisticRegression, sklearn.svm.LinearSVC", VotingClassifier, "hard"),
        ("regression", "Ridge, DecisionTree", VotingRegressor, None),
    ],
)
def test_a_vote_is_soft_where_all_have_probabilities(task, voters, kind, voting):
    algorithm, second = voters.split(", ")
    grammar = Grammar(f"p = StandardScaler? -> vote(a, b)\na = {algorithm}\nb = {second}")
    setting = Setting(task, *X.shape)
    model = build(next(grammar.derivations()), setting)[-1]
    assert isinstance(model, kind)
    assert getattr(model, "voting", None) == voting
    assert takes_weights(model)
    fitted = fit(next(grammar.derivations()), X, Y, setting, weights=np.ones(len(Y)))
    assert fitted.predict(X).shape == Y.shape


def test_a_branch_may_be_a_chain():
    grammar = Grammar("p = ((StandardScaler -> PCA) + Identity) -> LogisticRegression")
    (configuration,) = grammar.derivations()
    assert str(configuration) == "(StandardScaler -> PCA + Identity) -> LogisticRegression"
    assert fit(configuration, X, Y, SETTING)[0].transform(X).shape == (150, 8)


def test_what_predicts_is_the_last_step():
    grammar = Grammar("p = a? -> (x | vote(x, y))")
    configurations = {str(c): c for c in grammar.derivations()}
    assert list(algorithms(predictor(configurations["a -> vote(x, y)"]))) == ["x", "y"]
    assert text(predictor(configurations["a -> x"])) != text(
        predictor(configurations["vote(x, y)"])
    )


def test_edits_change_every_slot_of_a_module():
    space = drop(SPACE, "features", "Identity")
    for slot in ("features", "features_2"):
        (module,) = (m for m in space.modules if m.name == slot)
        assert "Identity" not in [a.name for a in module.algorithms]
    assert space.size == 2 * 3 * (1 + 4 + 6)
    assert drop(SPACE, "selector").size == 2 * 6 * (1 + 2)
    assert only(SPACE, "features", "Identity").size == 2 * 1 * (1 + 4 + 6)


def test_a_threshold_comes_after_the_shape():
    space = with_threshold(only(SPACE, "model", "LogisticRegression"))
    configuration = space.sample(np.random.default_rng(0))
    fitted = fit(configuration, X[:100], Y[:100], Setting("binary", 100, 4, positive=1))
    assert fitted.steps[-1][0] == "model"
    assert fitted[-1].threshold != 0.5
