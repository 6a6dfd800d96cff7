import itertools
from dataclasses import replace

import numpy as np
import pytest

import fenceline as fl
from fenceline.problems import artificial
from fenceline.search.structured.acquisition import Chance, ConstrainedImprovement
from fenceline.search.structured.crowding import Crowd
from fenceline.search.structured.gradient_ascent import ascend
from fenceline.search.structured.lattice import Lattice
from fenceline.search.structured.module_ascent import Climb, Search
from fenceline.search.surrogates.metric_model import MetricModel
from fenceline.search.surrogates.pipeline_gp import condition
from fenceline.search.surrogates.pipeline_kernel import Structure


def learned(space, measure, count, seed=0):
    rng = np.random.default_rng(seed)
    drawn = [space.sample(rng) for _ in range(count)]
    z, theta = (np.array(x) for x in zip(*(space.encode(c) for c in drawn), strict=True))
    y = np.array([measure(c) for c in drawn])
    structure = Structure(space)
    parts = structure.parts(z, theta)
    process = MetricModel(structure).update(parts, y)
    order = np.argsort(y, kind="stable")
    return (
        ConstrainedImprovement(process, float(process.predict_pipelines(parts)[0].min())),
        structure,
        z[order],
        theta[order],
    )


def values(acquisition, structure, z, theta):
    return acquisition.value(
        [p.predict_pipelines(structure.parts(z, theta)) for p in acquisition.processes]
    )


LEVELS = fl.Space(
    [
        fl.Module(f"m{i}", [fl.Algorithm(f"a{j}", {"x": fl.Integer(0, 3)}) for j in range(3)])
        for i in range(3)
    ]
)


def wavy(configuration):
    parts = [int(c.algorithm[1]) * 1.7 + c.params["x"] for c in configuration.values()]
    return sum(np.sin(p * (i + 1)) for i, p in enumerate(parts)) + 0.1 * parts[0] * parts[2]


def test_the_search_finds_the_best_of_all_pipelines_or_one_as_good():
    acquisition, structure, z, theta = learned(LEVELS, wavy, 25)
    everything = [LEVELS.encode(c) for c in LEVELS.configurations()]
    every_z, every_theta = (np.array(x) for x in zip(*everything, strict=True))
    truth = values(acquisition, structure, every_z, every_theta).max()
    found = max(
        Search()(acquisition, structure, Lattice(LEVELS), z, theta, np.random.default_rng(s))[
            0
        ].value
        for s in range(3)
    )
    assert found == pytest.approx(truth, abs=0.5)


def test_candidates_are_worth_what_they_say_and_lie_on_the_lattice():
    problem = artificial(2)
    acquisition, structure, z, theta = learned(
        problem.space, lambda c: problem.measure(c)["loss"], 40
    )
    lattice = Lattice(problem.space)
    found = Search()(acquisition, structure, lattice, z, theta, np.random.default_rng(0))
    for candidate in found:
        told = values(acquisition, structure, np.array([candidate.z]), candidate.theta[None])[0]
        assert told == pytest.approx(candidate.value, abs=1e-4)
        assert np.nanmax(np.abs(lattice.project(candidate.theta[None]) - candidate.theta)) < 1e-11


def test_the_search_beats_a_thousand_random_pipelines():
    problem = artificial(2)
    acquisition, structure, z, theta = learned(
        problem.space, lambda c: problem.measure(c)["loss"], 40
    )
    rng = np.random.default_rng(1)
    random = [problem.space.encode(problem.space.sample(rng)) for _ in range(1000)]
    at_random = values(acquisition, structure, *(np.array(x) for x in zip(*random, strict=True)))
    found = Search()(acquisition, structure, Lattice(problem.space), z, theta, rng)
    assert found[0].value > at_random.max()


