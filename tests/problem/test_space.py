import json
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fenceline import Algorithm, Categorical, Choice, Configuration, Integer, Module, Real, Space
from fenceline.errors import ConfigurationError, SpaceError

quick = settings(max_examples=50, deadline=None)

SPACE = Space(
    [
        Module("scaler", [Algorithm("none"), Algorithm("robust", {"q": Real(0.001, 0.3)})]),
        Module(
            "model",
            [
                Algorithm("knn", {"k": Integer(1, 100, log=True), "p": Categorical([1, 2])}),
                Algorithm("logit", {"C": Real(1e-3, 1e3, log=True)}),
                Algorithm("constant", {"value": Real(2, 2), "kind": Categorical(["only"])}),
            ],
        ),
    ]
)

PARAMETERS = st.sampled_from(
    [
        Real(0, 1),
        Real(1e6, 1e6 + 1e-3),
        Real(2**-15, 8, log=True),
        Real(1e-320, 1e-300, log=True),
        Real(-3, -3),
        Integer(-5, 5),
        Integer(1, 10**6, log=True),
        Integer(9, 9),
        Categorical(["a", None, 2, 0.5, True]),
        Categorical([None]),
    ]
)


@st.composite
def spaces(draw) -> Space:
    def algorithm(name: str) -> Algorithm:
        parameters = draw(st.lists(PARAMETERS, max_size=3))
        return Algorithm(name, {f"p{n}": p for n, p in enumerate(parameters)})

    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    return Space(
        [Module(f"m{i}", [algorithm(f"a{j}") for j in range(k)]) for i, k in enumerate(sizes)]
    )


class TestEverySpace:
    @quick
    @given(spaces(), st.integers(0, 2**32))
    def test_sampled_configuration_survives_encoding(self, space, seed):
        configuration = space.sample(np.random.default_rng(seed))
        assert space.decode(*space.encode(configuration)) == configuration

    @quick
    @given(spaces(), st.integers(0, 2**32))
    def test_decoded_configuration_survives_encoding(self, space, seed):
        rng = np.random.default_rng(seed)
        z = tuple(int(rng.integers(len(m.algorithms))) for m in space.modules)
        configuration = space.decode(z, rng.uniform(-0.1, 1.1, len(space.parameters)))
        z_again, theta = space.encode(configuration)
        assert z_again == z
        assert space.decode(z_again, theta) == configuration

    @quick
    @given(spaces(), st.integers(0, 2**32))
    def test_encoding_knows_the_active_coordinates_and_no_others(self, space, seed):
        z, theta = space.encode(space.sample(np.random.default_rng(seed)))
        assert np.flatnonzero(~np.isnan(theta)).tolist() == space.active(z).tolist()
        known = theta[space.active(z)]
        assert ((known >= 0) & (known <= 1)).all()

    @quick
    @given(spaces(), st.integers(0, 2**32))
    def test_projection_is_idempotent_and_changes_no_configuration(self, space, seed):
        theta = np.random.default_rng(seed).uniform(-0.1, 1.1, len(space.parameters))
        once = space.project(theta)
        assert space.project(once).tolist() == once.tolist()
        assert space.decode(space.first, once) == space.decode(space.first, theta)

    @quick
    @given(spaces(), st.integers(0, 2**32))
    def test_sampled_configuration_is_valid_and_survives_json(self, space, seed):
        configuration = space.sample(np.random.default_rng(seed))
        assert space.configuration(configuration) == configuration
        assert space.configuration(json.loads(json.dumps(configuration.to_dict()))) == configuration

    @quick
    @given(spaces())
    def test_description_survives_json(self, space):
        again = Space.from_dict(json.loads(json.dumps(space.to_dict(), allow_nan=False)))
        assert again == space
        assert again.parameters == space.parameters

    @quick
    @given(spaces())
    def test_can_be_pickled_and_hashed(self, space):
        assert space.parameters is not None  # cached: the copy must not depend on it
        copy = pickle.loads(pickle.dumps(space))
        assert copy == space
        assert hash(copy) == hash(space)

    @quick
    @given(spaces())
    def test_columns_divide_theta_in_order(self, space):
        slices = [s for row in space.columns for s in row]
        covered = [k for s in slices for k in range(s.start, s.stop)]
        assert covered == list(range(len(space.parameters)))

    @quick
    @given(spaces())
    def test_centre_can_be_decoded(self, space):
        configuration = space.decode(space.first, space.centre)
        assert [c.algorithm for c in configuration.values()] == [
            m.algorithms[0].name for m in space.modules
        ]


