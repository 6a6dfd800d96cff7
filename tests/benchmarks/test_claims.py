import numpy as np
import pytest

from benchmarks.claims import Claim, adaptive_claim, rho_claim, rival_claim, warm_claim
from benchmarks.incumbents import Comparison, Trajectory

TIMES = np.geomspace(1e-3, 10.0, 50)


def flat(*values: float) -> list[Trajectory]:
    """One run per problem, at one value from the start."""
    return [Trajectory(np.array([1e-4]), np.array([1.0]), np.array([v]), 1, 1.0) for v in values]


def comparison(**changes: object) -> Comparison:
    values = {
        "curve": "ours",
        "rival": "rival",
        "speedup": 150.0,
        "speedup_of_medians": 150.0,
        "improvement": 30.0,
        "improvement_of_medians": 30.0,
        "evaluations": 500.0,
        "rival_evaluations": 20.0,
    }
    return Comparison(**(values | changes))


def test_adaptive_precision_must_beat_every_fixed_one():
    runs = {"16": flat(2.0, 2.0), "32": flat(2.0, 2.0), "adaptive": flat(1.0, 1.0)}
    assert adaptive_claim("1a", "adaptive", ["16", "32"], runs, TIMES).holds
    runs["32"] = flat(0.5, 0.5)
    assert not adaptive_claim("1a", "adaptive", ["16", "32"], runs, TIMES).holds


def test_a_warm_start_level_with_a_cold_one_is_not_better():
    runs = {"cold": flat(1.0, 2.0), "warm": flat(1.0, 2.0)}
    assert not warm_claim("1d", "cold", "warm", runs, TIMES).holds
    runs["warm"] = flat(0.9, 1.8)
    assert warm_claim("1d", "cold", "warm", runs, TIMES).holds


def test_one_rho_that_ends_elsewhere_refutes_robustness():
    runs = {"one": flat(1.0, 2.0, 3.0), "ten": flat(1.0, 2.0, 3.0)}
    assert rho_claim("rho", "one", {"10": "ten"}, runs).holds
    # The same quartiles, yet another answer on most problems.
    runs["ten"] = flat(2.0, 3.0, 1.0)
    assert not rho_claim("rho", "one", {"10": "ten"}, runs).holds
    runs["ten"] = flat(5.0, 6.0, 7.0)
    assert not rho_claim("rho", "one", {"10": "ten"}, runs).holds


@pytest.mark.parametrize(
    "short", ["speedup", "speedup_of_medians", "improvement", "improvement_of_medians"]
)
def test_a_rival_is_beaten_only_if_all_four_figures_say_so(short: str):
    assert rival_claim("1c", comparison(), speedup=100, improvement=15).holds
    assert not rival_claim("1c", comparison(**{short: 10.0}), speedup=100, improvement=15).holds


def test_a_joint_optimiser_that_only_drew_random_points_tests_nothing():
    claim = rival_claim(
        "1c", comparison(rival_evaluations=10.0), speedup=100, improvement=15, initial=10
    )
    assert claim.holds is None


def test_verdicts_read_as_words():
    words = [Claim("1a", "", "", holds).verdict for holds in (True, False, None)]
    assert words == ["holds", "does not hold", "not tested"]
