import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fenceline import Algorithm, Module, Space
from fenceline.errors import SpaceError
from fenceline.problem.template import Joined, Slot, filled, flow, in_order, joined, parse

NAMES = st.sampled_from(["a", "b_2", "scaler", "vote", "x.y", "p-q"])


def trees():
    slot = st.builds(Slot, NAMES, st.booleans())
    return st.recursive(
        slot,
        lambda inner: st.builds(
            lambda join, parts: joined(join, parts),
            st.sampled_from(["chain", "union", "vote"]),
            st.lists(inner, min_size=2, max_size=3),
        ),
        max_leaves=8,
    )


@settings(max_examples=40, deadline=None)
@given(trees())
def test_a_template_is_read_as_it_was_written(template):
    assert parse(str(template)) == template


@pytest.mark.parametrize("text", ["", "a ->", "(a + b", "a b", "a ? ?", "vote(a; b)", "+ a", "1a"])
def test_what_is_no_template_is_refused_with_its_text(text):
    with pytest.raises(SpaceError, match="cannot be read"):
        parse(text)


def test_empty_slots_go_and_a_union_of_one_is_that_one():
    template = parse("a? -> (b? + c?) -> d")
    assert filled(template, lambda s: s.name if s.name in "cd" else None) == Joined(
        "chain", ("c", "d")
    )
    assert filled(template, lambda s: None) is None


def test_a_module_that_only_bears_the_name_shape_is_an_ordinary_one():
    space = Space(
        [
            Module("shape", [Algorithm("round"), Algorithm("a -> b")]),
            Module("size", [Algorithm("s")]),
        ]
    )
    for shape in ("round", "a -> b"):
        configuration = space.configuration({"shape": shape, "size": "s"})
        assert str(configuration) == f"{shape} -> s"
        assert [name for name, _ in in_order(configuration)] == ["shape", "size"]
        assert [name for name, _ in flow(configuration).parts] == ["shape", "size"]
