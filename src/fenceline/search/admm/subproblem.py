"""One black-box sub-problem of an ADMM iteration, as its solver sees it, and as the loop runs it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fenceline.problem.configuration import Configuration
from fenceline.problem.evaluation import Evaluation
from fenceline.problem.parameter import Parameter
from fenceline.problem.problem import Evaluator
from fenceline.problem.space import Choices, Space, Theta
from fenceline.search.admm.solvers.protocol import Look, Merits, Points, Shares, Solver

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
    fidelities : sequence of float
        The shares of the rows that a look may use.
    look_merit : callable, optional
        What a look at a point is worth; as `merit` without it.
    """

    parameters: Sequence[Parameter]
    configure: Callable[[NDArray[np.float64]], Configuration]
    merit: Callable[[NDArray[np.float64], Evaluation], float]
    evaluator: Evaluator
    past: Callable[[], Iterable[tuple[NDArray[np.float64], Evaluation]]] = tuple
    instead: Callable[[np.random.Generator], Configuration] | None = None
    locate: Callable[[Configuration], NDArray[np.float64]] | None = None
    fidelities: Sequence[float] = ()
    look_merit: Callable[[NDArray[np.float64], Evaluation], float] | None = None
    detour: Configuration | None = None
    _points: list[NDArray[np.float64]] = field(default_factory=list)
    _merits: list[float] = field(default_factory=list)
    _looks: list[tuple[NDArray[np.float64], Evaluation]] = field(default_factory=list)
    _look_merits: list[float] = field(default_factory=list)
    _look_merits_at: int = 0
    _open: list[tuple[NDArray[np.float64], Configuration, float]] = field(default_factory=list)

    def tell(self, point: NDArray[np.float64], evaluation: Evaluation) -> None:
        """Add what is known of a point; the merit of a failed pipeline is NaN until it is filled in."""
        if evaluation.look:
            self._looks.append((point, evaluation))
            return
        self._points.append(point)
        self._merits.append(self.merit(point, evaluation) if evaluation.ok else np.nan)

    def solve(
        self, solver: Solver, evaluations: int, rng: np.random.Generator
    ) -> NDArray[np.float64] | None:
        """Let a solver spend some evaluations; return the best point, if any pipeline succeeded.

        A look costs its share of the rows. Where there was time for looks only, the most promising
        of them is measured in full: nothing else can be the answer.
        """
        left = (
            evaluations if self.parameters else 1
        )  # nothing moves: one measurement says everything
        patience = min(left, _PATIENCE)
        spent, fruitless, forbidden, full = 0.0, 0, False, False
        proposals = solver.proposals(self, rng)
        try:
            for proposed in proposals:
                point, fidelity = (
                    (proposed.point, proposed.fidelity)
                    if isinstance(proposed, Look)
                    else (proposed, 1.0)
                )
                if not self.parameters:
                    fidelity = 1.0  # there is nothing to choose from by a look
                full |= fidelity == 1.0
                configuration = self.configure(point)
                fresh = self.evaluator.known(configuration, fidelity) is None
                self._open.append((point, configuration, fidelity))
                self.evaluator.submit(configuration, fidelity)
                known = self.evaluator.known(configuration)
                barred = known is not None and known.status == "forbidden"
                forbidden |= barred
                fruitless = 0 if fresh and not barred else fruitless + 1
                if forbidden and fruitless == patience:
                    self._go_round(rng)
                    fruitless = 0
                spent += fidelity
                if spent >= left - 1e-9:  # shares such as a third do not add up to the last bit
                    break
        finally:
            # Whatever ends the block, the budget too: a solver may hold more than memory.
            getattr(proposals, "close", lambda: None)()
        self.evaluator.drain()
        self._collect()
        if self._looks and not full:
            self._measure_in_full()
        merits = np.array(self._merits)
        return None if np.all(np.isnan(merits)) else self._points[int(np.nanargmin(merits))]

    def observed(self) -> tuple[Points, Merits]:
        """Return what is known so far; a failed pipeline counts as the worst that was seen."""
        self._collect()
        return self._filled(self._points, self._merits)

    def pending(self) -> Points:
        """Return the points that are being measured."""
        self._collect()
        points = [point for point, _, _ in self._open]
        return np.array(points).reshape(len(points), len(self.parameters))

    def elsewhere(self) -> tuple[Points, Merits]:
        """Return what is known from other values of the variables that stand still."""
        pairs = list(self.past())
        return self._filled(
            [p for p, _ in pairs], [self.merit(p, e) if e.ok else np.nan for p, e in pairs]
        )

    def looks(self) -> tuple[Points, Merits, Shares]:
        """Return every look that is known; one that failed counts as the worst that was seen."""
        self._collect()
        # Only a full measurement changes what looks are worth; a thousand of them take their time.
        if self._look_merits_at != len(self._points):
            self._look_merits_at = len(self._points)
            self._look_merits = []
        value = self.look_merit or self.merit
        for point, evaluation in self._looks[len(self._look_merits) :]:
            self._look_merits.append(value(point, evaluation) if evaluation.ok else np.nan)
        points, merits = self._filled([p for p, _ in self._looks], self._look_merits)
        shares = np.array([e.fidelity for _, e in self._looks[: len(points)]])
        return points, merits, shares

    def _measure_in_full(self) -> None:
        """Measure the best of the looks with the most rows."""
        points, merits, shares = self.looks()
        if len(merits):
            point = points[np.lexsort((merits, -shares))[0]]
            configuration = self.configure(point)
            self._open.append((point, configuration, 1.0))
            self.evaluator.submit(configuration)
            self.evaluator.drain()
            self._collect()

    def _go_round(self, rng: np.random.Generator) -> None:
        if self.instead is None:
            return
        self.detour = self.instead(rng)
        if self.locate is not None:
            self._open.append((self.locate(self.detour), self.detour, 1.0))
        self.evaluator.submit(self.detour)

    def _collect(self) -> None:
        still_open = []
        for point, configuration, fidelity in self._open:
            evaluation = self.evaluator.known(configuration, fidelity)
            if evaluation is None and fidelity < 1.0:
                # What a rule forbids is known in full alone.
                full = self.evaluator.known(configuration)
                evaluation = full if full is not None and full.status == "forbidden" else None
            if evaluation is None:
                still_open.append((point, configuration, fidelity))
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
    """The evaluator's history, with every configuration encoded once; looks are among it."""

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
