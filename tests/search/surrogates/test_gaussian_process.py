from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime, minimize
from scipy.stats import norm
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

from fenceline.errors import DefinitionError
from fenceline.search.surrogates import GaussianProcess, Hyperparameters, fit, posterior
from fenceline.search.surrogates.likelihood import Evidence

SOME = Hyperparameters(np.array([0.3, 0.8, 1.5]), amplitude=1.3, noise=0.05)


def smooth(X):
    return np.sin(4.0 * X[:, 0]) + X[:, 1] ** 2 + 0.3 * X[:, 0] * X[:, 2]


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def data(rng):
    X = rng.random((25, 3))
    return X, smooth(X) + 0.05 * rng.standard_normal(25)


@pytest.mark.parametrize("groups", [[0, 1, 2], [0, 1, 1], [0, 0, 0]])
def test_gradient_of_evidence_matches_finite_differences(data, rng, groups):
    X, y = data
    evidence = Evidence.of(X, (y - y.mean()) / y.std(), np.array(groups))
    for _ in range(5):
        at = evidence.centre + 0.7 * rng.standard_normal(len(evidence.centre))
        numeric = approx_fprime(at, lambda point: evidence(point)[0], 1e-6)
        assert_allclose(evidence(at)[1], numeric, rtol=1e-4, atol=1e-3)


def test_evidence_is_the_normal_density_times_the_priors(data):
    X, y = data
    z = (y - y.mean()) / y.std()
    evidence = Evidence.of(X, z, np.arange(3))
    logarithms = np.log([*SOME.length_scales, SOME.amplitude, SOME.noise])
    K = SOME.amplitude**2 * Matern(SOME.length_scales, nu=2.5)(X) + SOME.noise**2 * np.eye(25)
    inverse = np.linalg.inv(K)
    residual = z - inverse.sum(axis=0) @ z / inverse.sum()
    expected = 0.5 * (residual @ inverse @ residual + np.linalg.slogdet(2.0 * np.pi * K)[1])
    expected += 0.5 * (((logarithms - evidence.centre) / evidence.width) ** 2).sum()
    assert_allclose(evidence(logarithms)[0], expected, rtol=1e-9)


def test_gradient_of_prediction_matches_finite_differences(data, rng):
    gp = in_other_units(posterior(*data, SOME))
    points = rng.random((6, 3))
    mean, sd, mean_gradient, sd_gradient = gp.predict_with_gradient(points)
    assert_allclose((mean, sd), gp.predict(points), rtol=1e-12)
    for i, point in enumerate(points):
        for which, gradient in enumerate([mean_gradient, sd_gradient]):
            numeric = [
                (gp.predict([point + e])[which][0] - gp.predict([point - e])[which][0]) / 2e-5
                for e in 1e-5 * np.eye(3)
            ]
            assert_allclose(gradient[i], numeric, rtol=1e-5, atol=1e-4)


def in_other_units(gp):
    """The same process in other units, so that a forgotten scale shows."""
    return posterior(gp.X, 40.0 * gp.y - 7.0, gp.hyperparameters)


def test_prediction_equals_scikit_learn_with_same_hyperparameters(data, rng):
    X, y = data
    gp = posterior(X, y, SOME)
    kernel = ConstantKernel(SOME.amplitude**2) * Matern(SOME.length_scales, nu=2.5)
    # scikit-learn has no profiled mean: it is handed the observations with ours taken out.
    peer = GaussianProcessRegressor(kernel, alpha=SOME.noise**2, optimizer=None)
    centre = gp.shift + gp.scale * gp.constant
    peer.fit(X, (y - centre) / gp.scale)
    points = rng.random((50, 3))
    mean, sd = peer.predict(points, return_std=True)
    assert_allclose(gp.predict(points)[0], centre + gp.scale * mean, rtol=1e-9)
    assert_allclose(gp.predict(points)[1], gp.scale * sd, rtol=1e-6)


def evidence_at(evidence, found):
    return evidence(np.log([*found.length_scales, found.amplitude, found.noise]))[0]


@pytest.mark.parametrize("n", [30, 140])
def test_one_start_is_as_good_as_the_best_of_many(rng, n):
    X = rng.random((n, 4))
    y = smooth(X) + 0.1 * rng.standard_normal(n)
    evidence = Evidence.of(X, (y - y.mean()) / y.std(), np.arange(4))
    low, high = evidence.limits
    ends = [
        minimize(
            evidence,
            np.clip(evidence.centre + rng.standard_normal(6), low, high),
            jac=True,
            method="L-BFGS-B",
            bounds=np.column_stack([low, high]),
        ).fun
        for _ in range(8)
    ]
    assert evidence_at(evidence, fit(X, y).hyperparameters) < min(ends) + 0.05


