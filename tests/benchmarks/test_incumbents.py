import math

import numpy as np
import pytest

from benchmarks.incumbents import Trajectory, compare, log_advantage, quartiles, time_grid


def trajectory(*pairs: tuple[float, float]) -> Trajectory:
    seconds, objectives = np.array(pairs).T
    return Trajectory(seconds, np.arange(1.0, len(pairs) + 1), objectives, len(pairs), 1.0)


def test_the_incumbent_is_infinite_before_the_first_and_holds_after_the_last():
    found = trajectory((1.0, 5.0), (2.0, 3.0))
    assert found.at(np.array([0.5, 1.0, 1.9, 2.0, 9.0])).tolist() == [math.inf, 5.0, 5.0, 3.0, 3.0]
    assert [found.reached(v) for v in (5.0, 4.0, 1.0)] == [1.0, 2.0, math.inf]


def test_quartiles_wait_until_every_run_has_an_incumbent():
    runs = [trajectory((1.0, 4.0)), trajectory((2.0, 2.0))]
    median, low, high = quartiles(runs, np.array([1.5, 3.0]))
    assert np.isnan([median[0], low[0], high[0]]).all()
    assert [median[1], low[1], high[1]] == [3.0, 2.5, 3.5]


def test_speed_up_and_improvement_are_those_worked_out_by_hand():
    # Rival ends at 4; ours is there after 0.1 s of 10 s (100 times sooner) and ends at 3 (25 % lower).
    runs = {
        "ours": [trajectory((0.01, 8.0), (0.1, 4.0), (5.0, 3.0))],
        "rival": [trajectory((1.0, 4.0))],
    }
    found = compare("ours", "rival", runs, 10.0)
    assert found.speedup == pytest.approx(100.0)
    assert found.improvement == pytest.approx(25.0)
    # The median curve is read off a grid, whose steps are below 3 %.
    assert found.speedup_of_medians == pytest.approx(100.0, rel=0.03)
    assert found.improvement_of_medians == pytest.approx(25.0)


def test_a_value_never_reached_is_no_speed_up_at_all():
    runs = {"ours": [trajectory((0.1, 4.0))], "rival": [trajectory((1.0, 2.0))]}
    found = compare("ours", "rival", runs, 10.0)
    assert (found.speedup, found.speedup_of_medians, found.improvement) == (0.0, 0.0, -100.0)


def test_log_advantage_is_positive_for_the_lower_curve_and_zero_for_itself():
    half, whole = [trajectory((0.1, 1.0))], [trajectory((0.1, 2.0))]
    times = time_grid(10.0)
    assert log_advantage(half, whole, times) == pytest.approx([math.log(2.0)])
    assert log_advantage(whole, whole, times) == pytest.approx([0.0])
