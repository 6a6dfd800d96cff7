import json
import re
from dataclasses import replace
from importlib.resources import files
from types import SimpleNamespace

import numpy as np
import pytest
from searches import (
    EVIL,
    SPACE,
    curved,
    evaluation,
    evil,
    failure,
    fitted,
    inspection,
    problem,
    regression,
    search,
)
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import StandardScaler

import fenceline as fl
from fenceline import FencelineClassifier, metrics
from fenceline.certificate.certify import Certificate, Check
from fenceline.certificate.refits import Finalist
from fenceline.errors import DefinitionError, StoreError
from fenceline.report import write_report
from fenceline.report.columns import columns
from fenceline.report.diagram import diagram
from fenceline.report.front import front
from fenceline.report.subject import Subject
from fenceline.report.verdict import gauge, number

KNN = SPACE.configuration({"scaler": "none", "model": ("knn", {"k": 3, "p": "two"})})
ROBUST = SPACE.configuration(
    {"scaler": ("robust", {"q": 0.25}), "model": ("knn", {"k": 4, "p": "one"})}
)


def page(tmp_path, subject, **options):
    return write_report(subject, tmp_path / "report.html", **options).read_text("utf-8")


def embedded(text):
    return json.loads(re.search(r'id="columns">(.*?)</script>', text, re.DOTALL)[1])


def result(*evaluations, about=None, **options):
    return fl.Result(about or problem(), evaluations, "evaluations", 1.0, **options)


def model(result, certificate=None, configuration=KNN, data=None, inspection=None, finalists=()):
    """Return what a report reads of a fitted estimator."""
    return SimpleNamespace(
        inspection_=inspection,
        finalists_=finalists,
        result_=result,
        certificate_=certificate,
        best_pipeline_=None,
        best_configuration_=configuration,
        best_metrics_={"loss": 0.31, "latency_us": 7.0, "auc": 0.8},
        data_=data,
        get_params=lambda deep: {"cv": 3, "confidence": 0.9},
        fit=None,
    )


def certificate(*values, rows=200, reason=""):
    bounds = problem().constraints
    checks = [Check(c, *value) for c, value in zip(bounds, values, strict=True)]
    return Certificate(tuple(checks), 0.9, rows, 3, reason)


FOUND = result(evaluation(problem(), KNN, loss=0.3), evaluation(problem(), ROBUST, loss=0.4))


def title(text):
    return re.search(r"<title>(.*?)</title>", text)[1]


def test_the_report_is_written_where_it_was_asked_for(tmp_path):
    path = write_report(FOUND, str(tmp_path / "r.html"))
    assert path == tmp_path / "r.html"
    assert path.read_text("utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (42, "Got int"),
        (FencelineClassifier(), "Got FencelineClassifier, which is not fitted; call fit first"),
    ],
)
def test_a_report_of_something_else_is_refused(tmp_path, given, message):
    with pytest.raises(DefinitionError, match=message):
        write_report(given, tmp_path / "r.html")


def test_a_title_that_is_no_text_is_refused(tmp_path):
    with pytest.raises(DefinitionError, match=r"must be a text\. Got 3"):
        write_report(FOUND, tmp_path / "r.html", title=3)


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(StoreError, match="No such file"):
        write_report(FOUND, tmp_path / "nowhere" / "r.html")


def test_nothing_is_loaded_from_anywhere(tmp_path):
    text = page(tmp_path, search(50))
    assert not re.findall(r'(?:src|href)\s*=\s*"(?!#)', text)
    assert "@import" not in text
    assert "url(" not in text


def test_a_feasible_search_claims_no_certificate(tmp_path):
    text = page(tmp_path, FOUND)
    assert "Feasible, not certified" in text
    assert "nothing is certified" in text


def test_a_certified_model_says_so_with_rows_and_confidence(tmp_path):
    proof = certificate((8.0, -np.inf, 9.0, "certified"), (0.8, 0.7, np.inf, "certified"))
    text = page(tmp_path, model(FOUND, proof))
    assert title(text) == "Fenceline report: certified"
    assert (
        "on 200 rows the search never saw, even at the edge of the error, with 90% confid" in text
    )
    assert "at most 9<" in text
    assert "at least 0.7<" in text


def test_an_uncertain_constraint_is_named_in_the_verdict(tmp_path):
    proof = certificate((8.0, -np.inf, 11.0, "feasible"), (0.8, 0.7, np.inf, "certified"))
    text = page(tmp_path, model(FOUND, proof))
    sentence = re.search(r'class="lead">(.*?)</p>', text)[1].replace("\N{NO-BREAK SPACE}", " ")
    assert sentence.endswith("reaches beyond the bound of: latency_us &lt;= 10.")


