"""Problems, and the one thing an algorithm sees of the outside: the Evaluator."""

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, TypeAlias

import numpy as np

from fenceline.errors import ConstraintError, DefinitionError, MeasurementError, suggestion
from fenceline.problem.configuration import Configuration
from fenceline.problem.constraint import Constraint, check_consistent, parse_constraint
from fenceline.problem.evaluation import Ended, Evaluation
from fenceline.problem.measurement import Measurement, read
from fenceline.problem.rule_sampling import draw, find_examples, redraw
from fenceline.problem.rules import Rule, broken, read_rules
from fenceline.problem.space import MOST_ENUMERATED, Space
from fenceline.problem.starts import read_starts

Measure: TypeAlias = Callable[..., Mapping[str, Any]]
"""Takes a configuration (and, if it likes, ``fidelity=`` and ``incumbent=``) and returns every metric by name."""

RESERVED = frozenset({"feasible", "violation", "status", "seconds", "message", "fidelity"})
"""Columns that a table of evaluations has of its own; no metric may bear such a name."""


@dataclass(frozen=True)
class Problem:
    """What to minimise, over which space, inside which fence.

    Parameters
    ----------
    space : Space
        The pipelines to choose from.
    measure : callable
        ``measure(configuration)`` returns a mapping with the objective and every constrained
        metric, each a number or a pair of a number and its standard error; under ``"details"``
        it may have a mapping in JSON's types, kept as it is. Or it returns a
        :class:`fenceline.problem.Measurement`, which can say more. It may raise: the
        pipeline then counts as failed, and the search goes on. If it has an attribute ``metrics``
        (names), unknown names are refused at once instead of at the first evaluation. If it has
        a parameter ``incumbent``, it is told of the best feasible pipeline so far (None before
        the first), and may stop short of measuring in full what cannot beat it. If it has a
        parameter ``fidelity`` and an attribute ``fidelities`` (shares of the rows below 1, in
        rising order), a search whose budget is in seconds takes cheap looks first. A method
        ``growth(configuration)`` may say with which power of the rows the seconds grow.
    objective : str
        Name of the metric to minimise.
    constraints : sequence of Constraint or str
        All must hold.
    allowed : callable, rule, or a list of them, optional
        Which pipelines may be tried at all: functions of a configuration that say True or False,
        :func:`fenceline.forbid` and :func:`fenceline.order`. What breaks one is never measured.
    starts : sequence of Configuration
        What a search measures first, after the pipeline that is safest: pipelines that are known to
        be good, the most promising first. What the rules leave out, or what is there twice, is left
        out. By default, where algorithms of the space carry a start, one pipeline for each of those
        of the last such module.
    optimum : float, optional
        The best possible objective, where it is known (test problems).
    """

    space: Space
    measure: Measure
    objective: str = "loss"
    constraints: Sequence[Constraint] = ()
    allowed: Rule | Sequence[Rule] = field(default=(), kw_only=True)
    starts: Sequence[Configuration] = field(default=(), kw_only=True)
    expected: Sequence[tuple[Configuration, float]] = field(default=(), kw_only=True)
    optimum: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.space, Space):
            raise DefinitionError(f"Problem: space must be a Space. Got {self.space!r}.")
        if not callable(self.measure):
            raise DefinitionError(f"Problem: measure must be callable. Got {self.measure!r}.")
        if not isinstance(self.objective, str) or not self.objective:
            raise DefinitionError(
                f"Problem: objective must be the name of a metric. Got {self.objective!r}."
            )
        if isinstance(self.constraints, str | Constraint) or not isinstance(
            self.constraints, Sequence
        ):
            raise ConstraintError(f"Problem: constraints must be a list. Got {self.constraints!r}.")
        constraints = tuple(
            parse_constraint(c) if isinstance(c, str) else c for c in self.constraints
        )
        for constraint in constraints:
            if not isinstance(constraint, Constraint):
                raise ConstraintError(
                    f"Problem: {constraint!r} is not a constraint; write metric('name') <= bound or 'name <= bound'.",
                    value=constraint,
                )
        check_consistent(constraints)
        object.__setattr__(self, "constraints", constraints)
        object.__setattr__(self, "allowed", read_rules(self.allowed, self.space))
        object.__setattr__(self, "starts", read_starts(self.starts, self.space))
        declared = getattr(self.measure, "metrics", None)
        named = (self.objective, *(c.metric for c in constraints), *(declared or ()))
        if taken := self._taken(named):
            raise DefinitionError(taken)
        if declared is not None:
            for name in (self.objective, *(c.metric for c in constraints)):
                if name not in declared:
                    raise DefinitionError(
                        f"Problem: `measure` has no metric {name!r}.{suggestion(name, declared)}"
                    )

    def allows(self, configuration: Configuration) -> bool:
        """Tell whether the rules leave a configuration to be tried."""
        return broken(self.rules, configuration) == 0

    def sample(self, rng: np.random.Generator) -> Configuration:
        """Draw an allowed configuration."""
        if not self.rules:
            return self.space.sample(rng)
        return draw(self.space, self.rules, self.examples, rng)

    def allowed_near(self, configuration: Configuration, rng: np.random.Generator) -> Configuration:
        """Return the configuration if it is allowed, else one with its algorithms, else any."""
        if self.allows(configuration):
            return configuration
        return redraw(self.space, self.rules, configuration, rng) or self.sample(rng)

    @cached_property
    def examples(self) -> Sequence[Configuration]:
        """Some allowed configurations, found by a search that raises DefinitionError if there are none."""
        return find_examples(self.space, self.rules)

    @cached_property
    def cardinality(self) -> float:
        """Number of allowed configurations where they can be counted, else that of the space."""
        if not self.rules or self.space.cardinality > MOST_ENUMERATED:
            return self.space.cardinality
        return sum(map(self.allows, self.space.configurations()))

    @cached_property
    def fidelities(self) -> tuple[float, ...]:
        """The shares of the rows that a cheap look may use, in rising order; empty if there are none."""
        if not takes(self.measure, "fidelity"):
            return ()
        return tuple(getattr(self.measure, "fidelities", ()))

    @cached_property
    def parts(self) -> int:
        """In how many parts a measurement is made, if it ends by itself where time is short; else 1."""
        return int(getattr(self.measure, "parts", 1))

    def growth(self, configuration: Configuration) -> float | None:
        """Return the power of the rows with which a pipeline's seconds grow; None if the measure has no word."""
        told = getattr(self.measure, "growth", None)
        return None if told is None else float(told(configuration))

    def seconds_after(self, best: Evaluation) -> float:
        """Return what a run leaves of its seconds for what is done with its answer: one more fit, say."""
        told = getattr(self.measure, "seconds_after", None)
        return 0.0 if told is None else float(told(best))

    @property
    def rules(self) -> tuple[Rule, ...]:
        """What a pipeline has to obey to be tried at all."""
        assert isinstance(self.allowed, tuple)
        return self.allowed

    def check(self, measured: object) -> Measurement:
        """Return a measurement as plain floats, or say what is wrong with it."""
        if not isinstance(measured, Mapping):
            raise MeasurementError(
                f"`measure` must return a mapping from metric names to numbers. Got {measured!r}; "
                f"return {{{self.objective!r}: ...}}.",
                value=measured,
            )
        asked = (self.objective, *(c.metric for c in self.constraints))
        for name in asked:
            if name not in measured:
                role = "objective" if name == self.objective else "constrained"
                raise MeasurementError(
                    f"`measure` did not return the {role} metric {name!r}.{suggestion(name, map(str, measured))}",
                    metric=name,
                )
        if taken := self._taken(map(str, measured)):
            raise MeasurementError(taken)
        return read(measured, asked)

    def evaluation(
        self,
        configuration: Configuration,
        ended: Ended,
        measured: object = None,
        fidelity: float = 1.0,
    ) -> Evaluation:
        """Return what is known of a configuration once its measurement has ended.

        Parameters
        ----------
        configuration : Configuration
            Which was measured.
        ended : Ended
            How.
        measured : mapping, optional
            What the measure returned; looked at only if it ended well.
        fidelity : float
            The share of the rows it was measured with.

        Raises
        ------
        MeasurementError
            The measure has not returned what it should.
        """
        found = self.check(measured) if ended.status == "ok" else None
        return Evaluation(
            configuration,
            {} if found is None else found.metrics,
            math.inf if found is None else found[self.objective],
            math.inf if found is None else self.violation(found, found.errors),
            ended.status,
            ended.seconds,
            ended.message,
            ended.traceback,
            ended.cpu_seconds,
            ended.megabytes,
            {} if found is None else found.errors,
            fidelity,
            {} if found is None else found.details,
            {} if found is None else found.spreads,
        )

    def _taken(self, metrics: Iterable[str]) -> str:
        """Say which metric bears the name of something else in a table of evaluations, if one does."""
        columns = RESERVED.union(module.name for module in self.space.modules)
        for name in metrics:
            if name in columns:
                what = "column of results" if name in RESERVED else "module of the space"
                return f"A metric cannot be called {name!r}, for that is a {what}; rename it, to 'measured_{name}' say."
        return ""

    def violation(
        self, metrics: Mapping[str, float], errors: Mapping[str, float] | None = None
    ) -> float:
        """Return the sum of scaled violations of a checked measurement."""
        known = errors or {}
        return sum(
            c.violation(metrics[c.metric], known.get(c.metric, 0.0)) for c in self.constraints
        )


