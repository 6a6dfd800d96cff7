import pytest
from typer.testing import CliRunner, Result

from fenceline import __version__
from fenceline.cli import app
from fenceline.demo.credit import Credit
from fenceline.errors import StoreError

LOOSE = ["--latency-us", "1000", "--gap", "0.5"]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments), env={"COLUMNS": "80", "NO_COLOR": "1"})


def test_version_is_that_of_the_package() -> None:
    result = run("--version")
    assert (result.exit_code, result.stdout) == (0, f"fenceline {__version__}\n")


def test_without_a_command_the_help_names_the_commands() -> None:
    result = run()
    assert result.exit_code == 0
    assert "demo" in result.stdout


def test_help_of_demo_shows_an_example() -> None:
    result = run("demo", "--help")
    assert result.exit_code == 0
    assert "fenceline demo --seconds 20" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "remedy"),
    [
        (["dmo"], "demo"),
        (["demo", "--second", "3"], "--seconds"),
        (["demo", "--seconds", "soon"], "--help"),
        (["demo", "--seconds"], "--help"),
        (["demo", "--seconds", "0"], "try --seconds 50"),
        (["demo", "--seconds", "nan"], "try --seconds 50"),
        (["demo", "--seconds", "inf"], "try --seconds 50"),
        (["demo", "--seed", "-1"], "try --seed 0"),
        (["demo", "--seed", "1.5"], "--help"),
        (["demo", "--gap", "-0.1"], "try --gap 0.08"),
        (["demo", "--latency-us", "0"], "try --latency-us 2"),
        (["demo", "table.csv"], "--help"),
    ],
)
def test_wrong_use_ends_with_one_line_a_remedy_and_code_2(
    arguments: list[str], remedy: str
) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("fenceline: ")
    assert result.stderr.count("\n") == 1
    assert remedy in result.stderr


def test_demo_shows_progress_the_answer_and_the_unseen_rows_in_plain_text() -> None:
    result = run("demo", "--seconds", "1", *LOOSE)
    assert result.exit_code == 0, result.output
    assert "measured, 100% feasible, best 0." in result.stdout
    for word in ("1 - AUROC", "<= 1000.00", "<= 0.500", "margin", "price", "unseen rows", "holds"):
        assert word in result.stdout
    assert "1,485 applicants that the search never saw" in result.stdout
    assert "…" not in result.stdout, "the table must fit into 80 columns"
    assert "\x1b" not in result.stdout


def test_demo_without_an_answer_says_what_to_loosen_and_ends_with_code_3() -> None:
    result = run("demo", "--seconds", "0.5", "--gap", "1e-9")
    assert result.exit_code == 3
    # In so little time the nearest miss may be too slow as well.
    assert "loosen" in result.stdout
    assert "auroc_gap from 1e-09 to" in " ".join(result.stdout.split())
    assert "best pipeline" not in result.stdout


def test_interrupted_demo_shows_what_it_has_and_ends_with_code_130(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    measured = []

    def interrupt_the_third(credit: Credit, configuration: object) -> dict[str, float]:
        measured.append(configuration)
        if len(measured) == 3:
            raise KeyboardInterrupt
        return {"loss": 0.5 / len(measured), "latency_us": 1.0, "auroc_gap": 0.01}

    monkeypatch.setattr(Credit, "__call__", interrupt_the_third)
    result = run("demo", "--seconds", "60", *LOOSE)
    assert result.exit_code == 130
    assert "Interrupted: 2 pipelines measured" in result.stdout
    assert "The best pipeline inside the fence" in result.stdout


def test_ctrl_c_before_the_search_ends_with_code_130_and_no_traceback(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupt() -> Credit:
        raise KeyboardInterrupt

    monkeypatch.setattr(Credit, "load", interrupt)
    result = run("demo")
    assert result.exit_code == 130
    assert "Traceback" not in result.output


def test_an_error_of_the_library_becomes_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> Credit:
        raise StoreError("The directory cannot be read; choose another.")

    monkeypatch.setattr(Credit, "load", refuse)
    result = run("demo")
    assert result.exit_code == 2
    assert result.stderr == "fenceline: The directory cannot be read; choose another.\n"
