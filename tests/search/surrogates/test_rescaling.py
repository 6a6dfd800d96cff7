"""Scales of hyper-parameters: the map, what may be learnt, and what the evidence says."""

import numpy as np
import pytest

import fenceline as fl
from fenceline.search.surrogates.metric_model import MetricModel
from fenceline.search.surrogates.pair_likelihood import explained
from fenceline.search.surrogates.pipeline_gp import condition
from fenceline.search.surrogates.pipeline_kernel import Structure
from fenceline.search.surrogates.rescaling import Rescaling, bent, contenders, straightened
from fenceline.search.surrogates.rescaling_block import Block, Kernel
from fenceline.search.surrogates.rescaling_choice import better_rescaling

COLUMNS = np.arange(3)


@pytest.mark.parametrize("bend", [30.0, 1e5, -1e3])
def test_a_scale_maps_the_unit_interval_onto_itself_and_back(bend):
    u = np.linspace(0.0, 1.0, 1001)
    w = bent(u, bend)
    assert w[[0, -1]] == pytest.approx([0.0, 1.0])
    assert (np.diff(w) > 0).all()
    assert straightened(w, bend) == pytest.approx(u, abs=1e-12)


def test_a_bend_is_the_logarithm_of_a_range_of_that_ratio():
    # From 1e-4 to 1 with K = 1e4 - 1: 1e-2 lies in the middle of the logarithm.
    parameter = fl.Real(1e-4, 1.0)
    assert bent(np.array([parameter.to_unit(1e-2)]), 1e4 - 1.0) == pytest.approx(0.5)
    assert contenders(parameter)[-4] == pytest.approx(1e4 - 1.0)


def test_without_bends_coordinates_are_the_same_object():
    values = np.random.default_rng(0).random((4, 3))
    assert Rescaling()(values, COLUMNS) is values
    assert Rescaling().inverse(values, COLUMNS) is values
    assert Rescaling((0.0, 5.0, 0.0)).changed(1, 0.0, 3) == Rescaling()


def test_only_bent_columns_move_and_unknown_ones_stay_unknown():
    scale = Rescaling((0.0, 1e3, 0.0))
    values = np.array([[0.2, 0.001, 0.3], [0.2, np.nan, 0.3]])
    moved = scale(values, COLUMNS)
    assert moved[:, [0, 2]].tolist() == values[:, [0, 2]].tolist()
    assert moved[0, 1] == pytest.approx(np.log(2) / np.log(1001))
    assert np.isnan(moved[1, 1])
    assert scale.inverse(moved, COLUMNS)[0] == pytest.approx(values[0])
    assert scale.columns.tolist() == [1]


@pytest.mark.parametrize(
    "parameter",
    [
        fl.Real(1e-4, 1.0, log=True),
        fl.Integer(1, 20),
        fl.Real(2.0, 2.0),
        fl.Categorical(["a", "b"]),
    ],
    ids=["logarithmic already", "few whole numbers", "constant", "categories"],
)
def test_some_ranges_are_taken_at_their_word(parameter):
    assert contenders(parameter) == ()