def test_a_model_without_unseen_rows_says_why(tmp_path):
    values = ((7.0, -np.inf, np.inf, "feasible"), (0.8, -np.inf, np.inf, "feasible"))
    text = page(tmp_path, model(FOUND, certificate(*values, rows=0, reason="too few rows")))
    assert "nothing is certified: too few rows." in text


def test_an_infeasible_search_shows_the_nearest_miss_and_what_to_loosen(tmp_path):
    text = page(tmp_path, result(evaluation(problem(), KNN, latency_us=12.0)))
    assert title(text) == "Fenceline report: infeasible"
    assert "The nearest miss" in text
    assert "loosen latency_us from 10 to 12" in text
    assert "What moving the fence would admit" in text
    assert 'id="leaderboard"' not in text


def test_a_search_where_everything_failed_still_has_a_report(tmp_path):
    text = page(
        tmp_path, result(failure(KNN), failure(ROBUST), failure(KNN, "timed out", "timeout"))
    )
    assert "All 3 pipelines failed" in text
    assert re.search(r'class="n">2</td><td>error</td>.*singular matrix', text)
    assert 'id="trade-offs"' not in text


def test_a_search_that_measured_nothing_still_has_a_report(tmp_path):
    assert "No pipeline was measured" in page(tmp_path, result())


def test_a_search_without_constraints_has_no_fence(tmp_path):
    about = problem(constraints=())
    text = page(tmp_path, result(evaluation(about, KNN), about=about))
    assert "no constraint was stated" in text
    assert 'id="constraints"' not in text


def test_the_model_is_shown_rather_than_the_best_of_the_search(tmp_path):
    data = embedded(page(tmp_path, model(FOUND, configuration=ROBUST)))
    assert data["presented"] == [1]


def test_pipelines_that_vote_are_all_shown(tmp_path):
    text = page(tmp_path, model(FOUND, configuration=(KNN, ROBUST, KNN)))
    assert "2 pipelines that vote" in text
    assert "2 votes" in text
    assert embedded(text)["presented"] == [0, 1]


def test_prices_and_multipliers_come_from_the_iterations(tmp_path):
    text = page(tmp_path, search(40))
    assert '<td data-label="Price" class="n">0.25</td>' in text
    assert embedded(text)["iterations"]["multipliers"][0] == [0.0, 0.1, 0.2, 0.3]
    assert 'id="multipliers"' not in page(tmp_path, FOUND)


def test_multipliers_are_named_for_what_searched_and_none_are_said_in_a_sentence(tmp_path):
    found = search(40)
    assert "What ADMM held after each of its 4 iterations" in page(tmp_path, found)
    free = [replace(i, rho=0.0) for i in found.iterations]  # a search without penalty
    text = page(tmp_path, replace(found, iterations=tuple(free)))
    assert "ADMM" not in text
    assert "At the best pipeline after each of 4 iterations" in text
    still = [replace(i, mu=0 * i.mu, primal_residual=0.0) for i in free]
    text = page(tmp_path, replace(found, iterations=tuple(still)))
    assert "No constraint pressed after any of the 4 iterations" in text
    assert 'data-chart="multipliers"' not in text


def test_every_user_text_is_escaped(tmp_path):
    bad = evil()
    text = page(tmp_path, bad, title=EVIL)
    # The only script elements are the page's own, no image is one, and nothing opens a comment.
    assert text.count("<script") == text.count("</script>") == 2
    assert "<img" not in text
    assert "<!--" not in text
    assert embedded(text)["objective"] == EVIL
    for live in ("<script", "<img"):
        assert live not in bad._repr_html_()


def test_a_diagram_has_nothing_active_left():
    drawn = diagram(ColumnTransformer([("n", StandardScaler(), [EVIL])]))
    assert "StandardScaler" in drawn
    assert "&lt;script&gt;window.pwned" in drawn
    for active in ("<script", "onclick", "href=", "src="):
        assert active not in drawn


def test_groups_and_data_are_shown_where_they_are_known(tmp_path):
    data = {
        "task": "binary",
        "search_rows": 800,
        "unseen_rows": 200,
        "columns": [{"name": EVIL, "kind": "float64", "missing": 3}],
        "target": {"good": 700.0, "bad": 300.0},
        "groups": {"gap": [{"label": "< 30", "rows": 55, "compared": {"roc_auc": 0.7125}}]},
    }
    text = page(tmp_path, model(FOUND, data=data))
    assert 'id="groups"' in text
    assert "&lt; 30" in text
    assert "0.7125" in text
    assert "good: 700; bad: 300" in text
    assert 'id="groups"' not in page(tmp_path, FOUND)


