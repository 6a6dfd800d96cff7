"""Why nothing lies inside the fence, and how far it would have to move."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fenceline.problem.constraint import Constraint
from fenceline.problem.evaluation import Evaluation
from fenceline.problem.problem import Problem


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What stands between the pipelines measured and the fence."""

    nearest_miss: Evaluation
    """The measured pipeline that breaks the constraints least."""
    binding: Constraint
    """The constraint that it breaks most, in scales."""
    loosen: Mapping[Constraint, float]
    """The broken constraints, and bounds that would admit it."""

    def __str__(self) -> str:
        moves = ", ".join(
            f"{c.metric} from {c.bound:g} to {written(bound)}" for c, bound in self.loosen.items()
        )
        return (
            f"'{self.binding}' binds most. Nearest miss: {self.nearest_miss.configuration}. "
            f"To admit it, loosen {moves}"
        )


@dataclass(frozen=True, slots=True)
class Relaxation:
    """Bounds that would admit a pipeline, and what that would bring."""

    evaluation: Evaluation
    bounds: Mapping[Constraint, float]
    """Every constraint, with its own bound where that may stay."""


def diagnose(miss: Evaluation, problem: Problem) -> Diagnosis:
    """Explain why a measured pipeline is not feasible."""
    broken = [c for c in problem.constraints if not c.holds(*measured(miss, c))]
    return Diagnosis(
        miss,
        max(broken, key=lambda c: c.violation(*measured(miss, c))),
        {c: admitting(c, *measured(miss, c)) for c in broken},
    )


def relaxations(
    options: Sequence[Evaluation], problem: Problem, best: Evaluation | None
) -> list[Relaxation]:
    """Return the pipelines outside the fence worth moving it for, least violation first.

    Worth it means: better than the best inside, and no other pipeline is at least as good while
    it breaks no constraint by more.

    Parameters
    ----------
    options : sequence of Evaluation
        What was measured, and what it would be at other thresholds.
    problem : Problem
        The fence.
    best : Evaluation, optional
        The best inside.
    """
    goal = math.inf if best is None else best.objective
    outside = sorted(
        (e for e in options if e.ok and not (e.look or e.feasible) and e.objective < goal),
        key=lambda e: (e.violation, e.objective),
    )
    kept: list[tuple[list[float], Evaluation]] = []
    for e in outside:
        # Sorted by their sum, so that nobody who comes later can dominate.
        violations = [c.violation(*measured(e, c)) for c in problem.constraints]
        if not any(
            other.objective <= e.objective
            and all(a <= b for a, b in zip(theirs, violations, strict=True))
            for theirs, other in kept
        ):
            kept.append((violations, e))
    return [
        Relaxation(
            e,
            {
                c: c.bound if c.holds(*measured(e, c)) else admitting(c, *measured(e, c))
                for c in problem.constraints
            },
        )
        for _, e in kept
    ]


def measured(evaluation: Evaluation, constraint: Constraint) -> tuple[float, float]:
    """Return the constrained metric of an evaluation, and its standard error."""
    name = constraint.metric
    return evaluation.metrics[name], evaluation.errors.get(name, 0.0)


def admitting(constraint: Constraint, value: float, error: float = 0.0) -> float:
    """Return a bound that admits the value: rounded, unless rounding would shut it out again."""
    if constraint.equality:
        bound = value
    else:
        turn, margin = constraint.sign, constraint.margin(error)
        bound = value + turn * margin
        while not replace(constraint, bound=bound).holds(value, error):
            bound += turn * math.ulp(max(abs(value), margin))
    for rounded in (float(f"{bound:.6g}"), _outwards(bound, constraint.sign)):
        if replace(constraint, bound=rounded).holds(value, error):
            return rounded
    return bound


def _outwards(bound: float, sign: float) -> float:
    """Return the next number of six digits on the side that admits more."""
    if bound == 0.0 or not math.isfinite(bound):
        return bound
    unit = 10.0 ** (math.floor(math.log10(abs(bound))) - 5)
    whole = math.ceil(bound / unit) if sign > 0 else math.floor(bound / unit)
    return float(f"{whole * unit:.6g}")


def written(bound: float) -> str:
    """Write a bound as short as it can be read back."""
    short = f"{bound:.6g}"
    return short if float(short) == bound else repr(bound)
