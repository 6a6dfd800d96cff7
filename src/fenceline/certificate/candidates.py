"""Which of the feasible pipelines are tried on unseen rows: the best, then those with room to spare.

A search goes up to the fence, and a pipeline that touches it is confirmed by other rows only half
of the time. So after the best come the best of those that keep as far from the fence as the error
on unseen rows is likely to reach, which certifies about one in two, and half as far again, which
certifies about nine in ten. The sequence is fixed before any unseen row is looked at, but for one
thing, which no row decides: how much slower or larger the best became when it was fitted on all.
"""

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
from scipy import stats

from fenceline.certificate.bounds import LATENCY_FREEDOM, risk_of_each
from fenceline.metrics.metric import PipelineMetric
from fenceline.problem.problem import Evaluation, Problem

Growth: TypeAlias = Mapping[str, float]
"""By the name of a resource, how many times its value in the folds a pipeline needs once it is fitted on all rows."""

ROOM = (0.0, 1.0, 1.5)
"""How far the candidates keep from the fence, one after the other, in units of the likely reach."""
SOME_ROOM = 0.5
"""What is taken for the second candidate where none has more: by all rows together that is safe still."""


def shortlist(
    feasible: Sequence[Evaluation],
    problem: Problem,
    metrics: Mapping[str, PipelineMetric],
    *,
    rows: tuple[int, int],
    confidence: float,
    worst: float = math.inf,
    growth: Growth = MappingProxyType({}),
) -> list[Evaluation]:
    """Return as many feasible evaluations as may be tried, in the order in which to try them.

    Parameters
    ----------
    feasible : sequence of Evaluation
        The best first.
    problem : Problem
        Whose fence they keep to.
    metrics : mapping of str to PipelineMetric
        What the constraints name.
    rows : pair of int
        Of the search, and unseen ones.
    confidence : float
        Of the certificate.
    worst : float
        The objective up to which room is worth its price; the best pipelines come first beyond it.
    growth : mapping of str to float
        What those after the best have to leave room for in time, size or memory.
    """
    reach, typical = _reach(problem, metrics, rows, confidence), _typical(feasible, problem)
    most = max((e.metrics.get("folds", 1.0) for e in feasible), default=1.0)
    rooms = [
        # What was stopped after some of the folds is known that much less.
        _room(e, problem, reach, typical, growth) * math.sqrt(e.metrics.get("folds", most) / most)
        for e in feasible
    ]
    chosen = [0] if feasible else []
    for room in ROOM[1:]:
        left = [i for i in range(len(feasible)) if i not in chosen]
        others = [i for i in left if feasible[i].objective <= worst] or left[:1]
        enough = [i for i in others if rooms[i] >= room]
        if room == ROOM[1]:
            enough = enough or [i for i in others if rooms[i] >= SOME_ROOM]
        # Where none has the room, the one that has most comes nearest to it.
        nearest = sorted(others, key=lambda i: -rooms[i])
        chosen += (enough or nearest)[:1]
    return [feasible[i] for i in chosen]


def _reach(
    problem: Problem,
    metrics: Mapping[str, PipelineMetric],
    rows: tuple[int, int],
    confidence: float,
) -> dict[str, float]:
    """Return how many errors beyond its value each metric is likely to be bounded on unseen rows."""
    risk = risk_of_each(confidence, len(problem.constraints) * len(ROOM))
    searched, unseen = rows
    fewer = math.sqrt(searched / unseen) if unseen else 1.0
    return {
        c.metric: float(stats.t.ppf(1 - risk, LATENCY_FREEDOM))
        if metrics[c.metric].resource
        else fewer * float(stats.norm.ppf(1 - risk))
        for c in problem.constraints
    }


def _typical(feasible: Sequence[Evaluation], problem: Problem) -> dict[str, float]:
    """Return the median error of each constrained metric; 0 where none is known."""
    known = {
        c.metric: [e.metrics.get(f"{c.metric}/se", math.nan) for e in feasible]
        for c in problem.constraints
    }
    return {
        name: float(np.nanmedian(errors)) if not np.isnan(errors).all() else 0.0
        for name, errors in known.items()
    }


def _room(
    evaluation: Evaluation,
    problem: Problem,
    reach: Mapping[str, float],
    typical: Mapping[str, float],
    growth: Growth,
) -> float:
    """Return the distance to the nearest fence, in units of its likely reach."""
    rooms = []
    for constraint in problem.constraints:
        name = constraint.metric
        # The error from a few folds is rough, and by luck too small; but a weak model's is larger.
        error = reach[name] * max(typical[name], evaluation.metrics.get(f"{name}/se", 0.0))
        inside = constraint.room(growth.get(name, 1.0) * evaluation.metrics[name])
        if error:
            rooms.append(inside / error)
        else:
            # Beyond its bound, the less the better; inside, what is exact needs no room.
            rooms.append(inside if inside < 0 else math.inf)
    return min(rooms, default=math.inf)
