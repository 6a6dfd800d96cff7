import numpy as np
import pytest

from fenceline.search.surrogates.warp import Warp

Y = np.random.default_rng(0).lognormal(size=50)


@pytest.mark.parametrize("logarithmic", [False, True])
def test_warps_increase_and_standardise(logarithmic):
    warp = Warp.of(Y, logarithmic=logarithmic)
    assert warp(Y).mean() == pytest.approx(0.0, abs=1e-9)
    assert warp(Y).std() == pytest.approx(1.0)
    grid = np.linspace(Y.min() - 3.0, Y.max() + 3.0, 500)
    assert (np.diff(warp(grid)) > 0).all()


@pytest.mark.parametrize("logarithmic", [False, True])
def test_the_log_slope_is_that_of_the_map(logarithmic):
    warp = Warp.of(Y, logarithmic=logarithmic)
    above = Y[Y.min() < Y]
    numeric = np.log((warp(above + 1e-6) - warp(above - 1e-6)) / 2e-6).sum()
    assert warp.log_slope(above) == pytest.approx(numeric, rel=1e-4)


@pytest.mark.parametrize("values", [[3.0, 3.0, 3.0], [2.0], [1e300, -1e300, 0.0]])
def test_constant_single_and_huge_values_stay_finite(values):
    for logarithmic in (False, True):
        with np.errstate(over="ignore"):
            warped = Warp.of(np.array(values), logarithmic=logarithmic)(np.array(values))
        assert np.isfinite(warped).all()
