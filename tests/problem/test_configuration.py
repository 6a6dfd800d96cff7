import copy
import json
import pickle

import numpy as np
import pytest

from fenceline import Algorithm, Categorical, Choice, Configuration, Integer, Module, Real, Space
from fenceline.problem.configuration import FrozenParams


@pytest.fixture
def space() -> Space:
    return Space(
        [
            Module("scaler", [Algorithm("none"), Algorithm("robust", {"q": Real(0.001, 0.3)})]),
            Module("model", [Algorithm("knn", {"k": Integer(1, 100), "p": Categorical([1, 2])})]),
        ]
    )


@pytest.fixture
def knn(space) -> Configuration:
    return space.configuration({"scaler": "none", "model": ("knn", {"k": 5, "p": 2})})


def test_configuration_is_a_mapping_from_module_to_choice(knn):
    assert list(knn) == ["scaler", "model"]
    assert len(knn) == 2
    assert "model" in knn
    assert knn["model"] == Choice("knn", {"k": 5, "p": 2})
    assert knn["model"].algorithm == "knn"
    assert knn["model"].params == {"k": 5, "p": 2}


def test_unknown_module_is_a_key_error(knn):
    with pytest.raises(KeyError, match="nothing"):
        knn["nothing"]
    assert knn.get("nothing") is None


@pytest.mark.parametrize(
    "change",
    [
        lambda p: p.update(k=6),
        lambda p: p.__setitem__("k", 6),
        lambda p: p.__delitem__("k"),
        lambda p: p.setdefault("j", 6),
        lambda p: p.pop("k"),
        lambda p: p.popitem(),
        lambda p: p.clear(),
        lambda p: p.__ior__({"k": 6}),
    ],
)
def test_hyper_parameters_cannot_be_changed(knn, change):
    with pytest.raises(
        TypeError, match=r"cannot be changed; make another with space.configuration"
    ):
        change(knn["model"].params)
    assert knn["model"].params == {"k": 5, "p": 2}


def test_equal_configurations_have_equal_hashes_and_keys(space, knn):
    same = space.configuration(
        {"model": ["knn", {"p": 2.0, "k": np.int64(5)}], "scaler": ("none", {})}
    )
    assert same == knn
    assert hash(same) == hash(knn)
    assert same.key == knn.key


def test_negative_zero_is_the_same_configuration_as_zero():
    space = Space([Module("m", [Algorithm("a", {"x": Real(-1, 1)})])])
    minus, plus = (space.configuration({"m": ("a", {"x": x})}) for x in (-0.0, 0.0))
    assert minus == plus
    assert minus.key == plus.key


def test_keys_differ_where_configurations_differ(space):
    rng = np.random.default_rng(0)
    configurations = [space.sample(rng) for _ in range(400)]
    assert len({c.key for c in configurations}) == len(set(configurations))
    for one in configurations[:40]:
        for other in configurations[:40]:
            assert (one.key == other.key) == (one == other)


def test_key_is_one_line_of_json_that_makes_the_configuration_again(space, knn):
    assert "\n" not in knn.key
    assert space.configuration(json.loads(knn.key)) == knn


def test_description_survives_json(space, knn):
    assert space.configuration(json.loads(json.dumps(knn.to_dict()))) == knn


def test_copies_are_equal_and_frozen(knn):
    for other in (pickle.loads(pickle.dumps(knn)), copy.deepcopy(knn), copy.copy(knn)):
        assert other == knn
        assert hash(other) == hash(knn)
        with pytest.raises(TypeError, match="cannot be changed"):
            other["model"].params["k"] = 1


def test_text_reads_as_a_pipeline(space, knn):
    assert str(knn) == "none -> knn(k=5, p=2)"
    robust = space.configuration({"scaler": ("robust", {"q": 0.123456}), "model": knn["model"]})
    assert str(robust["scaler"]) == "robust(q=0.1235)"


def test_choice_without_hyper_parameters_is_hashable():
    assert hash(Choice("none")) == hash(Choice("none", FrozenParams()))
