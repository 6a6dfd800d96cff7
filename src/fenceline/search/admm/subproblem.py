"""One black-box sub-problem of an ADMM iteration, as its solver sees it, and as the loop runs it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from fenceline.problem.configuration import Configuration
from fenceline.problem.evaluation import Evaluation
from fenceline.problem.parameter import Parameter
from fenceline.problem.problem import Evaluator
from fenceline.problem.space import Choices, Space, Theta
from fenceline.search.admm.solvers.protocol import Merits, Points, Solver

_PATIENCE = 5  # proposals in a row that bring nothing new because of rules, before a detour


@dataclass
class Block:
    """Minimise a merit over some of the variables while the others stand still.

    Parameters
    ----------
    parameters : sequence of Parameter
        What moves, one per coordinate of a point.
    configure : callable
        The configuration a point stands for.
    merit : callable
        What a point is worth, given the raw evaluation of its configuration.
    evaluator : Evaluator
        Where configurations are measured.
    past : callable
        Known (point, evaluation) pairs from other values of the variables that stand still.
    instead : callable, optional
        Draws a configuration that the problem's rules allow. What breaks a rule counts as failed,
        at no cost; where rules shut the block in, such a `detour` is measured.
    locate : callable, optional
        The point of a configuration, where every configuration has one.
    """

    parameters: Sequence[Parameter]
    configure: Callable[[NDArray[np.float64]], Configuration]
    merit: Callable[[NDArray[np.float64], Evaluation], float]
    evaluator: Evaluator
    past: Callable[[], Iterable[tuple[NDArray[np.float64], Evaluation]]] = tuple
    instead: Callable[[np.random.Generator], Configuration] | None = None
    locate: Callable[[Configuration], NDArray[np.float64]] | None = None
    detour: Configuration | None = None
    _points: list[NDArray[np.float64]] = field(default_factory=list)
    _merits: list[float] = field(default_factory=list)
    _open: list[tuple[NDArray[np.float64], Configuration]] = field(default_factory=list)

    def tell(self, point: NDArray[np.float64], evaluation: Evaluation) -> None:
        """Add what is known of a point; the merit of a failed pipeline is NaN until it is filled in."""
        self._points.append(point)
        self._merits.append(self.merit(point, evaluation) if evaluation.ok else np.nan)

    def solve(
        self, solver: Solver, evaluations: int, rng: np.random.Generator
    ) -> NDArray[np.float64] | None:
        """Let a solver spend some evaluations; return the best point, if any pipeline succeeded."""
        if not self.parameters:
            evaluations = 1  # nothing moves: one measurement says everything
        fruitless, forbidden = 0, False
        for point in islice(solver.proposals(self, rng), evaluations):
            configuration = self.configure(point)
            fresh = self.evaluator.known(configuration) is None
            self._open.append((point, configuration))
            self.evaluator.submit(configuration)
            known = self.evaluator.known(configuration)
            barred = known is not None and known.status == "forbidden"
            forbidden |= barred
            fruitless = 0 if fresh and not barred else fruitless + 1
            if forbidden and fruitless == min(evaluations, _PATIENCE):
                self._go_round(rng)
                fruitless = 0
        self.evaluator.drain()
        self._collect()
        merits = np.array(self._merits)
        return None if np.all(np.isnan(merits)) else self._points[int(np.nanargmin(merits))]

    def observed(self) -> tuple[Points, Merits]:
        """Return what is known so far; a failed pipeline counts as the worst that was seen."""
        self._collect()
        return self._filled(self._points, self._merits)

    def pending(self) -> Points:
        """Return the points that are being measured."""
        self._collect()
        points = [point for point, _ in self._open]
        return np.array(points).reshape(len(points), len(self.parameters))

    def elsewhere(self) -> tuple[Points, Merits]:
        """Return what is known from other values of the variables that stand still."""
        pairs = list(self.past())
        return self._filled(
            [p for p, _ in pairs], [self.merit(p, e) if e.ok else np.nan for p, e in pairs]
        )

    def _go_round(self, rng: np.random.Generator) -> None:
        if self.instead is None:
            return
        self.detour = self.instead(rng)
        if self.locate is not None:
            self._open.append((self.locate(self.detour), self.detour))
        self.evaluator.submit(self.detour)

    def _collect(self) -> None:
        still_open = []
        for point, configuration in self._open:
            evaluation = self.evaluator.known(configuration)
            if evaluation is None:
                still_open.append((point, configuration))
            else:
                self.tell(point, evaluation)
        self._open = still_open

    def _filled(
        self, points: Sequence[NDArray[np.float64]], merits: Sequence[float]
    ) -> tuple[Points, Merits]:
        known = np.array(merits, dtype=np.float64)
        if np.all(np.isnan(known)):
            return np.empty((0, len(self.parameters))), np.empty(0)
        return np.array(points), np.where(np.isnan(known), np.nanmax(known), known)


class Archive:
    """The evaluator's history, with every configuration encoded once."""

    def __init__(self, space: Space, evaluator: Evaluator) -> None:
        self.space = space
        self.evaluator = evaluator
        self._encoded: list[tuple[Choices, Theta]] = []

    def __iter__(self) -> Iterator[tuple[Choices, Theta, Evaluation]]:
        history = self.evaluator.history
        for evaluation in history[len(self._encoded) :]:
            self._encoded.append(self.space.encode(evaluation.configuration))
        for (z, theta), evaluation in zip(self._encoded, history, strict=True):
            yield z, theta, evaluation
