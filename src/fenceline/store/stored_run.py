"""A run directory read as a result: the problem that was searched, and its evaluations."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from reprlib import repr as short
from typing import NoReturn, Protocol, TypeAlias

from fenceline.errors import DefinitionError, MeasurementError, StoreError
from fenceline.problem.configuration import Configuration
from fenceline.problem.constraint import Constraint
from fenceline.problem.evaluation import Evaluation
from fenceline.problem.problem import Problem
from fenceline.problem.space import Space
from fenceline.search.iterate import Iterate
from fenceline.store.records import Finish, Iteration, Proposal
from fenceline.store.run_directory import read_run


class Measured(Protocol):
    """What there is of a :class:`fenceline.Result`: the problem and its evaluations."""

    @property
    def problem(self) -> Problem:
        """What was minimised, inside which fence."""

    @property
    def evaluations(self) -> Sequence[Evaluation]:
        """Everything measured, in order."""

    @property
    def iterations(self) -> Sequence[Iterate]:
        """What the algorithm held, in order; empty where it has no such state."""


Run: TypeAlias = str | Path | Measured
"""A run directory, even one that is being written, or a result."""


@dataclass(frozen=True, slots=True)
class _Stored:
    """What a run directory holds of a result."""

    problem: Problem
    evaluations: Sequence[Evaluation]
    iterations: Sequence[Iterate]


def read(run: Run) -> Measured:
    """Return the problem and the evaluations of a run directory; a result is returned as it is."""
    if not isinstance(run, str | Path):
        return run
    meta, events = read_run(run)
    try:
        space = Space.from_dict(meta["space"])
        constraints = [
            Constraint(**{k: v for k, v in c.items() if k != "type"}) for c in meta["constraints"]
        ]
        problem = Problem(space, _unmeasured, meta["objective"], constraints)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as trouble:
        raise StoreError(
            f"The run in {run} cannot be exported: its description does not say what was "
            f"searched ({short(trouble)}). It was not written by fenceline.minimize."
        ) from trouble
    proposed: dict[int, Configuration] = {}
    evaluations = []
    iterations = []
    for event in events:
        if isinstance(event, Proposal):
            proposed[event.ticket] = _configuration(space, event, run)
        elif isinstance(event, Finish):
            evaluations.append(_evaluation(problem, proposed[event.ticket], event, run))
        else:
            iterations.append(_iterate(event, len(constraints), run))
    return _Stored(problem, evaluations, iterations)


def _configuration(space: Space, event: Proposal, run: str | Path) -> Configuration:
    try:
        return space.configuration(event.configuration)
    except (DefinitionError, TypeError, ValueError) as trouble:
        raise StoreError(
            f"The run in {run} cannot be read: proposal {event.ticket} is none of its space "
            f"({trouble}). Its files do not belong together; restore them from a copy."
        ) from trouble


def _evaluation(
    problem: Problem, configuration: Configuration, event: Finish, run: str | Path
) -> Evaluation:
    ok = event.status == "ok"
    missing = {problem.objective, *(c.metric for c in problem.constraints)} - event.metrics.keys()
    if ok and missing:
        raise StoreError(
            f"The run in {run} cannot be read: evaluation {event.ticket} has no {min(missing)!r}. "
            "Its files do not belong together; restore them from a copy."
        )
    return problem.evaluation(configuration, event, event.measurement, event.fidelity)


def _iterate(event: Iteration, constraints: int, run: str | Path) -> Iterate:
    try:
        iterate = Iterate.from_dict(event.state)
        if iterate.mu.shape != (constraints,):
            raise ValueError(f"{iterate.mu.size} multipliers of {constraints} constraints")
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as trouble:
        raise StoreError(
            f"The run in {run} cannot be read: an iterate makes no sense ({short(trouble)}). Its "
            "files do not belong together; restore them from a copy."
        ) from trouble
    return iterate


def _unmeasured(_: Configuration) -> NoReturn:
    raise MeasurementError(
        "This problem was read from a run directory, which does not hold the function that measures; "
        "give minimize the problem that the run was made with."
    )
