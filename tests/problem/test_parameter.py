import json
import math
import pickle
from dataclasses import FrozenInstanceError, fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fenceline import Categorical, Integer, Real
from fenceline.errors import ConfigurationError, SpaceError
from fenceline.problem.parameter import Parameter, parameter_from_dict, parameter_to_dict

quick = settings(max_examples=50, deadline=None)

FINITE = st.floats(allow_nan=False, allow_infinity=False)
UNITS = st.floats(0.0, 1.0)
ANYWHERE = st.floats(-0.5, 1.5)

HARD_REALS = [
    Real(0.0, 1.0),
    Real(-1.0, 1.0),
    Real(1e6, 1e6 + 1e-3),
    Real(1e6, 1e6 + 1e-3, log=True),
    Real(-1e12, -1e12 + 1),
    Real(-8e307, 8e307),
    Real(1.0, 1.0 + 2**-52),
    Real(0.0, 5e-324),
    Real(5e-324, 1e-310, log=True),
    Real(5e-324, 1.7e308, log=True),
    Real(1e-200, 1e200, log=True),
    Real(2**-15, 8.0, log=True),
    Real(1e-300, 1.0001e-300, log=True),
    Real(3.5, 3.5),
    Real(3.5, 3.5, log=True),
]
HARD_INTEGERS = [
    Integer(0, 1),
    Integer(7, 7),
    Integer(7, 7, log=True),
    Integer(-5, 10),
    Integer(1, 10**13, log=True),
    Integer(2**53 - 5, 2**53),
    Integer(2**48 - 5, 2**48, log=True),
    Integer(-(2**48), 2**48),
]


@st.composite
def reals(draw) -> Real:
    if draw(st.booleans()):
        return draw(st.sampled_from(HARD_REALS))
    log = draw(st.booleans())
    bound = st.floats(5e-324, 1e300) if log else st.floats(-1e300, 1e300)
    return Real(*sorted((draw(bound), draw(bound))), log=log)


@st.composite
def integers(draw) -> Integer:
    if draw(st.booleans()):
        return draw(st.sampled_from(HARD_INTEGERS))
    log = draw(st.booleans())
    low = draw(st.integers(1 if log else -(10**6), 10**6))
    return Integer(low, low + draw(st.integers(0, 10**6)), log=log)


@st.composite
def categoricals(draw) -> Categorical:
    values = st.none() | st.text(max_size=3) | st.integers(-9, 9) | FINITE | st.booleans()
    return Categorical(draw(st.lists(values, min_size=1, max_size=6, unique=True)))


PARAMETERS = st.one_of(reals(), integers(), categoricals())


class TestEveryParameter:
    @quick
    @given(PARAMETERS, ANYWHERE)
    def test_projection_is_idempotent_and_stays_in_the_unit_interval(self, parameter, u):
        once = parameter.project(np.float64(u))
        assert 0.0 <= once <= 1.0
        assert parameter.project(once) == once

    @quick
    @given(PARAMETERS, UNITS)
    def test_decoded_value_survives_encoding(self, parameter: Parameter, u):
        value = parameter.from_unit(u)
        again = parameter.from_unit(parameter.to_unit(value))
        assert again == value
        assert type(again) is type(value)

    @quick
    @given(PARAMETERS, st.integers(0, 2**32))
    def test_sampled_value_is_admissible_and_survives_encoding(self, parameter: Parameter, seed):
        value = parameter.sample(np.random.default_rng(seed))
        assert parameter.check(value) == value
        assert parameter.from_unit(parameter.to_unit(value)) == value

    @quick
    @given(PARAMETERS, UNITS)
    def test_coordinate_lies_in_the_unit_interval(self, parameter: Parameter, u):
        assert 0.0 <= parameter.to_unit(parameter.from_unit(u)) <= 1.0

    @quick
    @given(PARAMETERS, st.lists(ANYWHERE, max_size=5))
    def test_arrays_are_projected_like_their_entries(self, parameter: Parameter, units):
        together = parameter.project(np.array(units))
        assert together.tolist() == [float(parameter.project(np.float64(u))) for u in units]

    @quick
    @given(PARAMETERS)
    def test_description_survives_json(self, parameter: Parameter):
        text = json.dumps(parameter_to_dict(parameter), allow_nan=False)
        assert parameter_from_dict(json.loads(text)) == parameter

    @quick
    @given(PARAMETERS)
    def test_can_be_pickled_and_hashed(self, parameter: Parameter):
        copy = pickle.loads(pickle.dumps(parameter))
        assert copy == parameter
        assert hash(copy) == hash(parameter)

    @quick
    @given(PARAMETERS)
    def test_cannot_be_changed(self, parameter: Parameter):
        name = fields(parameter)[0].name
        with pytest.raises(FrozenInstanceError):
            setattr(parameter, name, getattr(parameter, name))


