"""A model card: what the model is, what it was asked to keep to, what unseen rows say, where it ends."""

import json
from datetime import UTC, datetime
from typing import Any

from sklearn.utils.validation import check_is_fitted

from fenceline.export import facts
from fenceline.export.document import (
    Block,
    Heading,
    Listing,
    Sentences,
    Table,
    ToWrite,
    to_markdown,
)
from fenceline.export.environment import environment
from fenceline.report.subject import Subject

_TASKS = {
    "binary": "tabular-classification",
    "multiclass": "tabular-classification",
    "regression": "tabular-regression",
}
_USE = """import skops.io

unknown = skops.io.get_untrusted_types(file="model.skops")  # look at them before you trust them
model = skops.io.load("model.skops", trusted=unknown)
model.predict(table)  # a pandas data frame with the columns below"""


def make_card(
    model: Any, *, title: str = "", purpose: str = "", authors: str = "", licence: str = ""
) -> str:
    """Return a model card as Markdown, with a head that Hugging Face reads.

    Parameters
    ----------
    model : FencelineClassifier or FencelineRegressor
        Fitted, or loaded.
    title : str
        The heading; from the task by default.
    purpose : str
        What the model is for and whom it concerns. Only you can say; without it the card has a
        field to fill in.
    authors, licence : str
        Who answers for it; the licence's identifier, such as ``"apache-2.0"``.

    Returns
    -------
    str
        The card. It holds no row of the data; names of columns and categories of groups are in it.
    """
    check_is_fitted(model, "best_pipeline_")
    subject = Subject.of(model)
    inspection = getattr(model, "inspection_", None)
    task = task_of(model)
    blocks: list[Block] = [
        Heading(title or f"A model for {task.replace('-', ' ')}", 1),
        Sentences(f"Written {datetime.now(UTC):%Y-%m-%d}."),
        Heading("Purpose"),
        Sentences(purpose)
        if purpose
        else ToWrite("What is the model for, and for whom is it not?"),
        Heading("Model"),
        *facts.pipeline(subject),
        Heading("Certificate"),
        *facts.certificate(subject),
        *([facts.fence(subject)] if subject.standings else []),
        Heading("How good it is"),
        *facts.scores(subject, inspection),
        *_section("Groups", facts.by_group(subject, inspection)),
        *_section("Data", facts.data(subject)),
        Heading("What was tried"),
        *facts.tried(subject),
        *facts.finalists(subject),
        Heading("Limits"),
        Sentences(
            "What is certified holds for rows like the unseen ones. Rows from elsewhere, or from later, may differ; "
            "measure again on them."
        ),
        ToWrite("Which uses are out of scope, and what may go wrong?"),
        Heading("Use"),
        Listing(_USE),
        Table(["software", "version"], [list(pair) for pair in environment().items()]),
        *_section("Authors", [Sentences(authors)] if authors else []),
    ]
    return _head(task, licence) + to_markdown(blocks)


def task_of(model: Any) -> str:
    """Return the task by Hugging Face's name."""
    found = getattr(model, "data_", None)
    kind = found["task"] if found else ("binary" if hasattr(model, "classes_") else "regression")
    return _TASKS[kind]


def _section(heading: str, blocks: list[Block]) -> list[Block]:
    return [Heading(heading), *blocks] if blocks else []


def _head(task: str, licence: str) -> str:
    """Return the YAML head; JSON's texts are YAML's."""
    fields: dict[str, Any] = {
        "library_name": "sklearn",
        "tags": ["sklearn", "skops", task, "fenceline"],
        "pipeline_tag": task,
        "model_format": "skops",
        "model_file": "model.skops",
    }
    if licence:
        fields["license"] = licence
    lines = [f"{name}: {json.dumps(value)}" for name, value in fields.items()]
    return "\n".join(["---", *lines, "---", "", ""])
