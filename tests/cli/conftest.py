"""A small table, and one finished run of quick pipelines."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from quick_pipelines import QUICK
from typer.testing import CliRunner, Result

from fenceline.cli import app

Cli = Callable[..., Result]


@pytest.fixture(scope="session")
def cli() -> Cli:
    def call(*arguments: object) -> Result:
        words = [str(argument) for argument in arguments]
        return CliRunner().invoke(
            app, words, prog_name="fenceline", env={"COLUMNS": "80", "NO_COLOR": "1"}
        )

    return call


@pytest.fixture(scope="session")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(240, 2))
    good = numbers @ [1.0, 0.5] + 0.7 * rng.normal(size=240) > 0
    return pd.DataFrame(
        {
            "income": numbers[:, 0],
            "debt": numbers[:, 1],
            "AGE": rng.integers(18, 80, 240),
            "SEX": rng.choice(["f", "m"], 240),
            "label": np.where(good, "good", "bad"),
        }
    )


@pytest.fixture(scope="session")
def toy(table: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tables") / "toy.csv"
    table.to_csv(path, index=False)
    return path


@pytest.fixture(scope="session")
def asked(toy: Path) -> list[object]:
    """The words of a small fit, without where to write it."""
    budget = ["--target", "label", *QUICK, "--evaluations", 4]
    fence = ["-c", "size_mb <= 5", "-c", "score_gap(roc_auc) <= 0.9", "--group", "SEX"]
    return ["fit", toy, *budget, *fence]


@pytest.fixture(scope="session")
def finished(cli: Cli, asked: list[object], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run directory to read from; copy it to change it."""
    directory = tmp_path_factory.mktemp("runs") / "done"
    result = cli(*asked, "--out", directory, "--quiet")
    assert result.exit_code == 0, result.output
    return directory
