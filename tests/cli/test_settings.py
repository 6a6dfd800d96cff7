import string
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fenceline.cli.settings import Settings, parse_limits
from fenceline.errors import StoreError
from fenceline.evaluation import Limits

texts = st.text(st.characters(codec="utf-8"), max_size=12)
settings = st.builds(
    Settings,
    data=texts,
    target=texts,
    task=st.sampled_from([None, "classification", "regression"]),
    objective=st.none() | texts,
    constraint=st.lists(texts, max_size=3).map(tuple),
    group=st.lists(texts, max_size=2).map(tuple),
    drop=st.lists(texts, max_size=2).map(tuple),
    weight=st.none() | texts,
    space=st.text(string.ascii_letters),
    seconds=st.none() | st.floats(1e-6, 1e9),
    evaluations=st.none() | st.integers(1, 10**9),
    workers=st.integers(1, 64),
    engine=st.none() | texts,
    limits=st.sampled_from([None, "seconds=60", "seconds=1.5,megabytes=20"]),
    cv=st.sampled_from([2, 3.0, 10, 0.25]),
    seed=st.integers(0, 2**31),
    confidence=st.floats(0.5, 1, exclude_min=True, exclude_max=True),
    joint=st.booleans(),
    unseen=st.sampled_from([None, "0.3", "other.csv"]),
    prefer=st.sampled_from([None, "certainty", "objective"]),
    group_thresholds=st.booleans(),
    ensemble=st.none() | st.integers(1, 9),
    sha256=st.none() | st.just("ab12"),
)


@given(before=settings)
def test_config_reads_back_what_it_wrote(before, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "config.toml"
    before.to_toml(path)
    assert Settings.from_toml(path) == before


def test_every_setting_has_a_kind_that_config_checks(tmp_path):
    """A value of no kind at all is refused for every setting there is, present and future."""
    path = tmp_path / "config.toml"
    for field in fields(Settings):
        path.write_text(f"{field.name} = 2026-01-01\n")
        with pytest.raises(StoreError, match=f"{field.name} = .* cannot be"):
            Settings.from_toml(path)


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        (None, None),
        ("seconds=60", Limits(seconds=60)),
        (" seconds = 60 , megabytes=2000,threads=2", Limits(60, 2000, 2)),
    ],
)
def test_limits_are_read_from_a_text(text, limits):
    assert parse_limits(text) == limits


@pytest.mark.parametrize(("cv", "folds", "kind"), [(3.0, 3, int), (0.25, 0.25, float)])
def test_folds_are_a_whole_number_or_a_share(cv, folds, kind):
    found = Settings(cv=cv).folds
    assert found == folds
    assert type(found) is kind
