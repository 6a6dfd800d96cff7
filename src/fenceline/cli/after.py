"""``fenceline report``, ``predict`` and ``explain``: what can be done with a run directory."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fenceline.cli import options
from fenceline.errors import DefinitionError

if TYPE_CHECKING:
    import pandas as pd

    from fenceline.cli.rundir import Run

_MOST_NAMED = 8
_LONGEST_REASON = 200


def report(
    directory: options.RunPath,
    show: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
    watch: Annotated[
        bool,
        typer.Option(
            "--watch", help="Serve it on this machine while the run goes on; Ctrl-C ends."
        ),
    ] = False,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="For --watch; 0 takes any that is free.")
    ] = 0,
) -> None:
    """Write the report of a run anew, as one HTML file that needs no network.

    With --watch, serve it instead: the page follows a run that goes on.

    Example: fenceline report credit-run --open
    """
    from fenceline.cli.outcome import REPORT
    from fenceline.cli.rundir import open_run
    from fenceline.report import write_report

    run = open_run(directory)
    if watch:
        _watch(run, port, show)
        return
    path = write_report(run.subject(), directory / REPORT, title=run.title)
    typer.echo(str(path))
    if show:
        typer.launch(path.resolve().as_uri())


def _watch(run: "Run", port: int, show: bool) -> None:
    """Serve the report of a run until Ctrl-C."""
    from contextlib import suppress

    from fenceline.report.live import LiveServer

    live = LiveServer(lambda: run.page(live=True), run.stamp, port=port)
    typer.echo(live.url)
    if show:
        typer.launch(live.url)
    with suppress(KeyboardInterrupt):
        live.serve()


def open_report(directory: options.RunPath) -> None:
    """Open the report of a run in the browser, and print where it is; write it if there is none yet.

    Example: fenceline open credit-run
    """
    import webbrowser

    from fenceline.cli.outcome import REPORT
    from fenceline.cli.rundir import open_run
    from fenceline.report import write_report

    run, path = open_run(directory), directory / REPORT
    if not path.exists():
        write_report(run.subject(), path)
    typer.echo(str(path))
    try:
        webbrowser.get().open(path.resolve().as_uri())
    except webbrowser.Error:
        typer.echo("There is no browser here; open the file elsewhere.", err=True)


def predict(
    directory: options.RunPath,
    data: options.Table = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where to write; standard output by default."),
    ] = None,
    proba: Annotated[
        bool, typer.Option("--proba", help="Also the probability of each class.")
    ] = False,
) -> None:
    """Predict the rows of a table with the model of a run; DATA may be - for standard input.

    Columns are found by name; the target and others the model does not know are ignored.

    Example: fenceline predict credit-run new.csv --proba --out predicted.csv
    """
    from fenceline.cli import show
    from fenceline.cli.rundir import open_run
    from fenceline.cli.tables import STANDARD_INPUT, check_writable, read_any, write_table

    run = open_run(directory)
    if data is None:
        raise DefinitionError(
            f"No table is given; write fenceline predict {directory} DATA, with the rows to predict."
        )
    if out is not None:
        check_writable(out)
    with show.notes():
        model = run.model()
        source = Path(STANDARD_INPUT) if str(data) == "-" else data
        table = read_any(data)
        answers = _predicted(model, features(model, table, source), table, proba)
    if out is None:
        typer.echo(answers.to_csv(index=False), nl=False)
    else:
        write_table(answers, out)
        typer.echo(f"{len(answers)} predictions in {out}", err=True)


def explain(directory: options.RunPath, as_json: options.AsJson = False) -> None:
    """Say in plain words why this pipeline, what the fence costs, what was tried, how sure it is.

    Example: fenceline explain credit-run
    """
    from rich.console import Console

    from fenceline.cli import show
    from fenceline.cli.outcome import plain
    from fenceline.cli.rundir import open_run
    from fenceline.report.explain import explain as explained

    run = open_run(directory)
    subject = run.subject()
    # A search without a model has no multipliers left; what it costs was written down at its end.
    costs = run.summary.get("constraints", ())
    prices = {c["constraint"]: c["price"] for c in costs if c["price"] is not None}
    explanation = explained(
        subject, certificate=run.certificate, prices=None if run.has_model else prices
    )
    if as_json:
        show.print_json(plain(explanation.to_dict()))
    else:
        show.say(Console(), str(explanation))


def features(model: Any, table: "pd.DataFrame", path: Path) -> "pd.DataFrame":
    """Return the columns the model was fitted on, in its order."""
    wanted = [str(name) for name in model.feature_names_in_]
    missing = [name for name in wanted if name not in table.columns]
    if missing:
        named = ", ".join(map(repr, missing[:_MOST_NAMED]))
        more = f" and {len(missing) - _MOST_NAMED} more" if len(missing) > _MOST_NAMED else ""
        raise DefinitionError(
            f"{path} lacks columns that the model was fitted on: {named}{more}; add them, empty where "
            "nothing is known."
        )
    return table[wanted]


def _predicted(
    model: Any, features: "pd.DataFrame", table: "pd.DataFrame", proba: bool
) -> "pd.DataFrame":
    """Return predictions; a model that decides by group finds it in the whole table."""
    import pandas as pd

    if proba and not hasattr(model, "predict_proba"):
        raise DefinitionError(
            "This model gives no probabilities; leave out --proba, or fit with an objective that needs "
            "them, such as neg_log_loss."
        )
    try:
        answers = pd.DataFrame({"prediction": model.predict(features, groups=table)})
        if proba:
            shares = model.predict_proba(features)
            names = [f"probability of {label}" for label in model.classes_]
            answers[names] = shares
    except DefinitionError:
        raise
    except (ValueError, TypeError) as problem:
        # Texts where the model learnt numbers, say.
        reason = " ".join(str(problem).split())[:_LONGEST_REASON].rstrip(".")
        raise DefinitionError(
            f"These rows cannot be predicted ({reason}); give columns of the kinds the model was fitted on."
        ) from problem
    return answers
