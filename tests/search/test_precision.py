import pytest

from fenceline import Adaptive, Fixed
from fenceline.errors import DefinitionError


def test_fixed_precision_is_the_same_in_every_iteration():
    assert [Fixed(32)(t) for t in range(3)] == [32, 32, 32]


def test_adaptive_precision_grows_by_a_step_up_to_its_end():
    assert [Adaptive(16, 40, 8)(t) for t in range(5)] == [16, 24, 32, 40, 40]


def test_adaptive_precision_does_not_overshoot():
    assert [Adaptive(5, 12, 4)(t) for t in range(4)] == [5, 9, 12, 12]


@pytest.mark.parametrize("value", [0, -3, 2.0, True, None, "16", float("nan")])
def test_a_number_of_evaluations_is_a_positive_whole_number(value):
    with pytest.raises(DefinitionError, match=f"Fixed: evaluations must be .* Got {value!r}"):
        Fixed(value)
    for name in ("start", "stop", "step"):
        with pytest.raises(DefinitionError, match=f"Adaptive: {name} must be .* Got {value!r}"):
            Adaptive(**{name: value})


def test_adaptive_precision_cannot_end_below_its_start():
    with pytest.raises(DefinitionError, match=r"stop must be at least start=64\. Got 16"):
        Adaptive(64, 16)