class TestReal:
    @quick
    @given(reals())
    def test_ends_are_reached_exactly(self, parameter):
        assert parameter.from_unit(0.0) == parameter.low
        assert parameter.from_unit(1.0) == parameter.high

    @quick
    @given(reals(), UNITS, UNITS)
    def test_scale_never_turns_round(self, parameter, u, v):
        low, high = sorted((u, v))
        assert parameter.from_unit(low) <= parameter.from_unit(high)

    @quick
    @given(reals(), ANYWHERE)
    def test_projection_moves_by_no_more_than_half_a_step(self, parameter, u):
        # Only a range of a handful of floats has a coarse grid: two steps at the least.
        narrow = (parameter.high - parameter.low) / math.ulp(parameter.high) < 2**20
        limit = 0.25 if narrow else 2**-15
        assert abs(parameter.project(np.float64(u)) - min(max(u, 0.0), 1.0)) <= limit

    @pytest.mark.parametrize(
        "parameter",
        [
            Real(0, 1),
            Real(1e6, 1e6 + 1e-3),
            Real(1e6, 1e6 + 1e-3, log=True),
            Real(1e-7, 0.1, log=True),
        ],
        ids=str,
    )
    def test_coordinates_on_the_grid_survive_decoding(self, parameter):
        for u in parameter.project(np.random.default_rng(0).random(500)):
            there_and_back = parameter.to_unit(parameter.from_unit(u))
            assert parameter.project(np.float64(there_and_back)) == u

    def test_log_scale_puts_the_geometric_mean_in_the_middle(self):
        assert Real(1e-4, 1e4, log=True).from_unit(0.5) == pytest.approx(1.0)
        assert Real(1e-200, 1e200, log=True).from_unit(0.5) == pytest.approx(1.0)

    def test_values_become_floats(self):
        assert type(Real(0, 10).check(5)) is float
        assert type(Real(0, 10).check(np.float32(0.5))) is float
        assert type(Real(0, 10).low) is float

    def test_negative_zero_is_written_as_zero(self):
        assert math.copysign(1.0, Real(-1, 1).check(-0.0)) == 1.0
        assert math.copysign(1.0, Real(-0.0, 1).from_unit(0.0)) == 1.0

    @pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 10**400, -(10**400)])
    def test_bounds_must_be_finite(self, bad):
        with pytest.raises(SpaceError, match="must be finite"):
            Real(0.0, bad)
        with pytest.raises(SpaceError, match="must be finite"):
            Real(bad, 0.0)

    @pytest.mark.parametrize("bad", ["1", None, True, np.True_, [1], 1j, np.complex128(1)])
    def test_bounds_must_be_numbers(self, bad):
        with pytest.raises(SpaceError, match=r"low must be a number. Got"):
            Real(bad, 1.0)

    def test_low_above_high_is_refused(self):
        with pytest.raises(SpaceError, match=r"low=2.0 and high=1.0; swap them"):
            Real(2, 1)

    @pytest.mark.parametrize("low", [0.0, -1.0])
    def test_log_scale_needs_a_positive_low(self, low):
        with pytest.raises(SpaceError, match=r"log scale needs low > 0.*drop log=True"):
            Real(low, 1.0, log=True)

    def test_log_must_be_a_boolean(self):
        with pytest.raises(SpaceError, match=r"log must be True or False. Got 'yes'"):
            Real(1, 2, log="yes")

    def test_range_wider_than_a_float_is_refused(self):
        with pytest.raises(SpaceError, match="wider than a float"):
            Real(-1.7e308, 1.7e308)

    @pytest.mark.parametrize("bad", ["0.5", None, True, np.True_, [0.5], 1j])
    def test_value_must_be_a_number(self, bad):
        with pytest.raises(ConfigurationError, match=r"must be a number in \[0.0, 1.0\]"):
            Real(0, 1).check(bad)

    @pytest.mark.parametrize("bad", [-0.1, 1.1, math.nan, math.inf, 10**400])
    def test_value_must_lie_in_the_range(self, bad):
        with pytest.raises(ConfigurationError, match=r"must lie in \[0.0, 1.0\]. Got"):
            Real(0, 1).check(bad)

    def test_single_precision_value_beyond_the_range_is_refused(self):
        with pytest.raises(ConfigurationError, match="must lie in"):
            Real(0, 0.1).check(np.float32(0.1))


