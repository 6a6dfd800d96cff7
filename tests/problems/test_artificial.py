import math
import pickle
import time

import numpy as np
import pytest

from fenceline import Categorical, Configuration, Integer, Problem, Real
from fenceline.errors import DefinitionError
from fenceline.problems import artificial, artificial_optimum
from fenceline.problems.artificial_measure import draw_function
from fenceline.problems.artificial_optimum import Ratio


def test_space_has_the_papers_shape():
    space = artificial(0).space
    assert [m.name for m in space.modules] == ["scaler", "transformer", "selector", "estimator"]
    assert [len(m.algorithms) for m in space.modules] == [8, 11, 7, 11]
    assert [m.algorithms[0].name for m in space.modules] == ["none", "none", "none", "GaussianNB"]
    assert space.size == 6776
    kinds = [type(p) for p in space.parameters]
    assert (kinds.count(Real), kinds.count(Integer), kinds.count(Categorical)) == (27, 38, 28)


def test_measure_is_the_papers_formula():
    """Against the appendix to the letter, with the samples really drawn."""
    problem = artificial(3)
    rng = np.random.default_rng(0)
    for _ in range(200):
        configuration = problem.space.sample(rng)
        assert problem.measure(configuration)["loss"] == pytest.approx(
            _by_the_book(problem, configuration, seed=3), rel=1e-12
        )


def _by_the_book(problem: Problem, configuration: Configuration, seed: int) -> float:
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0,)))
    f = 0.0
    for module in problem.space.modules:
        choice = configuration[module.name]
        for algorithm in module.algorithms:
            w = rng.standard_normal(max(1, len(algorithm.params)))
            s = int(rng.integers(2**63))
            if algorithm.name != choice.algorithm:
                continue
            theta = np.array(
                [_theta(p, choice.params[n]) for n, p in algorithm.params.items()] or [1.0]
            )
            v = abs(w @ theta / theta.sum())
            f_next = np.abs(np.random.default_rng(s).normal(f, v, 10)).max()
        f = float(f_next)
    return f


def _theta(parameter, value):
    if isinstance(parameter, Real):
        return value
    if isinstance(parameter, Integer):
        return value / 10
    return (parameter.choices.index(value) + 1) / len(parameter.choices)


def test_same_pipeline_always_gets_the_same_value():
    configuration = artificial(1).space.sample(np.random.default_rng(0))
    first, second = artificial(1), pickle.loads(pickle.dumps(artificial(1)))
    assert first == second
    assert first.measure(configuration) == second.measure(configuration)
    assert first.measure(configuration) == first.measure(configuration, fidelity=0.1)


def test_different_seeds_give_different_problems():
    configuration = artificial(0).space.sample(np.random.default_rng(0))
    values = {artificial(seed).measure(configuration)["loss"] for seed in range(10)}
    assert len(values) == 10


def test_algorithm_with_one_hyper_parameter_is_constant_to_the_last_bit():
    problem = artificial(0)
    base = {"scaler": "none", "transformer": "none", "estimator": "GaussianNB"}
    values = {
        problem.measure(
            problem.space.configuration({**base, "selector": ("SelectFpr", {"h1": h})})
        )["loss"]
        for h in (0.1, 0.3, 0.7, 1.0)
    }
    assert len(values) == 1


def test_measuring_takes_microseconds():
    problem = artificial(0)
    rng = np.random.default_rng(0)
    configurations = [problem.space.sample(rng) for _ in range(500)]
    rounds = []
    for _ in range(5):
        start = time.process_time()
        for configuration in configurations:
            problem.measure(configuration)
        rounds.append(time.process_time() - start)
    assert min(rounds) / len(configurations) < 1e-4


@pytest.mark.parametrize("seed", range(20))
def test_optimum_is_attained(seed):
    optimum, configuration = artificial_optimum(seed)
    problem = artificial(seed)
    assert problem.optimum == optimum
    assert problem.measure(configuration)["loss"] == pytest.approx(optimum, abs=1e-9)
    decoded = problem.space.decode(*problem.space.encode(configuration))
    assert problem.measure(decoded)["loss"] == pytest.approx(optimum, abs=1e-9)


def test_no_random_pipeline_beats_the_optimum():
    rng = np.random.default_rng(0)
    space = artificial(0).space
    configurations = [space.sample(rng) for _ in range(20_000)]
    for seed in range(3):
        problem = artificial(seed)
        best = min(problem.measure(c)["loss"] for c in configurations)
        assert best >= problem.optimum - 1e-12


