"""What optimisers that are asked and told have in common."""

import numpy as np

from fenceline.problem.configuration import Configuration
from fenceline.problem.evaluation import Evaluation
from fenceline.problem.problem import Evaluator, Problem

_MOST_REPEATS = 10


def answer(
    problem: Problem,
    evaluator: Evaluator,
    configuration: Configuration,
    repeats: int,
    rng: np.random.Generator,
) -> tuple[int, Evaluation]:
    """Have a configuration measured; return how many in a row were not new, and its evaluation.

    An optimiser that keeps asking for what is known, or for what the rules forbid, has another
    pipeline measured now and then, so that a run comes to its end.
    """
    fresh = evaluator.known(configuration) is None and problem.allows(configuration)
    repeats = 0 if fresh else repeats + 1
    evaluator.submit(configuration)
    if repeats >= _MOST_REPEATS:
        evaluator.submit(problem.sample(rng))
    evaluator.drain()
    evaluation = evaluator.known(configuration)
    assert evaluation is not None, "a drained evaluator knows what was submitted"
    return repeats, evaluation