class TestInteger:
    @quick
    @given(integers(), ANYWHERE)
    def test_projection_is_nearest(self, parameter, u):
        u = min(max(u, 0.0), 1.0)
        found = parameter.from_unit(u)
        for other in (found - 1, found + 1):
            if parameter.low <= other <= parameter.high:
                distance = abs(parameter.to_unit(other) - u)
                assert abs(parameter.to_unit(found) - u) <= distance + 1e-15

    @pytest.mark.parametrize("parameter", [Integer(-3, 12), Integer(1, 40, log=True)], ids=str)
    def test_projection_agrees_with_trying_them_all(self, parameter):
        lattice = np.array([parameter.to_unit(n) for n in range(parameter.low, parameter.high + 1)])
        for u in np.random.default_rng(0).random(300):
            assert parameter.project(u) == lattice[np.abs(lattice - u).argmin()]

    @pytest.mark.parametrize("parameter", HARD_INTEGERS, ids=str)
    def test_neighbours_at_the_ends_have_coordinates_of_their_own(self, parameter):
        ends = [
            *range(parameter.low, parameter.low + 50),
            *range(parameter.high - 50, parameter.high + 1),
        ]
        for n in ends:
            if parameter.low <= n <= parameter.high:
                assert parameter.from_unit(parameter.to_unit(n)) == n

    def test_every_value_is_sampled(self):
        rng = np.random.default_rng(0)
        for parameter in (Integer(1, 5), Integer(1, 5, log=True)):
            counts = np.bincount([parameter.sample(rng) for _ in range(1000)], minlength=6)
            assert (counts[1:] > 50).all()

    def test_log_scale_samples_small_values_more_often(self):
        rng = np.random.default_rng(0)
        drawn = [Integer(1, 1000, log=True).sample(rng) for _ in range(500)]
        assert 10 < np.median(drawn) < 60

    def test_whole_floats_are_taken_as_integers(self):
        assert Integer(1.0, np.int64(5)) == Integer(1, 5)
        assert type(Integer(1, 5).check(3.0)) is int
        assert type(Integer(1, 5).check(np.int8(3))) is int

    def test_size_counts_both_ends(self):
        assert Integer(1, 10).size == 10

    @pytest.mark.parametrize("bad", [1.5, np.float32(0.25)])
    def test_bounds_must_be_whole(self, bad):
        with pytest.raises(SpaceError, match="must be a whole number; use Real"):
            Integer(bad, 5)

    @pytest.mark.parametrize("bad", ["1", None, True, np.False_])
    def test_bounds_must_be_numbers(self, bad):
        with pytest.raises(SpaceError, match="high must be a number"):
            Integer(0, bad)

    @pytest.mark.parametrize("bad", [math.nan, math.inf])
    def test_bounds_must_be_finite(self, bad):
        with pytest.raises(SpaceError, match="high must be finite"):
            Integer(0, bad)

    def test_low_above_high_is_refused(self):
        with pytest.raises(SpaceError, match="low=5 and high=1; swap them"):
            Integer(5, 1)

    @pytest.mark.parametrize("low", [0, -3])
    def test_log_scale_needs_a_positive_low(self, low):
        with pytest.raises(SpaceError, match=r"log scale needs low > 0"):
            Integer(low, 10, log=True)

    @pytest.mark.parametrize("bad", [2**53 + 1, -(2**53) - 1, 10**30])
    def test_bounds_beyond_exact_floats_are_refused(self, bad):
        with pytest.raises(SpaceError, match=r"below 2\*\*53"):
            Integer(*sorted((0, bad)))

    @pytest.mark.parametrize(("low", "log"), [(-(2**53), False), (1, True), (2**53 - 5, True)])
    def test_more_whole_numbers_than_coordinates_are_refused(self, low, log):
        with pytest.raises(SpaceError, match=r"too many whole numbers .* lower high, or use Real"):
            Integer(low, 2**53, log=log)

    @pytest.mark.parametrize("bad", [1.5, "2", None, True, math.nan, math.inf])
    def test_value_must_be_whole(self, bad):
        with pytest.raises(ConfigurationError, match=r"must be a whole number in \[1, 5\]. Got"):
            Integer(1, 5).check(bad)

    @pytest.mark.parametrize("bad", [0, 6, -1.0])
    def test_value_must_lie_in_the_range(self, bad):
        with pytest.raises(ConfigurationError, match=r"must lie in \[1, 5\]. Got"):
            Integer(1, 5).check(bad)


