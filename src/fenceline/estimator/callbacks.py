"""scikit-learn's callbacks, such as its ProgressBar, where its version has them (1.9 and later)."""

from collections.abc import Callable
from typing import Any, TypeVar

from fenceline.evaluation.evaluator import Progress

__all__ = ["Announcer", "CallbackSupportMixin", "with_callbacks"]

Method = TypeVar("Method", bound=Callable[..., Any])

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in for scikit-learn's: without callbacks there is no ``set_callbacks``."""

    def with_callbacks(method: Method) -> Method:
        """Leave a method as it is."""
        return method


class Announcer:
    """Tells scikit-learn's callbacks of a search: one task, and within it one for each pipeline.

    Parameters
    ----------
    estimator : estimator with callbacks
        Whose `fit` this is.
    X, y, sample_weight
        What it was given, for callbacks that want them.
    """

    def __init__(self, estimator: Any, X: Any, y: Any, sample_weight: Any) -> None:
        self._estimator = estimator
        # How many pipelines will be measured, if that is known.
        self._evaluations: int | None = estimator.evaluations
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        self._data = {"X": X, "y": y, "metadata": metadata}
        self._context = None
        if hasattr(estimator, "_init_callback_context"):
            self._context = estimator._init_callback_context(max_subtasks=self._evaluations)
            self._context.call_on_fit_task_begin(estimator=estimator, **self._data)

    def __call__(self, progress: Progress) -> None:
        """Announce a pipeline that was measured; end the search if a callback asks for it."""
        if self._context is None or progress.count > (self._evaluations or progress.count):
            return
        task = self._context.subcontext(task_name="pipeline")
        task.call_on_fit_task_begin(estimator=self._estimator, **self._data)
        if task.call_on_fit_task_end(estimator=self._estimator, **self._data):
            raise KeyboardInterrupt  # ends a search as the user would: with the best so far

    def end(self) -> None:
        """Announce that the model is there: callbacks may ask it to predict."""
        if self._context is not None:
            self._context.call_on_fit_task_end(
                estimator=self._estimator, reconstruction_attributes={}, **self._data
            )
