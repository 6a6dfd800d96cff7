import numpy as np
import pandas as pd
import pytest

import fenceline as fl
from fenceline.errors import SpaceError
from fenceline.estimator.fence import objective_metric
from fenceline.estimator.learning_task import search_space
from fenceline.metrics.trial import Table
from fenceline.pipelines import CrossValidation, Setting, build, fit, named_space, preparation
from fenceline.pipelines.fitting.encoders import (
    ENCODERS,
    encoding,
    searches_encoder,
    split_encoder,
    with_encoder,
)
from fenceline.pipelines.fitting.group_weights import with_emphasis
from fenceline.problem.configuration import Choice

RNG = np.random.default_rng(0)
TOWN = RNG.choice(list("abcdefgh"), 200)
X = pd.DataFrame({"town": TOWN, "amount": RNG.normal(size=200)})
# The towns in no order: a tree of codes needs many cuts, a set of categories one.
Y = np.isin(TOWN, list("aceg")).astype(int)
SETTING = Setting("binary", 200, 2)
NONE = Choice("none")
BOOSTING = Choice(
    "HistGradientBoosting", {"max_iter": 2, "max_leaf_nodes": 2, "min_samples_leaf": 5}
)


def pipeline(encoder, scaler="none"):
    steps = {"encoder": Choice(encoder), "scaler": Choice(scaler), "estimator": BOOSTING}
    return fit(steps, X, Y, SETTING, preparation(X))


def test_the_default_space_searches_the_encoder_where_a_table_has_categories():
    space = search_space("default", "binary", weighted=False, categories=True)
    assert space.modules[0].name == "encoder"
    assert [a.name for a in space.modules[0].algorithms] == list(ENCODERS)
    without = search_space("default", "binary", weighted=False, categories=False)
    assert without.to_dict() == named_space("default").to_dict()


def test_a_space_of_another_name_or_of_the_users_own_is_left_as_it_is():
    for given in ("small", named_space("default")):
        space = search_space(given, "binary", weighted=False, categories=True)
        assert not searches_encoder(space)


def test_a_user_may_search_encoders_too():
    given = with_encoder(named_space("small"))
    assert search_space(given, "binary", weighted=False, categories=True) == given
    with pytest.raises(SpaceError, match="already"):
        with_encoder(given)


def test_a_module_of_that_name_with_other_algorithms_holds_steps():
    own = fl.Module("encoder", [fl.Algorithm("none"), fl.Algorithm("MinMaxScaler")])
    space = fl.Space([own, *named_space("small").modules])
    assert not searches_encoder(space)
    steps = {"encoder": NONE, "estimator": BOOSTING}
    assert split_encoder(steps) == (steps, "onehot")


def test_weights_of_groups_come_before_the_encoder():
    space = with_emphasis(with_encoder(named_space("default")), 2)
    assert [module.name for module in space.modules][:2] == ["emphasis", "encoder"]


@pytest.mark.parametrize("encoder", ENCODERS)
def test_a_configuration_is_split_into_steps_and_encoder(encoder):
    steps = {"encoder": Choice(encoder), "scaler": NONE}
    assert split_encoder(steps) == ({"scaler": NONE}, encoder)


def test_without_a_choice_categories_are_one_hot_encoded():
    fitted = fit({"scaler": NONE, "estimator": BOOSTING}, X, Y, SETTING, preparation(X))
    assert fitted["prepare"].encoder == "onehot"
    assert split_encoder({"scaler": NONE}) == ({"scaler": NONE}, "onehot")


@pytest.mark.parametrize(("encoder", "columns"), [("onehot", 9), ("ordinal", 2), ("target", 2)])
def test_the_encoder_chosen_is_in_the_pipeline(encoder, columns):
    fitted = pipeline(encoder)
    assert [name for name, _ in fitted.steps] == ["prepare", "scaler", "estimator"]
    assert fitted["estimator"].n_features_in_ == columns
    steps = {"encoder": Choice(encoder), "estimator": BOOSTING}
    assert build(steps, SETTING, preparation(X))["prepare"].encoder == encoder


def test_boosting_takes_codes_as_categories():
    fitted = pipeline("ordinal")
    assert fitted["estimator"].categorical_features == [1]
    # One cut finds the set of towns.
    assert (fitted.predict(X) == Y).all()


def test_codes_that_a_step_has_changed_are_numbers():
    assert pipeline("ordinal", "StandardScaler")["estimator"].categorical_features is None
    assert pipeline("onehot")["estimator"].categorical_features is None


def test_texts_not_seen_before_are_predicted_by_boosting_on_codes():
    new = pd.DataFrame({"town": ["z", None], "amount": [0.0, np.nan]})
    assert np.isfinite(pipeline("ordinal").predict_proba(new)).all()


def test_a_preparation_without_encoder_is_copied_as_it_is():
    numbers = preparation(X[["amount"]])
    copied = encoding(numbers, "target", "binary")
    assert type(copied) is type(numbers)
    assert copied is not numbers
    assert encoding(None, "target", "binary") is None


def test_means_of_the_target_know_a_number_from_a_class():
    assert encoding(preparation(X), "target", "regression").regression
    assert not encoding(preparation(X), "target", "multiclass").regression


def test_pipelines_that_differ_in_the_encoder_alone_are_measured_apart():
    metric = objective_metric("roc_auc", "binary")
    measure = CrossValidation(Table(X, Y, "binary"), {metric.name: metric}, (), preparation(X), 2)
    found = {}
    for encoder in ENCODERS:
        choices = {"encoder": Choice(encoder), "scaler": NONE, "transformer": NONE}
        found[encoder] = measure(choices | {"estimator": Choice("GaussianNB")})[metric.name]
    assert found["onehot"] == found["target"] == 0
    assert found["ordinal"] > 0.3


def test_an_estimator_chooses_an_encoder_and_predicts():
    model = fl.FencelineClassifier(evaluations=8).fit(X, Y)
    assert "encoder" in model.best_configuration_
    assert model.best_pipeline_["prepare"].encoder == model.best_configuration_["encoder"].algorithm
    assert model.score(X, Y) > 0.9
    numbers = fl.FencelineClassifier(evaluations=2).fit(X[["amount"]], Y)
    assert "encoder" not in numbers.best_configuration_
