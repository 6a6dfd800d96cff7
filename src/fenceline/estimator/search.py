"""The search of a `fit`: `minimize` with what the estimator was told, and what it shows meanwhile."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from fenceline.estimator.budget import Budget
from fenceline.estimator.parallel import chosen_workers
from fenceline.estimator.patience import Patience
from fenceline.evaluation.evaluator import Progress
from fenceline.minimize import minimize
from fenceline.pipelines.cross_validation import CrossValidation, Finished
from fenceline.problem.problem import Problem
from fenceline.result.result import Result
from fenceline.search.structured.search import StructuredBO


def search(
    estimator: Any,
    problem: Problem,
    measure: CrossValidation,
    budget: Budget,
    room: float | None,
    announcer: Callable[[Progress], None],
) -> Result:
    """Search, and return what was found without the data it was found with.

    Ctrl-C ends a search with what was found; where that is nothing, it ends `fit`, too.

    Parameters
    ----------
    estimator : FencelineEstimator
        Its settings.
    problem : Problem
        What to search.
    measure : CrossValidation
        What measures it.
    budget : Budget
        What may be spent.
    room : float or None
        Standard errors to keep from a bound, so that a certificate is likely; None leaves it to
        the algorithm.
    announcer : callable
        Told of every pipeline.
    """
    workers = chosen_workers(estimator.workers, budget.seconds, budget.evaluations, measure.table.X)
    result = minimize(
        problem,
        evaluations=budget.evaluations,
        seconds=budget.seconds,
        algorithm=None if room is None else StructuredBO(room=room),
        workers=workers,
        run_dir=estimator.run_dir,
        seed=measure.random_state,
        # A clock can only stop a fit that runs in a process of its own.
        engine=estimator.engine or (None if budget.seconds is None else "local"),
        limits=budget.limits,
        callbacks=[
            *estimator.callbacks,
            announcer,
            Patience(),
            *_displays(estimator, problem, budget, workers),
        ],
    )
    if result.ended == "interrupted" and not result.evaluations:
        raise KeyboardInterrupt
    return replace(result, problem=replace(problem, measure=Finished(tuple(measure.metrics))))


def _displays(
    estimator: Any, problem: Problem, budget: Budget, workers: int
) -> list[Callable[[Progress], None]]:
    """Return what shows the run to the user: nothing unless asked."""
    if not estimator.verbose:
        return []
    from fenceline.evaluation import progress

    if estimator.workers is None and workers > 1 and estimator.engine in (None, "local"):
        progress.say(f"{workers} workers, one for each core; workers=1 measures one at a time.")
    return [
        progress.ProgressDisplay(
            problem,
            seconds=budget.seconds,
            evaluations=budget.evaluations,
            verbosity=estimator.verbose,
        )
    ]
