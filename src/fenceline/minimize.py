"""minimize(): where space, algorithm, engine and store are wired together, and nowhere else."""

import numbers
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Protocol

import numpy as np

from fenceline.errors import BudgetError, DefinitionError
from fenceline.evaluation import Engine, Limits, open_engine
from fenceline.evaluation.evaluator import Progress, RunEvaluator
from fenceline.problem.problem import BudgetSpent, Evaluator, Problem
from fenceline.result.result import Ending, Result
from fenceline.search.iterate import Iterate
from fenceline.search.structured.search import StructuredBO
from fenceline.store import RunDirectory
from fenceline.store.meta import plain


class SearchAlgorithm(Protocol):
    """Anything `minimize` accepts as ``algorithm=``: it submits configurations until the budget is spent."""

    def iterates(
        self, problem: Problem, evaluator: Evaluator, rng: np.random.Generator
    ) -> Iterator[Iterate]:
        """Search; yield iterates, or nothing."""


def minimize(
    problem: Problem,
    *,
    evaluations: int | None = None,
    seconds: float | None = None,
    algorithm: SearchAlgorithm | None = None,
    workers: int = 1,
    run_dir: str | Path | None = None,
    seed: int = 0,
    limits: Limits | None = None,
    engine: str | Engine | None = None,
    callbacks: Sequence[Callable[[Progress], None]] = (),
) -> Result:
    """Find the best feasible configuration within a budget.

    Parameters
    ----------
    problem : Problem
        What to minimise and the constraints that must hold.
    evaluations, seconds : int, float
        The budget; at least one is needed, the first to be spent ends the run.
    algorithm : SearchAlgorithm, optional
        What searches: :class:`StructuredBO` by default, :class:`ADMM`, or one of
        ``fenceline.baselines``.
    workers : int
        Pipelines measured at the same time, each in a guarded process of its own.
    run_dir : path, optional
        Where every proposal and outcome is written down as it happens. A directory that holds a
        run of the same problem is continued: nothing in it is measured again, and `evaluations`
        counts what is there.
    seed : int
        Same seed, same run.
    limits : Limits, optional
        Wall-clock seconds and megabytes that one measurement may use; it then runs in a guarded
        process, and one that oversteps is recorded as ``timeout`` or ``memory``.
    engine : str or Engine, optional
        Where measurements run: by default on this machine; see :func:`fenceline.evaluation.open_engine`.
    callbacks : sequence of callables
        Each is called with a :class:`Progress` after every evaluation.

    Returns
    -------
    Result
        With the best feasible evaluation, or a message that says why there is none.
    """
    if not isinstance(problem, Problem):
        raise DefinitionError(f"minimize: problem must be a Problem. Got {problem!r}.")
    check_budget(evaluations, seconds)
    if isinstance(seed, bool) or not isinstance(seed, numbers.Integral) or seed < 0:
        raise DefinitionError(f"minimize: seed must be a whole number of at least 0. Got {seed!r}.")
    algorithm = StructuredBO() if algorithm is None else algorithm
    if isinstance(algorithm, type) or not hasattr(algorithm, "iterates"):
        raise DefinitionError(
            f"minimize: algorithm must be one such as StructuredBO(). Got {algorithm!r}."
        )

    if problem.allowed:
        _ = problem.examples  # rules that leave nothing are told before anything starts

    opened = open_engine(engine, workers, limits, seconds)
    iterates: deque[Iterate] = deque()
    ended: Ending = "finished"
    with ExitStack() as stack:
        stack.enter_context(_interruptible())  # first, so that it outlives the tidying
        if opened is not engine:  # what the user opened, the user closes
            stack.callback(opened.close)
        store = None
        if run_dir is not None:
            store = stack.enter_context(
                RunDirectory.open(run_dir, _describe(problem, algorithm, seed))
            )
        evaluator = RunEvaluator(problem, opened, evaluations, seconds, callbacks, store)
        try:
            for iterate in algorithm.iterates(problem, evaluator, np.random.default_rng(int(seed))):
                iterates.append(iterate)
                evaluator.iterate = iterate
                if store is not None:
                    store.iterate(iterate.to_dict())
        except BudgetSpent:
            ended = evaluator.ending
        except KeyboardInterrupt:
            ended = "interrupted"
    return Result(
        problem,
        tuple(evaluator.history),
        ended,
        evaluator.budget.elapsed,
        tuple(iterates),
        tuple(evaluator.finished_at),
        tuple(evaluator.suggest_seconds),
    )


def _describe(problem: Problem, algorithm: SearchAlgorithm, seed: int) -> dict[str, object]:
    """Return everything that decides what a run does."""
    rules = {"allowed": plain(problem.allowed)} if problem.allowed else {}
    starts = {"starts": [c.to_dict() for c in problem.starts]} if problem.starts else {}
    return {
        "space": problem.space.to_dict(),
        "objective": problem.objective,
        "constraints": [plain(c) for c in problem.constraints],
        "measure": plain(problem.measure),
        "algorithm": plain(algorithm),
        "seed": int(seed),
    } | (rules | starts)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let the first Ctrl-C or SIGTERM end a run with the best so far, and the second the process."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may listen to signals
        return

    def stop(number: int, frame: object) -> None:
        if not hasattr(sys, "ps1"):  # somebody at a prompt would lose all they have there
            for each in before:
                signal.signal(each, signal.SIG_DFL)
        raise KeyboardInterrupt

    before = {signal.SIGTERM: signal.getsignal(signal.SIGTERM)}
    # Otherwise the user has other plans for Ctrl-C, or a shell has it ignored.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        before[signal.SIGINT] = signal.default_int_handler
    for each in before:
        signal.signal(each, stop)
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def check_budget(evaluations: object, seconds: object) -> None:
    """Refuse a budget that is none, or that ends before it starts."""
    if evaluations is None and seconds is None:
        raise BudgetError("minimize: give evaluations=, seconds= or both; a run needs an end.")
    if evaluations is not None and (
        isinstance(evaluations, bool)
        or not isinstance(evaluations, numbers.Integral)
        or evaluations < 1
    ):
        raise BudgetError(
            f"minimize: evaluations must be a whole number of at least 1. Got {evaluations!r}."
        )
    # A number of numpy's would be compared in its own precision, in which the largest float is none.
    plain = seconds.item() if isinstance(seconds, np.number) else seconds
    if seconds is not None and (
        isinstance(plain, bool)
        or not isinstance(plain, int | float)
        or not 0 < plain <= sys.float_info.max
    ):
        raise BudgetError(f"minimize: seconds must be a positive, finite number. Got {seconds!r}.")
