"""The ``fenceline`` command. Each sub-command is a function elsewhere, added here by one line.

Exit codes: 0 an answer inside the fence, 2 wrong use, 3 no answer inside the fence, 130 interrupted.
"""

import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from fenceline import __version__
from fenceline.cli.after import explain, open_report, predict, report
from fenceline.cli.bench import bench
from fenceline.cli.compare import compare
from fenceline.cli.export import dossier, export
from fenceline.cli.fitting import fit, resume
from fenceline.cli.outcome import INTERRUPTED, WRONG_USE
from fenceline.demo.command import demo
from fenceline.errors import ConstraintError, FencelineError
from fenceline.problem.printable import printable

# Typer's own class of usage errors has no public name; BadParameter is the one that has.
_UsageError: Any = typer.BadParameter.__base__


class Commands(TyperGroup):
    """The commands, with one way to fail: a line that says what is wrong and what to do."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run a command line and leave with its exit code."""
        kwargs["standalone_mode"] = False
        try:
            code = super().main(*args, **kwargs)
        except _UsageError as mistake:
            command = mistake.ctx.command_path if mistake.ctx else "fenceline"
            text = mistake.format_message()
            _fail(f"{text if text.endswith(('.', '?')) else f'{text}.'} See '{command} --help'.")
            code = WRONG_USE
        except FencelineError as mistake:
            # Only a constraint needs more lines than one, for the caret under the mistake.
            text = str(mistake)
            _fail(text if isinstance(mistake, ConstraintError) else " ".join(text.split()))
            code = WRONG_USE
        except (KeyboardInterrupt, typer.Abort):
            _fail("interrupted; a run directory keeps all that was measured: fenceline resume DIR.")
            code = INTERRUPTED
        except BrokenPipeError:
            # The reader of a pipe has seen enough; Python would complain once more at the end.
            sys.stdout = None
            code = 0
        sys.exit(code if isinstance(code, int) else 0)


app = typer.Typer(
    cls=Commands,
    help="The best machine-learning pipeline inside the fence.\n\nExample: fenceline demo",
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"fenceline {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _options(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and leave."
        ),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


for command in (
    demo, fit, resume, report, predict, explain, compare, export, dossier, bench,
):  # fmt: skip
    app.command()(command)
app.command("open")(open_report)  # the name of a function of Python's


def _fail(message: str) -> None:
    typer.echo(printable(f"fenceline: {message}"), err=True)
