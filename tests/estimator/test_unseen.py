import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from fenceline import FencelineClassifier, metrics
from fenceline.errors import DefinitionError
from fenceline.problem.space import Algorithm, Module, Space

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 3))
Y = (X[:, 0] + 0.5 * rng.normal(size=300) > 0).astype(int)
GROUP = np.arange(300) % 2
SPACE = Space(
    [Module("scaler", [Algorithm("none")]), Module("estimator", [Algorithm("GaussianNB")])]
)
FENCE = [metrics.false_positive_rate() <= 0.6]


def classifier(**settings):
    return FencelineClassifier(
        "balanced_accuracy",
        **{"space": SPACE, "evaluations": 1, "cv": 2, "constraints": FENCE} | settings,
    )


def test_a_share_or_the_rows_themselves_are_kept_from_the_search():
    assert classifier(unseen=0.3).fit(X, Y).certificate_.rows == 90
    last = classifier(unseen=np.arange(200, 300)).fit(X, Y)
    assert (last.data_["search_rows"], last.data_["unseen_rows"]) == (200, 100)


def test_rows_that_are_named_are_counted_without_those_of_no_weight():
    weights = np.ones(300)
    weights[::10] = 0
    model = classifier(unseen=np.arange(200, 300)).fit(X, Y, sample_weight=weights)
    assert model.certificate_.rows == 90


@pytest.mark.parametrize("form", [np.asarray, pd.DataFrame, sparse.csr_matrix])
def test_a_second_table_certifies_and_the_search_has_all_of_the_first(form):
    model = classifier().fit(form(X[:200]), Y[:200], unseen=(form(X[200:]), Y[200:]))
    same = classifier(unseen=np.arange(200, 300)).fit(form(X), Y)
    assert model.data_["search_rows"] == 200
    assert model.certificate_.checks == same.certificate_.checks


def test_a_second_table_brings_its_groups_and_weights():
    fence = [metrics.demographic_parity_difference("g") <= 0.9]
    model = classifier(constraints=fence)
    groups = {"g": GROUP}
    second = (X[200:], Y[200:], {"g": GROUP[200:]}, np.ones(100))
    model.fit(X[:200], Y[:200], {"g": GROUP[:200]}, np.ones(200), unseen=second)
    assert model.certificate_.rows == 100
    with pytest.raises(DefinitionError, match=r"unseen=\(X, y, groups\)"):
        model.fit(X[:200], Y[:200], {"g": GROUP[:200]}, unseen=second[:2])
    with pytest.raises(DefinitionError, match="for both tables or for neither"):
        model.fit(X, Y, groups, unseen=second)


@pytest.mark.parametrize("unseen", [1.5, 0, "rows", [0.5, 0.6], [], [300], [-1], np.arange(300)])
def test_what_cannot_be_kept_is_refused(unseen):
    with pytest.raises(DefinitionError, match="unseen must"):
        classifier(unseen=unseen).fit(X, Y)


@pytest.mark.parametrize(
    ("second", "reason"),
    [
        (0.3, "must be a second table"),
        ((X,), "must be a second table"),
        ((X[:5], Y[:4]), "5 rows and 4 labels"),
        ((X[:5, :2], Y[:5]), "the same columns"),
        ((pd.DataFrame(X[:5]), Y[:5]), "both be DataFrames"),
    ],
)
def test_what_is_no_second_table_is_refused(second, reason):
    with pytest.raises(DefinitionError, match=reason):
        classifier().fit(X, Y, unseen=second)


def test_a_second_table_with_other_columns_is_refused_by_name():
    first = pd.DataFrame(X, columns=["a", "b", "c"])
    with pytest.raises(DefinitionError, match=r"differ in \['c', 'd'\]"):
        classifier().fit(first, Y, unseen=(first.rename(columns={"c": "d"}), Y))
