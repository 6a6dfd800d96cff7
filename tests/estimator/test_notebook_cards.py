import numpy as np
import pytest

import fenceline as fl
from fenceline import FencelineClassifier

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3))
Y = np.where(X[:, 0] + 0.5 * RNG.normal(size=200) > 0, "<b>yes", "no")


@pytest.fixture(scope="module")
def model():
    settings = {"space": "small", "evaluations": 3, "cv": 2, "on_infeasible": "warn"}
    return FencelineClassifier("roc_auc", ["size_mb <= 5"], **settings).fit(X, Y)


def test_the_card_of_a_model_shows_what_was_delivered(model):
    html = model._repr_html_()
    assert str(model.best_configuration_).replace(">", "&gt;") in html
    assert f"roc_auc {1 - model.best_metrics_['loss(roc_auc)']:.4g}" in html
    assert f"{model.certificate_.checks[0].value:.4g}" in html
    assert "Delivered: certified" in html
    assert "sk-top-container" in html, "scikit-learn's own diagram follows"
    assert model._repr_mimebundle_()["text/html"].startswith(html[:60])


def test_a_model_that_is_not_fitted_has_scikit_learns_diagram_alone():
    html = FencelineClassifier()._repr_html_()
    assert "Delivered" not in html
    assert "sk-top-container" in html


def test_a_certificate_shows_its_checks(model):
    html = model.certificate_._repr_html_()
    assert "✓ Certified" in html
    assert "size_mb &lt;= 5" in html
    assert f"at most {model.certificate_.checks[0].high:.4g}" in html


def test_the_card_of_a_search_points_to_the_model(model):
    assert "the model's own card" in model.result_._repr_html_().replace("&#39;", "'")


def test_results_and_configurations_print_in_a_line(model):
    configuration = model.best_configuration_
    assert repr(configuration) == f"<Configuration {configuration}>"
    assert repr(model.result_).startswith("<Result feasible: 3 evaluations in ")
    assert len(repr(model.result_)) < 400


def test_the_report_is_written_by_calling_its_room(model, tmp_path):
    path = fl.report(model, tmp_path / "report.html", title="A title")
    assert "A title" in path.read_text()
    assert fl.report.write_report is not None
