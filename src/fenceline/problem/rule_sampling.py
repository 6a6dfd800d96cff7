"""Random pipelines that obey the rules, however little the rules leave.

Most rules leave much, and drawing until one is obeyed is all it takes. For the others there are
*examples*: allowed pipelines found by a thorough search before the run, around which more are drawn.
"""

from collections.abc import Iterator, Sequence
from itertools import islice, product

import numpy as np

from fenceline.errors import DefinitionError
from fenceline.problem.configuration import Choice, Configuration, FrozenParams
from fenceline.problem.rules import Rule, broken
from fenceline.problem.space import MOST_ENUMERATED, Algorithm, Space

_EXAMPLES = 20
_FIRST_DRAWS, _MOST_DRAWS = 5_000, 1_000_000  # one in 100,000 is missed with odds of 1 : e^10
_TRIES = 100
_REDRAWS = 20


def find_examples(space: Space, rules: Sequence[Rule]) -> tuple[Configuration, ...]:
    """Return some allowed pipelines; the same ones for the same space and rules.

    Every combination of algorithms is visited before any is visited twice, so that rules about
    choices alone are always solved. Every other draw changes one module of the pipeline that breaks
    fewest rules so far, which climbs where many rules hold each other up.
    """
    found: dict[Configuration, None] = {}
    draws = 0
    for draws, candidate in enumerate(_candidates(space, rules), 1):
        if broken(rules, candidate) == 0:
            found[candidate] = None
        if len(found) >= _EXAMPLES or (found and draws >= _FIRST_DRAWS):
            break
    if not found:
        complete = space.cardinality <= MOST_ENUMERATED
        tried = f"all {draws:,}" if complete else f"{draws:,} pipelines of the space"
        remedy = (
            "loosen `allowed`."
            if complete
            else "loosen `allowed`, or narrow the space to where it holds."
        )
        raise DefinitionError(
            f"No pipeline is allowed: {tried} were tried, over every combination of "
            f"algorithms where time allowed, and each breaks a rule; {remedy}"
        )
    return tuple(found)


def draw(
    space: Space,
    rules: Sequence[Rule],
    examples: Sequence[Configuration],
    rng: np.random.Generator,
) -> Configuration:
    """Draw an allowed pipeline: at random where that succeeds, else near an example."""
    for _ in range(_TRIES):
        drawn = space.sample(rng)
        if broken(rules, drawn) == 0:
            return drawn
    example = examples[int(rng.integers(len(examples)))]
    redrawn = redraw(space, rules, example, rng)
    if redrawn is not None:
        return redrawn
    for size in np.geomspace(1.0, 1e-6, _TRIES):
        drawn = _moved(space, example, float(size), rng)
        if broken(rules, drawn) == 0:
            return drawn
    return example


def redraw(
    space: Space, rules: Sequence[Rule], configuration: Configuration, rng: np.random.Generator
) -> Configuration | None:
    """Return an allowed pipeline with the same algorithms, if one is soon found."""
    for _ in range(_REDRAWS):
        drawn = space.assembled(
            (name, _sample(_algorithm(space, i, choice), rng))
            for i, (name, choice) in enumerate(configuration.choices)
        )
        if broken(rules, drawn) == 0:
            return drawn
    return None


def _candidates(space: Space, rules: Sequence[Rule]) -> Iterator[Configuration]:
    if space.cardinality <= MOST_ENUMERATED:
        yield from space.configurations()
        return
    rng = np.random.default_rng(0)
    best = space.sample(rng)
    fewest = broken(rules, best)
    for combination in islice(_combinations(space, rng), _MOST_DRAWS // 2):
        names = zip(space.modules, combination, strict=True)
        yield space.assembled((module.name, _sample(a, rng)) for module, a in names)
        changed = list(best.choices)
        i = int(rng.integers(len(changed)))
        algorithms = space.modules[i].algorithms
        changed[i] = (changed[i][0], _sample(algorithms[int(rng.integers(len(algorithms)))], rng))
        candidate = space.assembled(changed)
        count = broken(rules, candidate)
        if count <= fewest:
            best, fewest = candidate, count
        yield candidate


def _combinations(space: Space, rng: np.random.Generator) -> Iterator[tuple[Algorithm, ...]]:
    """Yield combinations of algorithms for ever: each once before any comes again."""
    while space.size > _MOST_DRAWS:
        yield tuple(m.algorithms[int(rng.integers(len(m.algorithms)))] for m in space.modules)
    combinations = list(product(*(m.algorithms for m in space.modules)))
    while True:
        for index in rng.permutation(len(combinations)):
            yield combinations[index]


def _moved(
    space: Space, configuration: Configuration, size: float, rng: np.random.Generator
) -> Configuration:
    """Take a step of about the given size in each active hyper-parameter, within its range."""
    choices = []
    for i, (name, choice) in enumerate(configuration.choices):
        params = {
            key: parameter.from_unit(
                float(np.clip(parameter.to_unit(choice.params[key]) + size * rng.normal(), 0, 1))
            )
            for key, parameter in _algorithm(space, i, choice).params.items()
        }
        choices.append((name, Choice(choice.algorithm, FrozenParams(params))))
    return space.assembled(choices)


def _algorithm(space: Space, i: int, choice: Choice) -> Algorithm:
    return next(a for a in space.modules[i].algorithms if a.name == choice.algorithm)


def _sample(algorithm: Algorithm, rng: np.random.Generator) -> Choice:
    params = {name: parameter.sample(rng) for name, parameter in algorithm.params.items()}
    return Choice(algorithm.name, FrozenParams(params))