def test_size_counts_combinations_of_algorithms():
    assert SPACE.size == 6


def test_cardinality_counts_configurations():
    finite = Space([Module("m", [Algorithm("a", {"k": Integer(1, 5)}), Algorithm("b")])])
    assert finite.cardinality == 6
    assert SPACE.cardinality == math.inf


def test_cardinality_of_a_huge_space_is_infinite():
    wide = {f"p{k}": Integer(0, 2**40) for k in range(30)}
    modules = [
        Module("m", [Algorithm("a", wide)]),
        Module("r", [Algorithm("a", {"x": Real(0, 1)})]),
    ]
    assert Space(modules).cardinality == math.inf


def test_every_algorithm_is_sampled():
    rng = np.random.default_rng(0)
    drawn = {c["model"].algorithm for c in (SPACE.sample(rng) for _ in range(100))}
    assert drawn == {"knn", "logit", "constant"}


def test_equal_algorithms_have_equal_hashes():
    x, y = Real(0, 1), Integer(0, 1)
    one, other = Algorithm("a", {"x": x, "y": y}), Algorithm("a", {"y": y, "x": x})
    assert one == other
    assert hash(one) == hash(other)


def test_definition_does_not_follow_later_changes_of_its_arguments():
    params = {"x": Real(0, 1)}
    algorithms = [Algorithm("a", params)]
    module = Module("m", algorithms)
    params["y"] = Real(0, 1)
    algorithms.append(Algorithm("b"))
    assert module == Module("m", [Algorithm("a", {"x": Real(0, 1)})])


class TestConfigurationByHand:
    @pytest.mark.parametrize(
        "scaler", ["none", ("none", {}), ["none", {}], Choice("none")], ids=repr
    )
    def test_choice_can_be_written_in_several_ways(self, scaler):
        made = SPACE.configuration({"model": ("logit", {"C": 1}), "scaler": scaler})
        assert made["scaler"] == Choice("none")
        assert list(made) == ["scaler", "model"]

    @pytest.mark.parametrize(
        ("choices", "words"),
        [
            ([("scaler", "none")], "maps module names to choices"),
            ({"scaler": "none"}, "'model' has no choice; choose one"),
            ({"scalar": "none"}, "no module 'scalar'. Did you mean 'scaler'"),
            ({"zzz": "none"}, "no module 'zzz'. Known: 'scaler', 'model'"),
            ({"scaler": "non", "model": "knn"}, "no algorithm 'non'. Did you mean 'none'"),
            ({"scaler": 5, "model": "knn"}, r"expected \(algorithm, params\). Got 5"),
            ({"scaler": ("none",), "model": "knn"}, r"expected \(algorithm, params\)"),
            ({"scaler": ("none", 5), "model": "knn"}, r"expected \(algorithm, params\)"),
            ({"scaler": "robust", "model": "knn"}, "'robust' lacks a value for 'q'; give one"),
            (
                {"scaler": ("robust", {"q": 0.1, "r": 1}), "model": "knn"},
                "'robust' has no hyper-parameter 'r'. Known: 'q'",
            ),
            (
                {"scaler": ("robust", {"q": 0.5}), "model": "knn"},
                r"'robust': 'q' must lie in \[0.001",
            ),
            ({"scaler": ("robust", {"q": "a"}), "model": "knn"}, "'robust': 'q' must be a number"),
            (
                {"scaler": "none", "model": ("knn", {"k": 2.5, "p": 1})},
                "'knn': 'k' must be a whole number",
            ),
            (
                {"scaler": "none", "model": ("knn", {"k": 2, "p": 3})},
                r"'knn': 'p' must be one of \[1, 2\]. Got 3",
            ),
        ],
    )
    def test_mistake_is_explained(self, choices, words):
        with pytest.raises(ConfigurationError, match=words):
            SPACE.configuration(choices)

    def test_configuration_of_another_space_is_refused_when_encoded(self):
        foreign = Configuration((("scaler", Choice("none")), ("model", Choice("svm"))))
        with pytest.raises(ConfigurationError, match="no algorithm 'svm'"):
            SPACE.encode(foreign)
        with pytest.raises(ConfigurationError, match="'model' has no choice"):
            SPACE.encode(Configuration((("scaler", Choice("none")),)))
        with pytest.raises(ConfigurationError, match="lacks a value for 'q'"):
            SPACE.encode(Configuration((("scaler", Choice("robust")), ("model", Choice("knn")))))


