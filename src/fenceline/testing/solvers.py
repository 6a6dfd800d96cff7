"""What every solver of a sub-problem must do, as tests to inherit."""

import threading
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, ClassVar, TypeAlias, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from fenceline.errors import DefinitionError
from fenceline.problem.parameter import Categorical, Integer, Parameter, Real
from fenceline.search.admm.solvers import Random, Solver
from fenceline.search.admm.solvers.protocol import Look, Merits, Points, Shares

Point: TypeAlias = NDArray[np.float64]
Formula: TypeAlias = Callable[[Points], Merits]
"""Merits of points, one a row."""


class FakeSubproblem:
    """A sub-problem that knows what it is told: a list of points, their merits, and what is pending."""

    def __init__(
        self,
        parameters: Sequence[Parameter],
        pending: Points | None = None,
        fidelities: Sequence[float] = (),
    ) -> None:
        self.parameters = tuple(parameters)
        self.fidelities = tuple(fidelities)
        self._points = np.empty((0, len(self.parameters)))
        self._merits = np.empty(0)
        self._pending = self._points if pending is None else pending
        self._looks = self._points, self._merits, self._merits

    def tell(self, points: Points, merits: Merits, share: float = 1.0) -> None:
        """Add observations, or looks with a share of the rows."""
        if share < 1.0:
            seen, worth, shares = self._looks
            self._looks = (
                np.vstack([seen, points]),
                np.concatenate([worth, merits]),
                np.concatenate([shares, np.full(len(merits), share)]),
            )
            return
        self._points = np.vstack([self._points, points])
        self._merits = np.concatenate([self._merits, merits])

    def looks(self) -> tuple[Points, Merits, Shares]:
        """Return the looks that were told."""
        return self._looks

    def observed(self) -> tuple[Points, Merits]:
        """Return the arrays themselves, not copies: a solver that writes to them is found out."""
        return self._points, self._merits

    def pending(self) -> Points:
        """Return the points that are being measured."""
        return self._pending

    def elsewhere(self) -> tuple[Points, Merits]:
        """Return the first half of what was told, as if it came from an earlier iteration."""
        half = len(self._merits) // 2
        return self._points[:half], self._merits[:half]


_MIXED = (
    Integer(1, 100, log=True),
    Real(1e-3, 1e3, log=True),
    Categorical(["a", "b", "c"]),
    Real(-1.0, 1.0),
    Integer(0, 3),
)

PARAMETERS: dict[str, tuple[Parameter, ...]] = {
    "no parameter": (),
    "one real": (Real(-2.0, 3.0),),
    "one integer": (Integer(1, 7),),
    "one category": (Categorical(["a", "b", "c"]),),
    "one value each": (Integer(3, 3), Categorical(["only"]), Real(2.0, 2.0)),
    "mixed": _MIXED,
    "thirty": _MIXED * 6,
}
"""The cubes that every solver is tried on."""


def _bowl(points: Points) -> Merits:
    return np.asarray(((points - 0.3) ** 2).sum(axis=1))


def _constant(points: Points) -> Merits:
    return np.full(len(points), 0.25)


def _huge(points: Points) -> Merits:
    return np.asarray(1e300 * np.cos(7.0 * np.arange(len(points))))


def _one_huge(points: Points) -> Merits:
    return np.where(np.arange(len(points)) == 0, 1e300, 0.0)


def _tiny(points: Points) -> Merits:
    return np.asarray(1.0 + 1e-15 * np.arange(len(points)))


SITUATIONS: dict[str, tuple[int, Formula, int, bool]] = {
    "nothing observed": (0, _bowl, 0, False),
    "nothing observed, some pending": (0, _bowl, 3, False),
    "one observation": (1, _bowl, 0, False),
    "ordinary merits": (12, _bowl, 0, False),
    "some pending": (12, _bowl, 3, False),
    "constant merits": (12, _constant, 0, False),
    "huge merits": (12, _huge, 0, False),
    "one huge merit among equals": (12, _one_huge, 0, False),
    "merits equal up to rounding": (12, _tiny, 0, False),
    "near-duplicate points": (12, _bowl, 0, True),
}
"""Name -> how many points are observed, their merits, how many are pending, whether they huddle."""


