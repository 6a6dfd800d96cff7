import math
from dataclasses import replace

import pytest

from fenceline import metrics
from fenceline.certificate.certify import Certificate, Check
from fenceline.certificate.refits import Finalist
from fenceline.problem.evaluation import Evaluation
from fenceline.problem.problem import Problem
from fenceline.problem.space import Algorithm, Module, Space
from fenceline.report.certainty import meaning, price_of_certainty
from fenceline.report.subject import Subject
from fenceline.result.result import Result

SPACE = Space([Module("estimator", [Algorithm("GaussianNB")])])
FIRST = SPACE.decode(SPACE.first, SPACE.centre)
FENCE = metrics.size_mb() <= 1
BEST = Evaluation(FIRST, {"loss": 0.2, "size_mb": 1.0}, 0.2, 0.0)
RESULT = Result(Problem(SPACE, dict, "loss", [FENCE]), (BEST,), "evaluations", 1.0)
CERTIFIED = Certificate((Check(FENCE, 0.5, -math.inf, 0.6, "certified"),), 0.95, 100, 4)


def subject(loss, *finalists, certificate=CERTIFIED):
    known = tuple(Finalist(FIRST, None, a, b, "feasible") for a, b in finalists)
    return Subject(RESULT, {FIRST: 1}, {"loss": loss}, certificate=certificate, finalists=known)


def test_the_price_of_certainty_is_said_by_the_folds_and_on_unseen_rows():
    text = price_of_certainty(subject(0.25, (0.25, 0.26), (0.2, 0.22)))
    assert text == (
        "The best by the folds had loss = 0.2; certainty cost 0.05. On unseen rows it had 0.22, "
        "and what is delivered 0.26."
    )


def test_where_the_best_was_not_fitted_the_folds_alone_tell():
    text = price_of_certainty(subject(0.25, (0.25, 0.26)))
    assert text.endswith("certainty cost 0.05.")


def test_what_is_not_certified_paid_for_its_safety():
    weak = replace(CERTIFIED, reason="its turn never came")
    assert "safety cost 0.05" in price_of_certainty(subject(0.25, (0.25, 0.26), certificate=weak))


@pytest.mark.parametrize("loss", [0.2, 0.1])
def test_what_is_no_worse_than_the_best_by_the_folds_cost_nothing(loss):
    assert price_of_certainty(subject(loss, (loss, 0.2))) == ""


def test_words_follow_what_the_certificate_means():
    (alone,) = meaning(CERTIFIED)
    assert "every constraint holds" in alone
    assert "by itself" in alone
    (joint,) = meaning(replace(CERTIFIED, joint=True))
    assert "hold together with 95%" in joint
    assert "4 pipelines" in joint
    weak = " ".join(meaning(replace(CERTIFIED, reason="its turn never came")))
    assert "every constraint holds" not in weak
    assert "More rows" in weak
