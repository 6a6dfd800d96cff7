import shutil
import sys

import pytest
from quick_pipelines import QUICK, space

from fenceline.cli.spaces import find_space
from fenceline.errors import SpaceError


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A directory with modules of the user's own, which the test leaves no trace of."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if getattr(sys.modules[name], "__file__", None) and str(tmp_path) in str(
            sys.modules[name].__file__
        ):
            del sys.modules[name]


def test_a_name_stays_a_name():
    assert find_space("default") == "default"


def test_a_function_is_found_in_the_current_directory_and_called(here):
    (here / "pack").mkdir()
    (here / "pack" / "mine.py").write_text(
        "import fenceline as fl\n"
        "def space():\n    return fl.Space([fl.Module('estimator', [fl.Algorithm('GaussianNB')])])\n"
        "SPACE = space()\n"
    )
    assert find_space("pack.mine:space").size == 1
    assert find_space("pack.mine:SPACE").size == 1


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("nowhere_to_be_found:space", "run in the directory that holds it"),
        ("quick_pipelines:spce", "Did you mean 'space'?"),
        ("quick_pipelines:QUICK", "must be a function that returns a Space"),
        ("quick_pipelines:", "write package.module:function"),
        ("../evil:space", "write package.module:function"),
        ("json:dumps", "a function without arguments"),
    ],
)
def test_what_is_no_space_is_refused_with_the_remedy(name, told):
    with pytest.raises(SpaceError, match=told):
        find_space(name)


def test_the_command_searches_a_space_of_the_users_own(finished):
    assert QUICK[1] in (finished / "config.toml").read_text()
    names = {a.name for module in space().modules for a in module.algorithms}
    assert "GaussianNB" in names
    assert all(name in (finished / "meta.json").read_text() for name in names)


def test_a_function_that_only_a_file_names_is_not_run(cli, finished, tmp_path):
    """A run directory may come from anywhere; what it says is not code to run."""
    copy = tmp_path / "copy"
    shutil.copytree(finished, copy)
    config = (copy / "config.toml").read_text().replace(QUICK[1], "trap:space")
    (copy / "config.toml").write_text(config)
    for words in (
        ("resume", copy, "--evaluations", 1),
        ("fit", "--config", copy / "config.toml", "--out", tmp_path / "new"),
    ):
        result = cli(*words, "-q")
        assert result.exit_code == 2, result.output
        assert "add --space trap:space" in result.stderr


def test_another_space_cannot_be_resumed(cli, finished):
    result = cli("resume", finished, "--space", "default", "--evaluations", 1, "-q")
    assert result.exit_code == 2
    assert "start a new run" in result.stderr