class TestBadDefinitions:
    @pytest.mark.parametrize("name", ["", None, 5])
    def test_names_must_be_non_empty_strings(self, name):
        for make in (
            lambda: Algorithm(name),
            lambda: Module(name, [Algorithm("a")]),
            lambda: Algorithm("a", {name: Real(0, 1)}),
        ):
            with pytest.raises(SpaceError, match="name must be a non-empty string"):
                make()

    def test_params_must_be_a_mapping(self):
        with pytest.raises(SpaceError, match="params must map names"):
            Algorithm("a", [Real(0, 1)])

    @pytest.mark.parametrize("value", [5, (0, 1), None, Real])
    def test_params_must_be_hyper_parameters(self, value):
        with pytest.raises(SpaceError, match=r"must be a Real, Integer or Categorical.*constant"):
            Algorithm("a", {"x": value})

    def test_empty_module_is_refused(self):
        with pytest.raises(SpaceError, match="'m' is empty; give it at least one"):
            Module("m", [])

    @pytest.mark.parametrize("algorithms", ["abc", Algorithm("a"), None, {"a": Algorithm("a")}])
    def test_algorithms_must_be_a_list(self, algorithms):
        with pytest.raises(SpaceError, match="algorithms must be a list"):
            Module("m", algorithms)

    def test_algorithms_must_be_algorithms(self):
        with pytest.raises(
            SpaceError, match=r"'knn' is not an Algorithm; write Algorithm\('knn'\)"
        ):
            Module("m", ["knn"])

    def test_duplicate_algorithms_are_refused(self):
        with pytest.raises(SpaceError, match=r"algorithm names must all differ. Repeated: \['a'\]"):
            Module("m", [Algorithm("a"), Algorithm("b"), Algorithm("a")])

    def test_empty_space_is_refused(self):
        with pytest.raises(SpaceError, match="no module; give at least one"):
            Space([])

    @pytest.mark.parametrize("modules", ["abc", Module("m", [Algorithm("a")]), None, 5])
    def test_modules_must_be_a_list(self, modules):
        with pytest.raises(SpaceError, match="modules must be a list of Module"):
            Space(modules)

    def test_modules_must_be_modules(self):
        with pytest.raises(SpaceError, match="is not a Module; write Module"):
            Space([Algorithm("a")])

    def test_duplicate_modules_are_refused(self):
        module = Module("m", [Algorithm("a")])
        with pytest.raises(SpaceError, match=r"module names must all differ. Repeated: \['m'\]"):
            Space([module, module])

    @pytest.mark.parametrize(
        "description",
        [
            {},
            {"modules": None},
            {"modules": ["m"]},
            {"modules": [{"name": "m"}]},
            {"modules": [{"name": "m", "algorithms": [{"name": "a"}]}]},
            {"modules": [{"name": "m", "algorithms": [{"name": "a", "params": [1]}]}]},
            {
                "modules": [
                    {"name": "m", "algorithms": [{"name": "a", "params": {"x": {"type": "real"}}}]}
                ]
            },
        ],
    )
    def test_broken_description_is_refused(self, description):
        with pytest.raises(SpaceError, match="not the description of a space"):
            Space.from_dict(description)
