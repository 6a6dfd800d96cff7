"""Options that several commands share; None means that an option was not given."""

from pathlib import Path
from typing import Annotated

import typer

from fenceline.cli import completion

Table = Annotated[
    Path | None,
    typer.Argument(
        metavar="DATA",
        help="The table: .csv, .tsv (also .gz), .parquet, .feather or .arrow.",
        show_default=False,
    ),
]
RunPath = Annotated[
    Path,
    typer.Argument(metavar="DIR", help="The run directory that fit wrote.", show_default=False),
]
Target = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="The column to predict.",
        show_default=False,
        autocompletion=completion.columns,
    ),
]
Task = Annotated[
    str | None,
    typer.Option(
        help="classification or regression; guessed from the target by default.",
        autocompletion=completion.tasks,
    ),
]
Objective = Annotated[
    str | None,
    typer.Option(
        help="What to optimise: a scikit-learn scorer or a metric. By default roc_auc for two classes, "
        "neg_log_loss for more, r2 for numbers.",
        autocompletion=completion.metrics,
    ),
]
Constraints = Annotated[
    list[str] | None,
    typer.Option(
        "--constraint",
        "-c",
        help="What must hold, such as 'latency_us(batch=1000) <= 15'; may be repeated.",
        autocompletion=completion.metrics,
    ),
]
Groups = Annotated[
    list[str] | None,
    typer.Option(
        "--group",
        help="A column whose groups constraints compare: SEX, or with edges 'AGE:20,30,40'; may be repeated.",
        autocompletion=completion.columns,
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(
        help="A column that must not be learnt from, such as an id; may be repeated.",
        autocompletion=completion.columns,
    ),
]
Weight = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="A column that says how much each row counts.",
        autocompletion=completion.columns,
    ),
]
Positive = Annotated[
    str | None,
    typer.Option(metavar="LABEL", help="Which of two classes is positive; the last by default."),
]
Monotone = Annotated[
    list[str] | None,
    typer.Option(
        help="A column with which the answer may only grow or only fall: 'income:+1', 'debt:-1'; "
        "may be repeated.",
        autocompletion=completion.columns,
    ),
]
Space = Annotated[
    str | None,
    typer.Option(
        help="The pipelines: default, wide, paper or small, or package.module:function for a Space of your own.",
        autocompletion=completion.spaces,
    ),
]
Seconds = Annotated[
    float | None, typer.Option(help="How long to search; 60 if no budget is given.")
]
Evaluations = Annotated[int | None, typer.Option(help="How many pipelines to measure.")]
Workers = Annotated[
    int | None,
    typer.Option(
        help="Pipelines measured at the same time; by default all cores for a budget in seconds."
    ),
]
Engine = Annotated[
    str | None,
    typer.Option(help="Where to measure: local, dask://host:port, ray, ray://host:port."),
]
Limits = Annotated[
    str | None,
    typer.Option(help="What one measurement may use, such as 'seconds=60,megabytes=2000'."),
]
Folds = Annotated[
    float | None, typer.Option(help="Folds, or the share of rows to hold out once; 3 by default.")
]
Seed = Annotated[int | None, typer.Option(help="Same number, same search; 0 by default.")]
Confidence = Annotated[
    float | None,
    typer.Option(help="That every constraint holds, if certified; 0.95 by default."),
]
Joint = Annotated[
    bool,
    typer.Option("--joint", help="All bounds of the certificate hold together; certifies less."),
]
Unseen = Annotated[
    str | None,
    typer.Option(
        metavar="SHARE|FILE",
        help="The share of rows to certify on, such as 0.3, or a second table with the same columns; "
        "by default 15 to 40 % of the rows.",
    ),
]
Prefer = Annotated[
    str | None,
    typer.Option(
        help="certainty (the best that is certified, by default) or objective (the best by the folds, "
        "with its verdict)."
    ),
]
GroupThresholds = Annotated[
    bool,
    typer.Option(
        "--group-thresholds",
        help="A decision threshold of its own for each group that the fence compares. Unlawful in some uses.",
    ),
]
FoldVotes = Annotated[
    bool | None,
    typer.Option(
        "--fold-votes/--no-fold-votes",
        help="Fit the model once without each fold, and let these fits vote; by default where groups are compared and speed and size are free; without a fence boosters are fitted eight times.",
        show_default=False,
    ),
]
Ensemble = Annotated[
    int | None,
    typer.Option(
        help="Average up to so many of the pipelines, if that is better inside the fence."
    ),
]
AsJson = Annotated[
    bool,
    typer.Option(
        "--json", help="Print one JSON object on standard output, all else on standard error."
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Show every pipeline measured.")]