def learnt(function, seed=0, rows=40):
    """The scales that a model of some function of x and y would rather have."""
    algorithm = fl.Algorithm("a", {"x": fl.Real(0.0, 1.0), "y": fl.Real(0.0, 1.0)})
    structure = Structure(fl.Space([fl.Module("m", [algorithm])]))
    rng = np.random.default_rng(seed)
    # As a search has it: half of the settings spread evenly, half near the ends of the ranges.
    theta = rng.random((rows, 2))
    theta[::4] = 10.0 ** rng.uniform(-5, 0, (rows // 4, 2))
    theta[1::4] = 1.0 - 10.0 ** rng.uniform(-5, 0, (rows // 4, 2))
    parts = structure.parts(np.zeros((rows, 1), dtype=np.intp), theta)
    process = MetricModel(structure).update(parts, function(*theta.T))
    return better_rescaling(structure, [process])


def test_a_logarithm_is_recognised_at_either_end():
    scales, lengths = learnt(lambda x, y: (np.log10(x + 1e-5) + 3.0) ** 2 + y)
    assert scales.bends[0] >= 1e3
    assert scales.bends[1] == 0.0
    assert set(lengths) == {0}
    scales, _ = learnt(lambda x, y: x + (np.log10(1.0 - y + 1e-5) + 3.0) ** 2)
    assert scales.bends[0] == 0.0
    assert scales.bends[1] <= -1e3


@pytest.mark.parametrize("seed", range(5))
def test_a_range_on_the_right_scale_keeps_it(seed):
    scales, lengths = learnt(lambda x, y: (x - 0.3) ** 2 + np.sin(5.0 * y) + 0.5 * x * y, seed=seed)
    assert scales == Rescaling()
    assert lengths == {}


def test_a_scale_that_explains_less_than_the_range_is_given_up():
    algorithm = fl.Algorithm("a", {"x": fl.Real(0.0, 1.0)})
    space = fl.Space([fl.Module("m", [algorithm])])
    structure = Structure(space, Rescaling((1e5,)))
    theta = np.random.default_rng(0).random((30, 1))
    parts = structure.parts(np.zeros((30, 1), dtype=np.intp), theta)
    process = MetricModel(structure).update(parts, np.sin(9.0 * theta[:, 0]))
    assert better_rescaling(structure, [process])[0] == Rescaling()


def test_a_scale_that_is_adopted_explains_by_as_much_more_as_was_gained():
    algorithm = fl.Algorithm("a", {"x": fl.Real(0.0, 1.0), "y": fl.Real(0.0, 1.0)})
    structure = Structure(fl.Space([fl.Module("m", [algorithm, fl.Algorithm("b")])]))
    rng = np.random.default_rng(0)
    z, theta = np.repeat([[0], [1]], [25, 5], axis=0), rng.random((30, 2))
    process = MetricModel(structure).update(structure.parts(z, theta), np.log(theta[:, 0] + 0.01))
    kernel = Kernel.of(structure, process)
    block = Block.of(kernel, structure, 0, 0)
    # With the length scales that there are, so that no prior has a say.
    for k, bend in ((0, 1e3), (0, 30.0), (1, -30.0)):
        trial = bend, float(block.scales[k])
        before, (gained,) = block.unexplained, block.gains(k, [trial])
        block.adopt(k, *trial)
        assert before - block.unexplained == pytest.approx(gained, abs=1e-9)
    # Three changes one after the other come to what the last scales are from the beginning.
    last = Structure(structure.space, Rescaling((30.0, -30.0)))
    anew = condition(last, process.amplitudes, last.parts(z, theta), process.z)
    fresh = Kernel.of(last, anew)
    assert kernel.whole == pytest.approx(fresh.whole, abs=1e-9)
    assert block.unexplained == pytest.approx(Block.of(fresh, last, 0, 0).unexplained, abs=1e-6)


@pytest.mark.parametrize("counts", [[25, 5], [30, 0]])
def test_a_block_explains_what_the_whole_kernel_does(counts):
    structure = Structure(
        fl.Space([fl.Module("m", [fl.Algorithm("a", {"x": fl.Real(0.0, 1.0)}), fl.Algorithm("b")])])
    )
    rng = np.random.default_rng(1)
    z, theta = np.repeat([[0], [1]], counts, axis=0), rng.random((30, 1))
    process = MetricModel(structure).update(structure.parts(z, theta), rng.random(30))
    kernel = Kernel.of(structure, process)
    whole, _ = explained(np.linalg.cholesky(kernel.whole), process.z)
    without_constant = whole - 15.0 * np.log(2.0 * np.pi)
    found = Block.of(kernel, structure, 0, 0).unexplained
    assert found == pytest.approx(without_constant, abs=1e-9)
