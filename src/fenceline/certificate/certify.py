"""Certificates: the refitted pipeline, measured on rows the search never saw, with a margin of error."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal, TypeAlias

import numpy as np

from fenceline.certificate.bounds import interval, risk_of_each
from fenceline.certificate.controls import Controls
from fenceline.errors import DefinitionError
from fenceline.metrics.metric import PipelineMetric
from fenceline.metrics.trial import Trial
from fenceline.problem.constraint import Constraint

Verdict: TypeAlias = Literal["certified", "feasible", "infeasible"]
"""Within the bound even at the edge of the error; measured within the bound; measured beyond it."""

VERDICTS: tuple[Verdict, ...] = ("certified", "feasible", "infeasible")
"""From the best to the worst."""
TOO_FEW_ROWS = "there were too few rows, or too few of a class, to keep any from the search"


@dataclass(frozen=True, slots=True)
class Check:
    """One constraint on unseen rows."""

    constraint: Constraint
    value: float
    low: float
    """With the stated confidence, the true value is at least this ..."""
    high: float
    """... and at most this; only the side that matters is finite, unless a value is asked for."""
    verdict: Verdict

    @property
    def margin(self) -> float:
        """How far the edge of the error lies inside the bound, in the metric's unit; negative beyond it."""
        return min(map(self.constraint.room, self._edges))

    @property
    def reach(self) -> float:
        """How far the edge of the error lies from the value."""
        return max(abs(edge - self.value) for edge in self._edges)

    @property
    def _edges(self) -> list[float]:
        """The ends of the error that matter."""
        c = self.constraint
        return [self.low] * c.has_floor + [self.high] * c.has_ceiling

    def edge(self, number: Callable[[float], str] = "{:.4g}".format) -> str:
        """Return the ends of the error that matter, in words."""
        low, high = number(self.low), number(self.high)
        if self.constraint.equality:
            return f"{low} to {high}"
        return f"at most {high}" if self.constraint.has_ceiling else f"at least {low}"

    def __str__(self) -> str:
        word = "feasible (not certified)" if self.verdict == "feasible" else self.verdict
        return f"{self.constraint}: {self.value:.4g}, {self.edge()}: {word}"


@dataclass(frozen=True, slots=True)
class Certificate:
    """What unseen rows say about a pipeline.

    That *every constraint holds* is certified with the given confidence, however many constraints
    there are (intersection-union: it is said only if each passes its own test at the full risk) and
    however many candidates came before it (a fixed sequence from safe to bold). The bounds of single
    constraints hold one by one. If `joint`, they hold all together, for all candidates (Bonferroni).
    """

    checks: tuple[Check, ...]
    confidence: float
    rows: int
    """Rows kept from the search that it was measured on; 0 if nothing was."""
    candidates: int
    """Pipelines, and thresholds of them, that might be tested on these rows, this one among them."""
    reason: str = ""
    """Why it cannot be certified, whatever its values: nothing was measured, or its turn never came."""
    joint: bool = False
    """Whether all bounds hold together."""
    earlier: int = 0
    """How many certificates the same rows have given before, as far as that is known."""
    compared: int = 0
    """Rows of the search that told how lucky the unseen ones are, by controls; 0 if none did."""

    @property
    def reach(self) -> float:
        """How many standard errors each bound lies from its value, for a normal error."""
        statements = len(self.checks) * self.candidates if self.joint else 1
        return NormalDist().inv_cdf(1 - risk_of_each(self.confidence, statements))

    @property
    def basis(self) -> str:
        """What it rests on, in words; empty where nothing was measured."""
        if not self.rows:
            return ""
        found = f"at {self.confidence:.0%} confidence on {self.rows} unseen rows"
        return f"{found}, whose luck is told by {self.compared} others" if self.compared else found

    @property
    def status(self) -> Verdict:
        """The worst verdict of all constraints; never certified where there is a reason against it."""
        best: Verdict = "feasible" if self.reason else "certified"
        return max((best, *(c.verdict for c in self.checks)), key=VERDICTS.index)

    def _repr_html_(self) -> str:
        """Show the verdict and the bounds in a notebook."""
        from fenceline.certificate.notebook import certificate_card

        return certificate_card(self)

    def __str__(self) -> str:
        word = "feasible (not certified)" if self.status == "feasible" else self.status
        head = f"{word}, {self.basis}"
        if self.status == "certified":
            head += ": all bounds hold together" if self.joint else ": every constraint holds"
        if self.reason:
            head = f"{word}: {self.reason}"
        if self.earlier and self.rows:
            times = self.earlier + 1
            risk = min(1.0, times * (1 - self.confidence))
            head += (
                f"\n  the same rows have been asked {times} times; that one of these certificates is "
                f"wrong has a risk of up to {risk:.0%}"
            )
        return "\n".join([head, *(f"  {check}" for check in self.checks)])