def test_condition_equals_refit_with_same_hyperparameters(data, rng):
    X, y = data
    gp = posterior(X[:15], y[:15], SOME)
    conditioned = gp.condition(X[15:18], y[15:18]).condition(X[18:], y[18:])
    ratio = gp.scale / y.std()
    whole = posterior(
        X, y, replace(SOME, amplitude=SOME.amplitude * ratio, noise=SOME.noise * ratio)
    )
    points = rng.random((20, 3))
    assert_allclose(conditioned.predict(points), whole.predict(points), rtol=1e-8)
    assert_allclose(conditioned.y, y)


def test_condition_leaves_the_original_alone(data):
    gp = posterior(*data, SOME)
    before = gp.predict(data[0])
    gp.condition([[0.5, 0.5, 0.5]], [9.0])
    assert_allclose(gp.predict(data[0]), before, rtol=0.0)
    with pytest.raises(FrozenInstanceError):
        gp.scale = 2.0


def test_later_changes_to_the_data_do_not_reach_the_process(data):
    X, y = data
    gp = posterior(X, y, SOME)
    before = gp.predict([[0.5, 0.5, 0.5]])
    X[:], y[:] = 0.0, 0.0
    assert_allclose(gp.predict([[0.5, 0.5, 0.5]]), before, rtol=0.0)


def test_no_new_rows_and_no_points_are_no_problem(data):
    gp = posterior(*data, SOME)
    assert gp.condition(np.empty((0, 3)), []) is gp
    assert [part.shape for part in gp.predict_with_gradient(np.empty((0, 3)))] == [
        (0,),
        (0,),
        (0, 3),
        (0, 3),
    ]


def test_process_interpolates_noiseless_data(rng):
    X = rng.random((40, 3))
    mean, sd = fit(X, smooth(X)).predict(X)
    assert_allclose(mean, smooth(X), atol=5e-3)
    assert sd.max() < 0.02


def test_noise_is_recovered(rng):
    X = rng.random((150, 2))
    gp = fit(X, np.sin(5.0 * X[:, 0]) + 0.3 * rng.standard_normal(150))
    assert 0.2 < gp.hyperparameters.noise * gp.scale < 0.4


def test_irrelevant_coordinates_get_long_length_scales(rng):
    X = rng.random((80, 5))
    scales = fit(X, np.sin(6.0 * X[:, 1])).hyperparameters.length_scales
    assert scales[1] < 0.5 * np.delete(scales, 1).min()


def test_predictions_are_calibrated_on_samples_of_a_known_process(rng):
    inside = []
    for _ in range(12):
        X = rng.random((90, 2))
        K = Matern([0.4, 0.7], nu=2.5)(X) + 1e-8 * np.eye(90)
        latent = 3.0 + 2.0 * np.linalg.cholesky(K) @ rng.standard_normal(90)
        gp = fit(X[:40], latent[:40] + 0.1 * rng.standard_normal(40))
        mean, sd = gp.predict(X[40:])
        inside.append(np.abs(latent[40:] - mean) < 1.645 * sd)
    assert 0.82 < np.mean(inside) < 0.96


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_priors_keep_ten_points_in_ten_dimensions_from_being_overfitted():
    deviations, log_losses, unguarded = [], [], []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X, y = rng.random((10, 10)), rng.standard_normal(10)  # nothing to learn
        X_test, y_test = rng.random((200, 10)), rng.standard_normal(200)
        gp = fit(X, y)
        mean, sd = gp.predict(X_test)
        sd = np.hypot(sd, gp.hyperparameters.noise * gp.scale)
        deviations.append(np.sqrt(np.mean(((y_test - mean) / sd) ** 2)))
        log_losses.append(-norm.logpdf(y_test, mean, sd).mean())
        kernel = ConstantKernel() * Matern(np.ones(10), nu=2.5) + WhiteKernel()
        peer = GaussianProcessRegressor(kernel, normalize_y=True).fit(X, y)
        unguarded.append(-norm.logpdf(y_test, *peer.predict(X_test, return_std=True)).mean())
    # One is perfect. In as many dimensions as points some overconfidence remains.
    assert np.median(deviations) < 2.0
    assert max(deviations) < 3.0
    assert np.mean(log_losses) < np.mean(unguarded) - 1.0


def test_groups_tie_length_scales(rng):
    category = rng.integers(3, size=60)
    X = np.column_stack([rng.random(60), np.eye(3)[category]])
    gp = fit(X, X[:, 0] + category, groups=[0, 4, 4, 4])
    assert gp.hyperparameters.length_scales.shape == (2,)
    probe = np.array([[0.5, *row] for row in np.eye(3)])
    assert_allclose(gp.predict(probe)[0], [0.5, 1.5, 2.5], atol=0.1)


