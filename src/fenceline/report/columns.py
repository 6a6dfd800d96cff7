"""Every evaluation as compact columns: what the page's plots and leaderboard are drawn from."""

import math
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from fenceline.problem.constraint import Constraint
from fenceline.problem.evaluation import Evaluation
from fenceline.problem.parameter import Value
from fenceline.report.behaviour import charts
from fenceline.report.front import front
from fenceline.report.subject import Subject
from fenceline.result.result import Result
from fenceline.result.what_if import measured_options
from fenceline.search.iterate import Iterate

Json: TypeAlias = Any
"""What :func:`json.dumps` takes."""

MOST_VALUES = 300_000
"""Hyper-parameter values that a page holds, about two megabytes; the best pipelines go first."""
MOST_ITERATIONS = 2_000
_FEASIBLE, _INFEASIBLE, _FAILED = 0, 1, 2


def columns(subject: Subject) -> Json:
    """Return the evaluations of a search column by column.

    Algorithms are numbers into lists of names; the values of a hyper-parameter are listed for
    those evaluations only that have it, in order, so nothing is written where there is nothing.
    """
    result, score = subject.result, subject.score
    evaluations, problem = result.full, result.problem
    detailed = _detailed(evaluations)
    return {
        "objective": score.name,
        "larger": score.larger_is_better,
        "constraints": [_constraint(c) for c in problem.constraints],
        "values": [short(score.value(e.objective)) for e in evaluations],
        "metrics": [
            [short(e.metrics[c.metric]) if e.ok else None for e in evaluations]
            for c in problem.constraints
        ],
        "states": [
            _FAILED if not e.ok else _FEASIBLE if e.feasible else _INFEASIBLE for e in evaluations
        ],
        "seconds": [short(e.seconds, 3) for e in evaluations],
        "detailed": None if all(detailed) else [int(d) for d in detailed],
        "modules": [
            _module(name, [e.configuration[name] for e in evaluations], detailed)
            for name in (m.name for m in problem.space.modules)
        ],
        "fronts": [front(evaluations, problem, c) for c in problem.constraints],
        "presented": [i for i, e in enumerate(evaluations) if subject.presents(e)],
        "iterations": _iterations(result, problem.constraints),
        "inspection": charts(subject),
        "options": _options(subject),
    }


def _options(subject: Subject) -> Json:
    """Return what may be the best inside some other fence, the best first; None without a fence."""
    found = measured_options(subject.result) if subject.result.problem.constraints else None
    if found is None or not len(found.at):
        return None
    score = subject.score
    return {
        "at": found.at.tolist(),
        "log_odds": [short(odds) for odds in found.log_odds.tolist()],
        "objective": [short(score.value(loss)) for loss in found.objective.tolist()],
        "values": [[short(v) for v in column] for column in found.values.T.tolist()],
    }


def short(value: float, digits: int = 6) -> float | None:
    """Round a number for the page; None for one that JSON has no word for."""
    return float(f"{value:.{digits}g}") if math.isfinite(value) else None


def _constraint(c: Constraint) -> Json:
    return {
        "text": str(c),
        "metric": c.metric,
        "sense": c.sense,
        "bound": c.bound,
        "tolerance": c.tolerance,
    }


def _detailed(evaluations: Sequence[Evaluation]) -> list[bool]:
    """Choose the evaluations whose hyper-parameters the page has room for."""
    left = MOST_VALUES
    chosen = [False] * len(evaluations)
    for i in sorted(
        range(len(evaluations)), key=lambda i: (evaluations[i].violation, evaluations[i].objective)
    ):
        left -= sum(len(choice.params) for choice in evaluations[i].configuration.values())
        chosen[i] = left >= 0
    return chosen


def _module(name: str, chosen: Sequence[Any], detailed: Sequence[bool]) -> Json:
    names = list(dict.fromkeys(choice.algorithm for choice in chosen))
    places = {algorithm: i for i, algorithm in enumerate(names)}
    algorithms = []
    for algorithm in names:
        params = [
            c.params
            for c, d in zip(chosen, detailed, strict=True)
            if d and c.algorithm == algorithm
        ]
        keys = dict.fromkeys(key for p in params for key in p)
        algorithms.append(
            {"name": algorithm, "params": {key: _coded(p[key] for p in params) for key in keys}}
        )
    return {
        "name": name,
        "codes": [places[choice.algorithm] for choice in chosen],
        "algorithms": algorithms,
    }


def _coded(values: Iterable[Value]) -> Json:
    """Return numbers as they are, and anything else as places in a list of levels."""
    listed = list(values)
    numbers = [v for v in listed if isinstance(v, int | float) and not isinstance(v, bool)]
    if len(numbers) == len(listed):
        return [v if isinstance(v, int) else short(v, 4) for v in numbers]
    levels = list(dict.fromkeys(str(v) for v in listed))
    places = {level: i for i, level in enumerate(levels)}
    return {"levels": levels, "codes": [places[str(v)] for v in listed]}


def _iterations(result: Result, constraints: Sequence[Constraint]) -> Json:
    """Return multipliers and residuals over the run, thinned out evenly if there are very many."""
    iterations: Sequence[Iterate] = result.iterations
    if not iterations:
        return None
    step = math.ceil(len(iterations) / MOST_ITERATIONS)
    kept = [*iterations[:-1:step], iterations[-1]]
    moved = any(i.dual_residual for i in kept)
    return {
        # The page counts full measurements, an iterate all that was measured.
        "evaluations": [sum(not e.look for e in result.evaluations[: i.evaluations]) for i in kept],
        "multipliers": [[short(float(i.mu[k]), 4) for i in kept] for k in range(len(constraints))],
        "primal": [short(i.primal_residual, 4) for i in kept],
        "dual": [short(i.dual_residual, 4) for i in kept] if moved else None,
    }
