import pytest

from fenceline.metrics import loss
from fenceline.problem.objective import named


@pytest.mark.parametrize(
    ("objective", "name", "larger", "value"),
    [
        ("loss(precision)", "precision", True, 0.872),
        ("loss(neg_mean_absolute_error)", "mean_absolute_error", False, 0.128),
        ("loss(mutual_info_score)", "mutual_info_score", True, -0.128),
        ("loss(selection_rate_ratio(sex))", "selection_rate_ratio(sex)", True, 0.872),
        ("latency_us", "latency_us", False, 0.128),
    ],
)
def test_an_objective_is_shown_as_the_score_that_was_named(objective, name, larger, value):
    score = named(objective)
    assert (score.name, score.larger_is_better) == (name, larger)
    assert score.value(0.128) == pytest.approx(value)


@pytest.mark.parametrize("scorer", ["roc_auc", "neg_log_loss", "positive_likelihood_ratio"])
def test_names_and_losses_agree_about_what_is_turned_round(scorer):
    made = loss(scorer)
    score = 0.4
    assert named(made.name).value(made.bounded - score) == pytest.approx(
        -score if scorer.startswith("neg_") else score
    )


def test_a_score_is_written_with_its_name():
    assert named("loss(precision)").written(0.1283) == "precision 0.8717"
