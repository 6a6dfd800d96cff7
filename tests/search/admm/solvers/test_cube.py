import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from fenceline import Categorical, Integer, Real
from fenceline.search.admm.solvers.cube import Cube

CUBE = Cube(
    (Integer(0, 4), Categorical(list("abc")), Real(0.0, 8.0), Categorical(["only"]), Real(1.0, 2.0))
)


def test_features_are_continuous_coordinates_then_integers_then_categories():
    """`maximise` moves the first features along gradients: they must be the continuous ones."""
    features = CUBE.features(np.array([[0.25, 0.5, 0.125, 0.0, 0.75]]))
    half = np.sqrt(0.5)
    assert_allclose(features, [[0.125, 0.75, 0.25, 0.0, half, 0.0, half]])


def test_two_categories_are_one_apart():
    a, b = CUBE.features(np.array([[0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0, 0.0]]))
    assert_allclose(np.linalg.norm(a - b), 1.0)


def test_every_parameter_has_one_length_scale():
    assert CUBE.groups == (0, 1, 2, 3, 3, 3, 4)
    assert CUBE.continuous.tolist() == [False, False, True, False, True]


@given(st.integers(0, 2**32 - 1))
def test_random_points_lie_on_the_lattice(seed):
    point = CUBE.sample(np.random.default_rng(seed))
    assert_allclose(CUBE.project(point), point, atol=1e-11)


@given(st.lists(st.floats(0.0, 1.0), min_size=5, max_size=5))
def test_projecting_twice_is_projecting_once(coordinates):
    once = CUBE.project(np.array([coordinates]))
    assert_allclose(CUBE.project(once), once, atol=1e-12)


def test_a_cube_without_parameters_has_one_point():
    empty = Cube(())
    assert empty.dimension == 0
    assert empty.groups == ()
    assert empty.sample(np.random.default_rng(0)).shape == (0,)
    assert empty.project(np.empty((3, 0))).shape == (3, 0)
