import numpy as np
import pytest
from numpy.testing import assert_allclose

from fenceline.search.surrogates import fit, log_expected_improvement, maximise


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def bowl(X):
    return ((X - 0.37) ** 2).sum(axis=1)


def halves(X):
    return np.round(2.0 * X) / 2.0


def test_gradient_steps_end_in_a_local_maximum(rng):
    X = rng.random((30, 3))
    gp = fit(X, bowl(X))
    best = bowl(X).min()
    point = maximise(gp, best, rng, dimension=3, incumbents=X[[np.argmin(bowl(X))]])
    value = log_expected_improvement(*gp.predict([point]), best)
    around = np.clip(point + 0.01 * rng.standard_normal((500, 3)), 0.0, 1.0)
    assert (log_expected_improvement(*gp.predict(around), best) <= value + 1e-3).all()
    assert (log_expected_improvement(*gp.predict(rng.random((5000, 3))), best) <= value).all()


def test_a_few_suggestions_find_the_minimum(rng):
    X = rng.random((6, 2))
    for _ in range(12):
        y = bowl(X)
        point = maximise(
            fit(X, y), y.min(), rng, dimension=2, incumbents=X[[np.argmin(y)]], avoid=X
        )
        X = np.vstack([X, point])
    assert bowl(X).min() < 1e-4


def test_point_is_on_the_lattice_and_in_the_cube(rng):
    X = halves(rng.random((8, 4)))
    for seed in range(5):
        point = maximise(
            fit(X, bowl(X)),
            0.0,
            np.random.default_rng(seed),
            dimension=4,
            incumbents=X[:1],
            project=halves,
        )
        assert point.shape == (4,)
        assert_allclose(halves(point), point)
        assert ((point >= 0.0) & (point <= 1.0)).all()


def test_only_continuous_coordinates_leave_the_lattice(rng):
    def project(X):
        return np.column_stack([X[:, 0], halves(X[:, 1:2])])

    X = project(rng.random((12, 2)))
    mask = np.array([True, False])
    point = maximise(
        fit(X, bowl(X)),
        bowl(X).min(),
        rng,
        dimension=2,
        incumbents=X[:2],
        project=project,
        continuous=mask,
    )
    assert point[1] in (0.0, 0.5, 1.0)
    assert abs(point[0] - 0.37) < 0.1


def test_features_carry_categories_to_the_model(rng):
    # Coordinate 0 is a category of three, coordinate 1 is real; the middle category is best.
    def project(X):
        return np.column_stack([halves(X[:, :1]), X[:, 1:]])

    def features(X):
        return np.column_stack([X[:, 1], np.eye(3)[np.rint(2.0 * X[:, 0]).astype(int)]])

    X = project(rng.random((30, 2)))
    y = np.where(X[:, 0] == 0.5, 0.0, 1.0) + (X[:, 1] - 0.8) ** 2
    gp = fit(features(X), y, groups=[0, 1, 1, 1])
    point = maximise(
        gp,
        y.min(),
        rng,
        dimension=2,
        incumbents=X[[np.argmin(y)]],
        project=project,
        continuous=np.array([False, True]),
        features=features,
        avoid=X,
    )
    assert point[0] == 0.5
    assert abs(point[1] - 0.8) < 0.1


def test_known_points_are_not_returned_while_the_lattice_has_others(rng):
    lattice = np.array([[a, b] for a in (0.0, 0.5, 1.0) for b in (0.0, 0.5, 1.0)])
    for left_out in range(9):
        known = np.delete(lattice, left_out, axis=0)
        point = maximise(
            fit(known, bowl(known)),
            0.0,
            rng,
            dimension=2,
            incumbents=known,
            project=halves,
            avoid=known,
        )
        assert_allclose(point, lattice[left_out])


def test_lattice_cell_too_small_for_random_candidates_is_found(rng):
    def project(X):
        return np.where(X > 0.999, 1.0, 0.0)

    known = np.zeros((1, 3))
    point = maximise(
        fit(known, [1.0]), 0.0, rng, dimension=3, incumbents=known, project=project, avoid=known
    )
    assert point.sum() >= 1.0


def test_exhausted_lattice_returns_a_known_point(rng):
    known = np.array([[0.0], [0.5], [1.0]])
    point = maximise(
        fit(known, bowl(known)),
        0.0,
        rng,
        dimension=1,
        incumbents=known,
        project=halves,
        avoid=known,
    )
    assert point in known


def test_empty_cube_has_one_point(rng):
    gp = fit(np.empty((2, 0)), [0.0, 1.0])
    assert maximise(gp, 0.0, rng, dimension=0, incumbents=np.empty((2, 0))).shape == (0,)


def test_no_incumbents_are_needed(rng):
    gp = fit([[0.5]], [1.0])
    assert maximise(gp, 1.0, rng, dimension=1, incumbents=np.empty((0, 1))).shape == (1,)


def test_same_seed_gives_the_same_point(rng):
    X = rng.random((10, 2))
    gp = fit(X, bowl(X))
    points = [
        maximise(gp, 0.0, np.random.default_rng(3), dimension=2, incumbents=X[:1]) for _ in range(2)
    ]
    assert_allclose(*points, rtol=0.0)


def test_inputs_are_left_alone(rng):
    X = rng.random((10, 2))
    before = X.copy()
    maximise(fit(X, bowl(X)), 0.0, rng, dimension=2, incumbents=X, avoid=X)
    assert_allclose(X, before, rtol=0.0)
