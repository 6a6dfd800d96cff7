"""``fenceline export``: the model of a run for other programs, other machines, other people."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fenceline.cli import options
from fenceline.errors import DefinitionError

if TYPE_CHECKING:
    import pandas as pd

    from fenceline.cli.rundir import Run


def export(
    directory: options.RunPath,
    onnx: Annotated[
        Path | None, typer.Option(metavar="FILE", help="An ONNX file, for runtimes without Python.")
    ] = None,
    sklearn: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Plain scikit-learn, written with skops, for where Fenceline is not installed.",
        ),
    ] = None,
    huggingface: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="README.md, model.skops and config.json for a hub."),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="TABLE",
            help="Rows to compare predictions on before a file is written; the table of the run by default.",
        ),
    ] = None,
) -> None:
    """Write the model of a run in forms that others can use.

    Predictions of each form are compared with the model's, on up to a thousand rows, before it is written.

    Example: fenceline export credit-run --onnx model.onnx
    """
    from fenceline.cli import show
    from fenceline.cli.rundir import open_run

    run = open_run(directory)
    if onnx is sklearn is huggingface is None:
        raise DefinitionError(
            f"Nothing is asked for; write fenceline export {directory} --onnx FILE, --sklearn FILE or "
            "--huggingface FOLDER."
        )
    if onnx is not None:
        _check_extra()
    with show.notes():
        model = run.model()
        rows = rows_of(run, model, data)
        if onnx is not None:
            typer.echo(f"{onnx}: {model.to_onnx(onnx, rows)}")
        if sklearn is not None:
            from fenceline.export import write_sklearn

            typer.echo(f"{sklearn}: {write_sklearn(model, sklearn, rows)}")
        if huggingface is not None:
            from fenceline.export import write_huggingface

            written = write_huggingface(model, huggingface, rows)
            typer.echo(f"{huggingface}: {', '.join(written)}")


def rows_of(run: "Run", model: Any, data: Path | None) -> "pd.DataFrame":
    """Return rows to compare predictions on: of a table that is given, or of the one that was fitted on."""
    from fenceline.cli.after import features
    from fenceline.cli.tables import read_table

    path = Path(run.settings.data) if data is None else data
    if data is None and not path.exists():
        raise DefinitionError(
            f"The table of the run, {path}, is not there any more; name rows to compare predictions on with "
            "--data TABLE."
        )
    return features(model, read_table(path), path)


def _check_extra() -> None:
    """Say that an extra is missing before a model is read."""
    from fenceline.pipelines.onnx.graph import require

    for package in ("onnx", "onnxruntime"):
        require(package)


def dossier(
    directory: options.RunPath,
    purpose: Annotated[
        str | None,
        typer.Option(
            help="What the system is for; asked for on a terminal, a field to fill in elsewhere."
        ),
    ] = None,
    provider: Annotated[str, typer.Option(help="Who answers for the system.")] = "",
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Where to write; the run directory by default."),
    ] = None,
) -> None:
    """Write technical documentation on the headings of the EU AI Act's Annex IV.

    dossier.md and dossier.html (made to be printed) hold what was measured, and fields for what only a person
    can say.

    Example: fenceline dossier credit-run --purpose "Ranks loan applications for a clerk"
    """
    import sys

    from fenceline.cli import show
    from fenceline.cli.rundir import open_run
    from fenceline.export import write_dossier

    run = open_run(directory)
    with show.notes():
        model = run.model()
    if purpose is None and sys.stdin.isatty():
        purpose = typer.prompt(
            "What is the system for? (leave empty to write it later)", default=""
        )
    trained = run.summary.get("environment")
    markdown, page, fields = write_dossier(
        model,
        directory if out is None else out,
        purpose=purpose or "",
        provider=provider,
        data={"table": run.settings.data, "SHA-256 of its file": run.settings.sha256 or "unknown"},
        trained=_texts(trained),
    )
    typer.echo(f"{markdown}\n{page}")
    typer.echo(f"A person must still write {len(fields)} fields:")
    for question in fields:
        typer.echo(f"  {question}")


def _texts(found: Any) -> dict[str, str] | None:
    """Return a record of texts; anything else in a summary is not ours."""
    if not isinstance(found, dict):
        return None
    return {str(name): str(value) for name, value in found.items()}
