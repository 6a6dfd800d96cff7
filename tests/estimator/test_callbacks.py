import runpy
import sys
from importlib.util import find_spec

import pytest
import sklearn
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV

from fenceline.estimator import callbacks as hooks
from fenceline.estimator.estimators import FencelineClassifier
from fenceline.problem.parameter import Integer, Real
from fenceline.problem.space import Algorithm, Module, Space

X, Y = make_classification(240, 5, n_informative=4, n_redundant=0, flip_y=0.02, random_state=0)
SPACE = Space(
    [
        Module(
            "estimator",
            [
                Algorithm("LogisticRegression", {"C": Real(0.01, 100, log=True)}),
                Algorithm("DecisionTree", {"max_depth": Integer(1, 8)}),
            ],
        ),
    ]
)
CALLBACKS = find_spec("sklearn.callback") is not None
if CALLBACKS:
    import sklearn.callback
needs_callbacks = pytest.mark.skipif(not CALLBACKS, reason="scikit-learn has callbacks since 1.9")


def classifier(**settings):
    return FencelineClassifier(**{"space": SPACE, "evaluations": 4, "cv": 2} | settings)


class Recorder:
    """Write down what a callback is told."""

    def __init__(self, stop_after=None):
        self.told = []
        self.stop_after = stop_after

    def setup(self, estimator, context):
        self.told.append(("setup", context.task_name, context.max_subtasks))

    def on_fit_task_begin(self, estimator, context, *, X=None, metadata=None):
        self.told.append(("begin", context.task_name, X.shape))

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        known = hasattr(fitted_estimator, "best_pipeline_")
        self.told.append(("end", context.task_name, known))
        return context.task_name == "pipeline" and context.task_id + 1 == self.stop_after

    def teardown(self, estimator, context):
        self.told.append(("teardown", context.task_name, None))


@needs_callbacks
def test_scikit_learns_callbacks_are_told_of_every_pipeline_and_of_the_model():
    recorder = Recorder()
    model = classifier(evaluations=2).set_callbacks(recorder)
    assert model.fit(X, Y) is model
    one = [("begin", "pipeline", X.shape), ("end", "pipeline", False)]
    assert recorder.told == [
        ("setup", "fit", 2),
        ("begin", "fit", X.shape),
        *one,
        *one,
        ("end", "fit", True),
        ("teardown", "fit", None),
    ]


@needs_callbacks
def test_a_callback_can_end_the_search():
    model = classifier(evaluations=1000).set_callbacks(Recorder(stop_after=3)).fit(X, Y)
    assert len(model.result_.evaluations) == 3
    assert model.result_.ended == "interrupted"
    assert model.score(X, Y) > 0.6


@needs_callbacks
def test_callbacks_are_taken_down_when_the_search_fails():
    recorder = Recorder()
    model = classifier(constraints=["size_mb <= 1e-9"]).set_callbacks(recorder)
    with pytest.raises(RuntimeError, match="loosen size_mb"):
        model.fit(X, Y)
    assert recorder.told[-1] == ("teardown", "fit", None)


@needs_callbacks
def test_the_progress_bar_shows_a_search_alone_and_within_another(capsys):
    classifier(evaluations=2).set_callbacks(sklearn.callback.ProgressBar()).fit(X, Y)
    assert "FencelineClassifier - fit" in capsys.readouterr().out
    grid = GridSearchCV(classifier(evaluations=1), {"cv": [2, 3]}, cv=2)
    grid.set_callbacks(sklearn.callback.ProgressBar()).fit(X, Y)
    assert "GridSearchCV - fit" in capsys.readouterr().out


@needs_callbacks
def test_the_scoring_monitor_scores_the_model():
    monitor = sklearn.callback.ScoringMonitor(scoring="accuracy")
    model = classifier(evaluations=1).set_callbacks(monitor).fit(X, Y)
    (entry,) = monitor.get_logs().data
    assert entry["accuracy"] == pytest.approx(model.score(X, Y))


def test_without_scikit_learns_callbacks_a_search_goes_on_without(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.callback", None)
    older = runpy.run_path(hooks.__file__)

    class Plain(older["CallbackSupportMixin"]):
        evaluations = 3

        @older["with_callbacks"]
        def fit(self):
            announcer = older["Announcer"](self, X, Y, None)
            announcer(None)
            announcer.end()
            return self

    plain = Plain()
    assert plain.fit() is plain
    assert not hasattr(plain, "set_callbacks")
