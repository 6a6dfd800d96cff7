import pytest

from fenceline.search.admm.solvers.halving import ladder


@pytest.mark.parametrize(
    ("offered", "rungs"),
    [
        ((1 / 9, 1 / 3), (1 / 9, 1 / 3, 1.0)),
        ((0.1,), (0.1, 1.0)),
        ((0.5,), (0.5, 1.0)),
        ((0.1, 0.15, 0.22, 0.34, 0.5, 0.75), (0.1, 0.34, 1.0)),
        ((0.026, 0.039, 0.059, 0.088, 0.132, 0.198, 0.296), (0.039, 0.132, 0.296, 1.0)),
        ((0.01, 0.04, 0.16), (0.01, 0.04, 0.16, 1.0)),
    ],
)
def test_rungs_are_offered_shares_about_a_factor_apart(offered, rungs):
    assert ladder(offered, 3.0) == rungs