class TestCategorical:
    @quick
    @given(categoricals())
    def test_every_choice_has_its_own_coordinate(self, parameter):
        units = [parameter.to_unit(c) for c in parameter.choices]
        assert len(set(units)) == parameter.size
        for unit, choice in zip(units, parameter.choices, strict=True):
            assert parameter.from_unit(unit) is choice or parameter.from_unit(unit) == choice
            assert parameter.project(np.float64(unit)) == unit

    def test_every_choice_is_sampled(self):
        rng = np.random.default_rng(0)
        parameter = Categorical(["a", None, 3])
        assert {parameter.sample(rng) for _ in range(100)} == {"a", None, 3}

    def test_numpy_values_become_plain(self):
        assert Categorical(np.array([1, 2])).choices == (1, 2)
        assert type(Categorical(np.array([1, 2])).choices[0]) is int
        assert type(Categorical([1, 2]).check(np.int64(2))) is int

    def test_true_is_not_one(self):
        with pytest.raises(ConfigurationError, match="must be one of"):
            Categorical([1, 2]).check(True)
        with pytest.raises(ConfigurationError, match="must be one of"):
            Categorical([True, False]).check(1)

    def test_choices_must_not_be_empty(self):
        with pytest.raises(SpaceError, match="must not be empty; give at least one"):
            Categorical([])

    @pytest.mark.parametrize("choices", [["a", "a"], [1, 1.0], [1, True], [0, False]])
    def test_choices_must_differ(self, choices):
        with pytest.raises(SpaceError, match="must all differ"):
            Categorical(choices)

    @pytest.mark.parametrize("choices", ["abc", {"a", "b"}, 5, None])
    def test_choices_must_be_a_list(self, choices):
        with pytest.raises(SpaceError, match=r"must be a list of values. Got"):
            Categorical(choices)

    @pytest.mark.parametrize("choice", [(1, 2), [1], len, 1j, b"a"])
    def test_choices_must_be_writable_as_json(self, choice):
        with pytest.raises(SpaceError, match="Name it by a string"):
            Categorical(["a", choice])

    @pytest.mark.parametrize("choice", [math.nan, math.inf])
    def test_choices_must_be_finite(self, choice):
        with pytest.raises(SpaceError, match="must be finite"):
            Categorical([0.0, choice])

    @pytest.mark.parametrize("bad", ["c", None, 1.0, ["a"], np.array(["a", "b"])])
    def test_value_must_be_one_of_the_choices(self, bad):
        with pytest.raises(ConfigurationError, match=r"must be one of \['a', 'b'\]. Got"):
            Categorical(["a", "b"]).check(bad)


def test_unknown_type_in_a_description_is_refused():
    with pytest.raises(SpaceError, match=r"must be one of \['categorical', .*Got 'complex'"):
        parameter_from_dict({"type": "complex", "low": 0, "high": 1})


def test_sizes_and_order_are_known():
    assert Real(0, 1).size is None
    assert Real(2, 2).size == 1
    assert Categorical(["a", "b"]).size == 2
    assert [p.ordered for p in (Real(0, 1), Integer(0, 1), Categorical([1]))] == [True, True, False]