@pytest.mark.parametrize("seed", range(3))
def test_no_local_search_beats_the_optimum(seed):
    problem = artificial(seed)
    best = min(_climb(problem, np.random.default_rng(start)) for start in range(2))
    assert best >= problem.optimum - 1e-12
    # The search is worth its name: it comes far closer than random pipelines do.
    assert best < problem.optimum + 0.2


def _climb(problem: Problem, rng: np.random.Generator) -> float:
    """Change one algorithm, or nudge its hyper-parameters ever less, and keep what is better."""
    space = problem.space
    z, theta = list(space.first), rng.random(len(space.parameters))
    best = math.inf
    for step in range(1500):
        z_new, theta_new = list(z), theta.copy()
        if rng.random() < 0.3:
            i = int(rng.integers(len(z)))
            z_new[i] = int(rng.integers(len(space.modules[i].algorithms)))
        moved = rng.random(theta.size) < 0.3
        width = 10.0 ** -rng.uniform(0, 4 * step / 1500)
        theta_new[moved] = np.clip(theta[moved] + width * rng.normal(size=moved.sum()), 0, 1)
        value = problem.measure(space.decode(tuple(z_new), theta_new))["loss"]
        if value <= best:
            z, theta, best = z_new, theta_new, value
    return best


def test_smallest_scale_everywhere_can_miss_the_optimum():
    """The trap: a module may turn a larger incoming value into a smaller one."""
    misses = 0
    for seed in range(10):
        reached = {0.0}
        for operators, module in zip(
            draw_function(seed, 0), artificial(seed).space.modules, strict=True
        ):
            smallest = [
                (Ratio.of(op, algorithm).magnitudes[:, 0].min(), op)
                for op, algorithm in zip(operators, module.algorithms, strict=True)
            ]
            reached = {max(f + v * op.up, v * op.down - f) for f in reached for v, op in smallest}
        assert artificial(seed).optimum <= min(reached) + 1e-12
        misses += artificial(seed).optimum < min(reached) - 1e-6
    assert misses > 0


def test_construction_is_quick():
    artificial(0)
    start = time.process_time()
    artificial(12_345)
    assert time.process_time() - start < 0.5


@pytest.mark.parametrize(("constraints", "fraction"), [(1, 0.5), (2, 0.1), (5, 0.02), (3, 1.0)])
def test_wanted_share_of_random_pipelines_is_feasible(constraints, fraction):
    problem = artificial(7, constraints=constraints, feasible_fraction=fraction)
    assert [c.metric for c in problem.constraints] == [f"g{m + 1}" for m in range(constraints)]
    assert problem.optimum is None
    rng = np.random.default_rng(99)
    measured = [problem.measure(problem.space.sample(rng)) for _ in range(3000)]
    share = np.mean([problem.violation(m) == 0.0 for m in measured])
    spread = math.sqrt(fraction * (1 - fraction) / 3000)
    assert share == pytest.approx(fraction, abs=5 * spread + 1e-3)


def test_constraints_bound_the_same_quantile_of_each():
    problem = artificial(7, constraints=3, feasible_fraction=0.2)
    rng = np.random.default_rng(1)
    measured = [problem.measure(problem.space.sample(rng)) for _ in range(3000)]
    shares = [np.mean([c.holds(m[c.metric]) for m in measured]) for c in problem.constraints]
    assert max(shares) - min(shares) < 0.05


def test_constraints_leave_the_loss_as_it_was():
    rng = np.random.default_rng(0)
    plain, fenced = artificial(4), artificial(4, constraints=2)
    for _ in range(20):
        configuration = plain.space.sample(rng)
        measured = fenced.measure(configuration)
        assert measured["loss"] == plain.measure(configuration)["loss"]
        assert len(set(measured.values())) == 3


@pytest.mark.parametrize("seed", [-1, 1.0, True, "0", None])
def test_seed_must_be_a_whole_number(seed):
    with pytest.raises(DefinitionError, match=r"seed must be a whole number.*Got .*; give"):
        artificial(seed)
    with pytest.raises(DefinitionError, match="seed must be a whole number"):
        artificial_optimum(seed)


@pytest.mark.parametrize("constraints", [-1, 1.5, True, "2", None])
def test_constraints_must_be_a_whole_number(constraints):
    with pytest.raises(DefinitionError, match=r"constraints must be a whole number.*Got .*; give"):
        artificial(0, constraints=constraints)


@pytest.mark.parametrize("fraction", [0, -0.1, 1.1, math.nan, True, "half", None])
def test_feasible_fraction_must_be_a_share(fraction):
    with pytest.raises(DefinitionError, match=r"feasible_fraction must lie in \(0, 1\]. Got .*;"):
        artificial(0, constraints=1, feasible_fraction=fraction)


def test_numpy_integers_are_accepted():
    assert artificial(np.int64(2)) == artificial(2)