class SolverSuite:
    """Subclass it, set `solver`, inherit every test.

    Attributes
    ----------
    solver : Solver, or a callable without arguments that makes one
        What is tested.
    continuous : bool
        Whether it handles real parameters. If not, it must refuse them, and every test gives it
        integers instead.
    beats_random : int
        After how many proposals it claims to be no worse than random search on an easy problem;
        0, the default, claims nothing. A look counts as its share.
    fidelities : tuple of float
        For a solver that lives on looks, the shares it is offered. It must refuse a sub-problem
        without any.

    Examples
    --------
    ::

        from fenceline.testing import SolverSuite

        class TestBandit(SolverSuite):
            solver = Bandit()
            continuous = False
    """

    solver: ClassVar[Any]
    continuous: ClassVar[bool] = True
    beats_random: ClassVar[int] = 0
    fidelities: ClassVar[tuple[float, ...]] = ()

    @pytest.mark.parametrize("situation", SITUATIONS)
    @pytest.mark.parametrize("parameters", PARAMETERS)
    def test_proposals_lie_in_the_cube_and_on_the_lattice(
        self, parameters: str, situation: str
    ) -> None:
        """Whatever is known, a proposal is a point that can be measured."""
        task = self._situation(parameters, situation)
        for proposed in islice(self._make().proposals(task, _rng()), 3):
            _check(_point(proposed), task.parameters)
            assert _share(proposed) in (*task.fidelities, 1.0)

    @pytest.mark.parametrize("parameters", PARAMETERS)
    def test_equal_seeds_give_equal_proposals(self, parameters: str) -> None:
        """A run can be repeated."""
        first = self._drive(self._parameters(parameters), _bowl, 9)
        second = self._drive(self._parameters(parameters), _bowl, 9)
        np.testing.assert_array_equal(first, second)

    def test_the_generator_given_is_the_only_source_of_chance(self) -> None:
        """Nobody may depend on, or disturb, NumPy's global state."""
        before = repr(np.random.get_state())  # noqa: NPY002 - it is what must not be used
        self._drive(self._parameters("mixed"), _bowl, 9)
        assert repr(np.random.get_state()) == before  # noqa: NPY002

    def test_other_seeds_give_other_proposals(self) -> None:
        """The generator is used at all."""
        first = self._drive(self._parameters("mixed"), _bowl, 9, seed=0)
        assert not np.array_equal(first, self._drive(self._parameters("mixed"), _bowl, 9, seed=1))

    def test_two_searches_of_one_solver_do_not_disturb_each_other(self) -> None:
        """A solver is a record of settings: what a search learns lives in its generator."""
        solver, parameters = self._make(), self._parameters("mixed")
        settings = repr(solver)
        tasks = [self._task(parameters), self._task(parameters)]
        searches = [solver.proposals(task, _rng()) for task in tasks]
        for _ in range(9):
            proposed = [next(search) for search in searches]
            points = [_point(each) for each in proposed]
            np.testing.assert_array_equal(points[0], points[1])
            for task, point, each in zip(tasks, points, proposed, strict=True):
                task.tell(point[None], _bowl(point[None]), _share(each))
        assert repr(solver) == settings

    @pytest.mark.parametrize("parameters", ["no parameter", "one category", "one value each"])
    def test_proposals_never_end_even_when_every_point_is_known(self, parameters: str) -> None:
        """The loop decides when a search has seen enough, never the solver."""
        kind = self._parameters(parameters)
        assert len(self._drive(kind, _bowl, 12)) == 12

    def test_proposals_never_end_while_every_pipeline_fails(self) -> None:
        """Nothing is observed then, for there is no merit to show."""
        task = self._task(self._parameters("mixed"))
        points = [_point(each) for each in islice(self._make().proposals(task, _rng()), 50)]
        assert len({point.tobytes() for point in points}) > 1, "the same point over and over"
        for point in points:
            _check(point, task.parameters)

    @pytest.mark.parametrize("situation", SITUATIONS)
    def test_observations_are_left_as_they_are(self, situation: str) -> None:
        """They belong to the sub-problem, and the next proposal needs them."""
        task = self._situation("mixed", situation)
        arrays = [*task.observed(), task.pending()]
        before = [array.copy() for array in arrays]
        list(islice(self._make().proposals(task, _rng()), 3))
        for array, copy in zip(arrays, before, strict=True):
            np.testing.assert_array_equal(array, copy)

    def test_a_proposal_is_not_changed_afterwards(self) -> None:
        """Callers keep the points they were given."""
        task = self._task(self._parameters("mixed"))
        search = self._make().proposals(task, _rng())
        points, copies = [], []
        for _ in range(9):
            proposed = next(search)
            points.append(_point(proposed))
            copies.append(points[-1].copy())
            task.tell(copies[-1][None], _bowl(copies[-1][None]), _share(proposed))
        np.testing.assert_array_equal(points, copies)

    def test_real_parameters_are_handled_or_refused(self) -> None:
        """A solver that cannot move a real number says so, naming it."""
        search = self._make().proposals(self._task([Real(0.0, 1.0)]), _rng())
        if self.continuous:
            assert 0.0 <= _point(next(search))[0] <= 1.0
        else:
            with pytest.raises(DefinitionError, match="Real"):
                next(search)

    def test_a_solver_that_needs_looks_says_so_where_there_are_none(self) -> None:
        """One clear error, before anything is measured."""
        search = self._make().proposals(FakeSubproblem(self._parameters("mixed")), _rng())
        if self.fidelities:
            with pytest.raises(DefinitionError, match="no fidelity"):
                next(search)
        else:
            assert not isinstance(next(search), Look)

    def test_a_search_that_is_closed_leaves_no_thread(self) -> None:
        """Whoever ends a sub-problem ends all of it."""
        before = threading.active_count()
        task = self._task(self._parameters("mixed"))
        search = self._make().proposals(task, _rng())
        next(search)
        getattr(search, "close", lambda: None)()
        assert threading.active_count() == before

    def test_it_is_no_worse_than_random_where_it_claims_so(self) -> None:
        """Mean merit of the later half of its proposals, over three seeds of an easy problem."""
        count = self.beats_random
        parameters = _MIXED if self.continuous else [Categorical(list("abcdef"))] * 3
        ours, randoms = (
            [
                np.mean(merits[len(merits) // 2 :])
                for seed in range(3)
                if len(merits := self._spend(parameters, count, seed, solver))
            ]
            for solver in (self._make(), Random())
        )
        assert np.sum(ours) <= np.sum(randoms)

    def _make(self) -> Solver:
        """Return the solver, freshly made where a factory was given."""
        solver = type(self).solver  # from the class, so that a function is not bound as a method
        ready = hasattr(solver, "proposals") and not isinstance(solver, type)
        return cast(Solver, solver if ready else solver())

    def _parameters(self, name: str) -> tuple[Parameter, ...]:
        """Return the parameters, with integers in place of reals for a solver without them."""
        return tuple(
            Integer(0, 15) if isinstance(p, Real) and not self.continuous else p
            for p in PARAMETERS[name]
        )

    def _situation(self, parameters: str, name: str) -> FakeSubproblem:
        count, formula, waiting, huddled = SITUATIONS[name]
        kind = self._parameters(parameters)
        random = Random().proposals(FakeSubproblem(kind), np.random.default_rng(7))
        points = np.array(list(islice(random, count))).reshape(count, len(kind))
        if huddled:
            steps = 1e-10 * np.arange(count)[:, None]
            points = _project(np.clip(points[:1] + steps, 0.0, 1.0), kind)
        pending = np.array(list(islice(random, waiting))).reshape(waiting, len(kind))
        task = self._task(kind, pending)
        task.tell(points, formula(points))
        return task

    def _task(
        self, parameters: Sequence[Parameter], pending: Points | None = None
    ) -> FakeSubproblem:
        return FakeSubproblem(parameters, pending, self.fidelities)

    def _drive(
        self,
        parameters: Sequence[Parameter],
        formula: Formula,
        count: int,
        seed: int = 0,
        solver: Solver | None = None,
    ) -> Points:
        """Let a solver propose, tell it what each point is worth, and return the points."""
        task, points = self._task(parameters), []
        search = (solver or self._make()).proposals(task, np.random.default_rng(seed))
        for proposed in islice(search, count):
            point = _point(proposed)
            points.append(point)
            task.tell(point[None], formula(point[None]), _share(proposed))
        return np.array(points).reshape(len(points), len(parameters))

    def _spend(
        self, parameters: Sequence[Parameter], budget: float, seed: int, solver: Solver
    ) -> Merits:
        """Return the merits of what was measured in full for a budget, on a bowl that looks blur."""
        task = self._task(parameters)
        search, spent = solver.proposals(task, np.random.default_rng(seed)), 0.0
        while spent < budget - 1e-9:
            proposed = next(search)
            point, share = _point(proposed)[None], _share(proposed)
            blur = (1.0 - share) * np.sin(40.0 * point.sum(axis=1))
            task.tell(point, _bowl(point) + 0.1 * blur, share)
            spent += share
        return task.observed()[1]


def _point(proposed: Point | Look) -> Point:
    return proposed.point if isinstance(proposed, Look) else proposed


def _share(proposed: Point | Look) -> float:
    return proposed.fidelity if isinstance(proposed, Look) else 1.0


def _rng() -> np.random.Generator:
    return np.random.default_rng(0)


def _project(points: Points, parameters: Sequence[Parameter]) -> Points:
    columns = [p.project(points[:, k]) for k, p in enumerate(parameters)]
    return np.column_stack(columns) if columns else points


def _check(point: Point, parameters: Sequence[Parameter]) -> None:
    assert isinstance(point, np.ndarray)
    assert point.dtype == np.float64
    assert point.shape == (len(parameters),)
    assert np.isfinite(point).all()
    assert ((point >= 0.0) & (point <= 1.0)).all(), f"{point} leaves the unit cube"
    # A real's own grid of 2**40 steps is finer than any solver needs to mind.
    np.testing.assert_allclose(_project(point[None], parameters)[0], point, rtol=0.0, atol=1e-9)