def test_gradient_steps_climb_and_stay_in_the_cube():
    problem = artificial(3)
    acquisition, structure, _, _ = learned(problem.space, lambda c: problem.measure(c)["loss"], 40)
    rng = np.random.default_rng(0)
    for _ in range(10):
        z, theta = problem.space.encode(problem.space.sample(rng))
        before = values(acquisition, structure, np.array([z]), theta[None])[0]
        value, moved = ascend(acquisition, structure, z, theta)
        assert value >= before - 1e-9 * abs(before)
        assert value == pytest.approx(
            values(acquisition, structure, np.array([z]), moved[None])[0], abs=1e-6
        )
        discrete = [k for k, p in enumerate(problem.space.parameters) if not isinstance(p, fl.Real)]
        assert np.array_equal(moved[discrete], theta[discrete], equal_nan=True)
        assert np.nanmin(moved) >= 0
        assert np.nanmax(moved) <= 1


def test_gradient_steps_are_the_same_whether_or_not_models_share_their_pipelines():
    problem = artificial(3)
    acquisition, structure, z, theta = learned(
        problem.space, lambda c: problem.measure(c)["loss"], 40
    )
    objective = acquisition.objective
    rough = replace(
        objective.amplitudes, length_scales=np.full_like(objective.amplitudes.length_scales, 0.2)
    )
    shared = condition(structure, rough, objective.parts, objective.z[::-1].copy())
    apart = replace(shared, parts=tuple(part[:] for part in shared.parts))
    best = (tuple(int(j) for j in z[0]), theta[0])
    ends = [
        ascend(replace(acquisition, chances=(Chance(process, -np.inf, 0.0),)), structure, *best)
        for process in (shared, apart)
    ]
    assert ends[0][0] == ends[1][0]
    assert np.array_equal(ends[0][1], ends[1][1], equal_nan=True)
    assert ends[0][0] != ascend(acquisition, structure, *best)[0]


def test_modules_without_hyperparameters_are_searched_too():
    space = fl.Space([fl.Module(m, [fl.Algorithm(a) for a in "abcd"]) for m in "xyz"])
    scores = dict(
        zip(itertools.product("abcd", repeat=3), np.random.default_rng(0).random(64), strict=True)
    )
    acquisition, structure, z, theta = learned(
        space, lambda c: scores[tuple(v.algorithm for v in c.values())], 20
    )
    found = Search()(acquisition, structure, Lattice(space), z, theta, np.random.default_rng(0))
    assert np.isfinite(found[0].value)


def test_after_a_climb_no_module_alone_can_do_better():
    acquisition, structure, _, _ = learned(LEVELS, wavy, 25)
    climb = Climb(acquisition, structure, np.random.default_rng(0), None)
    levels = np.repeat(np.arange(3), 4), np.tile(np.tile(np.arange(4) / 3, 3)[:, None], 9)
    pools = [climb.pool(i, *levels) for i in range(3)]
    starts = np.array([[0, 0, 0], [5, 7, 11], [0, 0, 0]])
    chosen, found = climb(pools, starts, 10)
    assert (chosen[0] == chosen[2]).all()
    for row, value in zip(chosen, found, strict=True):
        for i in range(3):
            rows = np.tile(row, (12, 1))
            rows[:, i] = np.arange(12)
            every_z = levels[0][rows]
            every_theta = np.full((12, 9), np.nan)
            for m in range(3):
                for j in range(3):
                    every_theta[:, 3 * m + j] = (rows[:, m] % 4) / 3
            around = values(acquisition, structure, every_z, every_theta)
            assert around.max() == pytest.approx(value, abs=1e-6)


def test_a_search_without_an_algorithm_proposes_others_only():
    acquisition, structure, z, theta = learned(LEVELS, wavy, 25)
    crowd = Crowd(1, (int(z[0, 1]),))
    elsewhere = ~crowd.includes(z)
    found = Search()(
        acquisition,
        structure,
        Lattice(LEVELS),
        z[elsewhere],
        theta[elsewhere],
        np.random.default_rng(0),
        without=crowd,
    )
    assert all(candidate.z[1] not in crowd.algorithms for candidate in found)
