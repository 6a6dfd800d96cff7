"""The trade-off between the objective and one constraint: the best that was measured at each value."""

from collections.abc import Sequence

from fenceline.problem.constraint import Constraint
from fenceline.problem.evaluation import Evaluation
from fenceline.problem.problem import Problem
from fenceline.result.diagnosis import measured


def front(evaluations: Sequence[Evaluation], problem: Problem, constraint: Constraint) -> list[int]:
    """Return the positions of the evaluations on the front, from the strictest value outwards.

    Only pipelines that keep to every *other* constraint count: the front shows what moving this
    side of the fence would bring while the others stay. A value that is asked for exactly has no
    strict direction, and so no front.
    """
    if constraint.equality:
        return []
    others = [c for c in problem.constraints if c != constraint]
    standing = sorted(
        (constraint.sign * e.metrics[constraint.metric], e.objective, position)
        for position, e in enumerate(evaluations)
        if e.ok and not e.look and all(c.holds(*measured(e, c)) for c in others)
    )
    found: list[int] = []
    best = float("inf")
    for _, objective, position in standing:
        if objective < best:
            best = objective
            found.append(position)
    return found