def test_unit_of_observations_does_not_matter(data):
    X, y = data
    mean, sd = fit(X, y).predict(X)
    other_mean, other_sd = fit(X, 1e3 * y - 5.0).predict(X)
    assert_allclose(other_mean, 1e3 * mean - 5.0, rtol=1e-4)
    assert_allclose(other_sd, 1e3 * sd, rtol=1e-3)


def test_warm_start_ends_where_the_cold_start_did(data):
    cold = fit(*data)
    warm = fit(*data, start=cold.hyperparameters)
    assert_allclose(warm.predict(data[0])[0], cold.predict(data[0])[0], atol=5e-3)


def test_restarts_never_worsen_the_evidence(rng):
    X = rng.random((20, 2))
    y = np.sin(25.0 * X[:, 0]) + 0.1 * rng.standard_normal(20)
    evidence = Evidence.of(X, (y - y.mean()) / y.std(), np.arange(2))
    one, four = fit(X, y).hyperparameters, fit(X, y, restarts=3).hyperparameters
    assert evidence_at(evidence, four) <= evidence_at(evidence, one) + 1e-9


def test_fit_is_deterministic(data):
    assert_allclose(fit(*data).predict(data[0]), fit(*data).predict(data[0]), rtol=0.0)


HARD = {
    "one row": (np.array([[0.2, 0.4]]), np.array([3.0])),
    "two equal rows": (np.full((2, 2), 0.5), np.array([1.0, 2.0])),
    "no columns": (np.empty((5, 0)), np.arange(5.0)),
    "constant y": (np.random.default_rng(0).random((12, 2)), np.full(12, 0.1)),
    "duplicate rows": (np.repeat(np.eye(3), 20, axis=0), np.tile([1.0, 2.0, 3.0], 20)),
    "near-duplicate rows": (
        0.5 + 1e-9 * np.random.default_rng(0).random((30, 2)),
        np.random.default_rng(1).random(30),
    ),
    "constant column": (
        np.column_stack([np.linspace(0, 1, 150), np.zeros(150)]),
        np.linspace(0, 1, 150),
    ),
    "huge y": (np.random.default_rng(0).random((10, 2)), 1e200 * np.arange(10.0)),
    "tiny y": (np.random.default_rng(0).random((10, 2)), 1e-200 * np.arange(10.0)),
    "one outlier": (np.random.default_rng(0).random((20, 2)), np.r_[1e12, np.arange(19.0)]),
}


@pytest.mark.parametrize("name", HARD)
def test_hard_data_give_finite_predictions(name):
    X, y = HARD[name]
    gp = fit(X, y)
    points = np.vstack([X, np.random.default_rng(3).random((20, X.shape[1]))])
    for process in (gp, gp.condition(X, y), gp.condition(points[-1:], y[:1])):
        assert isinstance(process, GaussianProcess)
        for part in process.predict_with_gradient(points):
            assert np.isfinite(part).all()
        assert (process.predict(points)[1] > 0.0).all()


def test_nearly_noiseless_kernel_of_equal_rows_is_regularised():
    gp = posterior(np.full((30, 1), 0.5), np.arange(30.0), Hyperparameters(np.ones(1), 1.0, 1e-12))
    assert np.isfinite(gp.predict([[0.5], [0.9]])).all()


def test_constant_observations_are_predicted_exactly(rng):
    gp = fit(rng.random((8, 2)), np.full(8, 0.3))
    assert_allclose(gp.predict(rng.random((5, 2)))[0], 0.3)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[np.nan]], [1.0], "'X' must be finite"),
        ([[0.5]], [np.inf], "'y' must be finite"),
        ([0.5], [1.0], "'X' must have shape"),
        ([[0.5], [0.6]], [1.0], "'y' must have shape"),
        (np.empty((0, 2)), [], "at least one row"),
    ],
)
def test_bad_data_are_refused(X, y, message):
    with pytest.raises(DefinitionError, match=message):
        fit(X, y)


def test_bad_options_are_refused(data):
    with pytest.raises(DefinitionError, match="'groups' must have one number"):
        fit(*data, groups=[0, 1])
    with pytest.raises(DefinitionError, match="'start' must have 2 length scales"):
        fit(*data, groups=[0, 1, 1], start=SOME)
    with pytest.raises(DefinitionError, match="positive and finite"):
        Hyperparameters(np.ones(2), amplitude=np.nan, noise=0.1)
    with pytest.raises(DefinitionError, match="must have shape \\(rows, 3\\)"):
        fit(*data).predict([[0.5]])