class BudgetSpent(Exception):  # noqa: N818 - it ends a run as StopIteration ends a loop
    """Raised by :meth:`Evaluator.submit` when the run is over; algorithms let it pass."""


class Evaluator(Protocol):
    """What an algorithm sees: hand in a configuration, read what is known.

    With one worker, `submit` returns when the configuration has been measured. With several it
    returns as soon as a worker is free, so the same loop serves both: propose from `history`
    and `pending`, submit, repeat.
    """

    @property
    def history(self) -> Sequence[Evaluation]:
        """Finished evaluations, in the order in which they finished.

        A configuration may occur again, measured once more because noise left it undecided; the
        last one then holds all that is known of it.
        """

    @property
    def pending(self) -> Sequence[Configuration]:
        """Submitted and not finished, at any fidelity."""

    @property
    def seconds_left(self) -> float | None:
        """What is left of the budget in seconds, as of the last submission.

        None where evaluations are counted: such a run does not look at the clock. A resumed run is
        told again what it was told then, and so decides the same.
        """

    def submit(self, configuration: Configuration, fidelity: float = 1.0) -> None:
        """Have a configuration measured, unless it is known or pending already.

        Below 1, `fidelity` asks for a cheap look at a share of the rows; a measure that has no
        parameter of that name is asked in full.
        """

    def drain(self) -> None:
        """Wait until nothing is pending."""

    def known(self, configuration: Configuration, fidelity: float = 1.0) -> Evaluation | None:
        """Return the evaluation of a configuration at a fidelity, if it has finished."""


def takes(measure: Measure, parameter: str) -> bool:
    """Tell whether a measure has a parameter of this name."""
    try:
        return parameter in inspect.signature(measure).parameters
    except (TypeError, ValueError):
        return False  # a built-in without a signature