def test_columns_write_every_value_once_and_in_order():
    data = columns(Subject.of(FOUND))
    scaler, kind = data["modules"]
    assert scaler["codes"] == [0, 1]
    assert scaler["algorithms"][1] == {"name": "robust", "params": {"q": [0.25]}}
    assert kind["algorithms"][0]["params"] == {
        "k": [3, 4],
        "p": {"levels": ["two", "one"], "codes": [0, 1]},
    }
    assert data["detailed"] is None


def test_a_page_without_room_leaves_out_the_worst_pipelines_details(monkeypatch):
    monkeypatch.setattr("fenceline.report.columns.MOST_VALUES", 3)
    data = columns(Subject.of(FOUND))
    assert data["detailed"] == [1, 0]
    assert data["modules"][1]["algorithms"][0]["params"]["k"] == [3]


def test_very_many_iterations_are_thinned_out_and_keep_the_last(monkeypatch):
    monkeypatch.setattr("fenceline.report.columns.MOST_ITERATIONS", 4)
    found = columns(Subject.of(search(100)))["iterations"]
    assert found["evaluations"] == [5, 35, 65, 95]


def test_the_front_asks_every_other_constraint_and_not_its_own():
    about = problem()
    fast = evaluation(about, KNN, loss=0.5, latency_us=2.0)
    worse = evaluation(about, KNN, loss=0.6, latency_us=3.0)
    unfair = evaluation(about, KNN, loss=0.1, latency_us=4.0, auc=0.5)
    slow = evaluation(about, KNN, loss=0.2, latency_us=50.0)
    evaluations = [slow, unfair, worse, fast, failure(KNN)]
    assert front(evaluations, about, about.constraints[0]) == [3, 0]


def test_a_value_asked_for_exactly_has_no_front():
    about = problem(constraints=["auc == 0.8 +- 0.1"])
    assert front([evaluation(about, KNN, auc=0.8)], about, about.constraints[0]) == []


@pytest.mark.parametrize(("text", "left"), [("latency_us <= 10", True), ("auc >= 0.6", False)])
def test_a_gauge_shows_value_edge_and_bound(text, left):
    (c,) = problem(constraints=[text]).constraints
    g = gauge(c, c.bound * 0.8, c.bound * 1.2)
    assert 0 <= g.value < g.bound < g.edge <= 100
    assert g.inside_left is left


@pytest.mark.parametrize(
    ("value", "written"),
    [(0.123456, "0.1235"), (12345.6, "12,346"), (3.0, "3"), (None, "–"), (np.inf, "–"), (0.0, "0")],
)
def test_numbers_are_written_for_people(value, written):
    assert number(value) == written


def test_fewer_digits_do_not_make_a_power_of_ten():
    assert number(3567.8, 3) == "3568"
    assert number(-184.2, 2) == "-184"
    assert number(35.678, 3) == "35.7"


def test_a_fitted_classifier_has_a_report(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 3))
    y = (X[:, 0] + 0.3 * rng.normal(size=240) > 0).astype(int)
    chosen = FencelineClassifier(
        constraints=[metrics.size_mb() <= 50],
        space="small",
        evaluations=3,
        on_infeasible="warn",
    ).fit(X, y)
    text = page(tmp_path, chosen)
    assert "size_mb" in text
    assert 'sandbox="allow-same-origin"' in text
    assert chosen.certificate_.status in title(text)


def test_looks_are_counted_as_such_and_are_neither_drawn_nor_failures(tmp_path):
    full = evaluation(problem(), KNN, loss=0.3)
    looks = (
        replace(evaluation(problem(), ROBUST, loss=0.1), fidelity=0.25),
        replace(failure(ROBUST), fidelity=0.25),
    )
    text = page(tmp_path, result(*looks, full))
    assert "<dt>evaluations</dt><dd>1</dd>" in text
    assert "<dt>looks at fewer rows</dt><dd>2</dd>" in text
    assert embedded(text)["values"] == [0.3]
    assert "singular matrix" not in text
    assert ">Looks</th>" in text
    assert ">Looks</th>" not in page(tmp_path, result(full))


PRECISION = problem(objective="loss(precision)")


def precise(*losses):
    """Return a search for precision."""
    found = [evaluation(PRECISION, KNN, **{"loss(precision)": loss}) for loss in losses]
    return result(*found, about=PRECISION)


def test_scores_are_shown_by_their_own_name_and_direction(tmp_path):
    text = page(tmp_path, precise(0.1283, 0.25))
    assert "<dt>precision in the search</dt><dd>0.8717</dd>" in text
    assert "precision, as high as possible" in text
    assert "loss(precision)" not in text.replace("loss(<wbr>precision)", "loss(precision)")
    data = embedded(text)
    assert (data["objective"], data["larger"], data["values"]) == (
        "precision",
        True,
        [0.8717, 0.75],
    )
    assert 'aria-sort="descending"' in text