def certify(
    trial: Trial,
    constraints: Sequence[Constraint],
    metrics: Mapping[str, PipelineMetric],
    *,
    confidence: float = 0.95,
    candidates: int = 1,
    joint: bool = False,
    random_state: int = 0,
    until: float = math.inf,
    controls: Controls | None = None,
) -> Certificate:
    """Measure a fitted pipeline on unseen rows, each constraint with a one-sided confidence bound.

    Parameters
    ----------
    trial : Trial
        The pipeline, and rows that neither its search nor its fit has seen.
    constraints : sequence of Constraint
        What has to hold.
    metrics : mapping of str to PipelineMetric
        The metrics the constraints name.
    confidence : float
        That every constraint holds, in (0.5, 1).
    candidates : int
        How many pipelines may be tried on these rows.
    joint : bool
        Whether the bounds of all constraints and of all candidates are to hold together, each at its
        share of the risk. Otherwise each is tested at the full risk, which certifies more: then
        candidates must be tested in an order that was fixed before, up to the first that fails.
    random_state : int
        Of the resampling.
    until : float
        Of :func:`time.monotonic`: later, errors are estimated from fewer samples, and are the wider.
    controls : Controls, optional
        Models that tell how lucky these rows are, so that rates and AUROCs have smaller errors.
    """
    if not 0.5 < confidence < 1:
        raise DefinitionError(f"confidence must lie between 0.5 and 1. Got {confidence!r}.")
    risk = risk_of_each(confidence, len(constraints) * candidates if joint else 1)
    rng = np.random.default_rng(random_state)
    checks = []
    for constraint in constraints:
        metric = metrics[constraint.metric]
        # Two one-sided tests need no halving: a value is outside on one side only. Bounds that are
        # to hold together share the risk.
        side = risk / 2 if joint and constraint.equality else risk
        value, low, high = interval(metric, trial, side, rng, until, controls)
        checks.append(_check(constraint, value, low, high))
    compared = 0 if controls is None else controls.rows
    return Certificate(
        tuple(checks), confidence, len(trial.rows), candidates, joint=joint, compared=compared
    )


def uncertified(
    constraints: Sequence[Constraint], measured: Mapping[str, float], reason: str = TOO_FEW_ROWS
) -> Certificate:
    """Return what can be said without unseen rows: the search's own values, and no bounds."""
    checks = [_check(c, measured[c.metric], -math.inf, math.inf) for c in constraints]
    return Certificate(tuple(checks), 0.0, 0, 1, reason)


def _check(constraint: Constraint, value: float, low: float, high: float) -> Check:
    # The side that does not matter says nothing, and should not look as if it did.
    low = low if constraint.has_floor else -math.inf
    high = high if constraint.has_ceiling else math.inf
    provisional = Check(constraint, value, low, high, "certified")
    if not constraint.holds(value):
        return Check(constraint, value, low, high, "infeasible")
    return (
        provisional if provisional.margin >= 0 else Check(constraint, value, low, high, "feasible")
    )