def test_the_headline_is_the_score_on_unseen_rows(tmp_path):
    text = page(tmp_path, model(FOUND, inspection=inspection()))
    head = re.search(r'id="headline">(.*?)</div>', text)[1]
    assert head == (
        "<dt>precision on 100 unseen rows</dt><dd>0.7843 <small>0.647 to 0.887</small></dd>"
    )
    assert 'id="headline"' not in page(tmp_path, model(FOUND))


def test_what_the_model_does_is_written_into_the_page(tmp_path):
    found = inspection()
    text = page(tmp_path, model(FOUND, inspection=found))
    drawn = embedded(text)["inspection"]
    assert drawn["roc"] == found["roc"]
    assert drawn["point"] == {"fpr": 0.22, "tpr": 0.8, "precision": 40 / 51, "positives": 0.5}
    assert [b["value"] for b in drawn["calibration"]] == [0.24, 0.76]
    cells = re.findall(r'<td class="n[^"]*">(\d+) <span', text[text.index('id="confusion"') :])
    assert cells == ["39", "11", "10", "40"]
    assert "0.75<br>" in text  # the true-positive rate of a group,
    assert "0.43 to 0.95" in text  # its interval
    assert "9 of 12" in text  # and its counts
    assert re.search(r">income</th><td class=\"n\">0.213</td><td class=\"n\">± 0.012<", text)
    assert "2 further columns matter less" in text


def test_the_curve_of_thresholds_has_every_bound_and_the_objective_first(tmp_path):
    thresholds = embedded(page(tmp_path, fitted(curved(20), inspection())))["inspection"][
        "thresholds"
    ]
    assert [s["name"] for s in thresholds["series"]] == ["precision", "false_positive_rate"]
    assert thresholds["series"][0]["values"] == pytest.approx([0.5, 0.7, 0.8, 0.9, None])
    assert thresholds["series"][1]["bounds"] == [{"sense": "<=", "bound": 0.2, "tolerance": 0.0}]
    assert (thresholds["chosen"], thresholds["kind"]) == (0.6543, "probability")


def test_a_fold_is_not_called_unseen(tmp_path):
    text = page(tmp_path, model(FOUND, inspection=inspection(basis="fold")))
    assert "precision on 100 rows of a fold" in text
    assert "tend to flatter it" in text


def test_numbers_have_residuals_by_group(tmp_path):
    text = page(tmp_path, model(FOUND, inspection=regression()))
    assert "Predicted against true" in text
    assert "nine in ten rows lie between -2 and 2" in text
    assert text.count('class="median"') == 2
    assert "Confusion matrix" not in text


def test_what_is_missing_of_an_inspection_is_said_and_escaped(tmp_path):
    found = inspection(importance=None, missing={"importance": EVIL}, groups=None)
    text = page(tmp_path, model(FOUND, inspection=found))
    assert "importance is missing: &lt;script&gt;" in text


def test_names_in_an_inspection_are_escaped(tmp_path):
    found = inspection(classes=[EVIL, EVIL])
    found["groups"][0]["groups"][0]["label"] = EVIL
    found["importance"]["columns"][0]["name"] = EVIL
    text = page(tmp_path, model(FOUND, inspection=found))
    assert text.count("<script") == text.count("</script>") == 2


def finalist(configuration, loss, unseen, verdict, threshold=None):
    return Finalist(configuration, threshold, loss, unseen, verdict)


def test_every_finalist_is_there_with_its_verdict_and_the_cost_of_certainty(tmp_path):
    proof = certificate((8.0, -np.inf, 9.0, "certified"), (0.8, 0.7, np.inf, "certified"))
    best, bold = (
        finalist(KNN, 0.31, 0.32, "certified"),
        finalist(ROBUST, 0.30, 0.35, "feasible", 0.5),
    )
    given = model(FOUND, proof, finalists=(best, bold))
    text = page(tmp_path, given)
    table = text[text.index('id="finalist-table"') :]
    rows = re.findall(r"<tr(?: class=\"chosen\")?><th.*?</tr>", table)[1:3]
    assert "probability 0.622" in rows[0]
    assert "0.35</strong>" in rows[0]
    assert "word-feasible" in rows[0]
    assert "(delivered)" in rows[1]
    assert "Delivered is the best that is certified" in text
    assert "certainty cost 0.01" in text


def test_feasible_is_another_colour_than_certified():
    css = (files("fenceline.report") / "assets" / "report.css").read_text("utf-8")
    assert ".verdict.feasible, .word-feasible { color: var(--amber); }" in css
    assert css.count("--amber:") == 2  # light and dark
