"""Technical documentation on the headings of Annex IV of the EU AI Act (Regulation (EU) 2024/1689).

What was measured is filled in. What only a person can know is a field, and all fields are listed first:
this is a draft for whoever is responsible, and no statement of conformity.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from fenceline.errors import StoreError
from fenceline.export import facts
from fenceline.export.document import (
    Block,
    Heading,
    Listing,
    Sentences,
    Table,
    ToWrite,
    to_html,
    to_markdown,
    to_write,
)
from fenceline.export.environment import environment
from fenceline.problem.objective import named
from fenceline.report.certainty import meaning
from fenceline.report.subject import Subject

_TITLE = "Technical documentation"
_SHOWN_SETTINGS = (
    *(
        "objective",
        "space",
        "seconds",
        "evaluations",
        "workers",
        "cv",
        "random_state",
        "confidence",
    ),
    *("unseen", "prefer", "search_threshold", "search_emphasis", "ensemble", "fold_votes"),
)


def write_dossier(
    model: Any,
    folder: str | Path,
    *,
    purpose: str = "",
    provider: str = "",
    data: Mapping[str, str] | None = None,
    trained: Mapping[str, str] | None = None,
) -> tuple[Path, Path, list[str]]:
    """Write technical documentation of a model, as Markdown and as a page to print.

    Parameters
    ----------
    model : FencelineClassifier or FencelineRegressor
        Fitted, or loaded.
    folder : str or Path
        Where ``dossier.md`` and ``dossier.html`` are written.
    purpose : str
        The intended purpose, in your words; a field to fill in without it.
    provider : str
        Who answers for the system.
    data : mapping, optional
        Where the data are from, such as file and SHA-256.
    trained : mapping, optional
        The software and machine of the fit, as :func:`environment` returned them then; those of now
        by default, and the document says so.

    Returns
    -------
    tuple
        Both paths, and what a person must still write.
    """
    check_is_fitted(model, "best_pipeline_")
    blocks = [
        *_front(provider),
        *_general(model, purpose, trained),
        *_development(model, data or {}),
        *_monitoring(model),
        *_rest(),
    ]
    fields = to_write(blocks)
    blocks[_AFTER_FRONT:_AFTER_FRONT] = [
        Heading("What a person must still write"),
        Table(["field", "question"], [[str(n), text] for n, text in enumerate(fields, 1)]),
    ]
    target = Path(folder)
    markdown, page = target / "dossier.md", target / "dossier.html"
    try:
        target.mkdir(parents=True, exist_ok=True)
        markdown.write_text(to_markdown(blocks), encoding="utf-8", errors="backslashreplace")
        page.write_text(to_html(blocks, _TITLE), encoding="utf-8", errors="backslashreplace")
    except OSError as problem:
        raise StoreError(
            f"{folder} cannot be written to ({problem.strerror}); choose another --out."
        ) from problem
    return markdown, page, fields


_AFTER_FRONT = 3


def _front(provider: str) -> list[Block]:
    words = (
        "On the headings of Annex IV of Regulation (EU) 2024/1689 (AI Act). Measured facts are filled in; it is "
        "a draft for the person responsible, and neither legal advice nor a declaration of conformity."
    )
    rows = [
        ["written", f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"],
        ["provider", provider or "(name)"],
        ["responsible", "(name, position)"],
        ["date and signature", ""],
    ]
    return [Heading(_TITLE, 1), Sentences(words), Table(["", ""], rows)]


def _general(model: Any, purpose: str, trained: Mapping[str, str] | None) -> list[Block]:
    where = "As recorded by the fit." if trained else "Of the machine that wrote this document."
    return [
        Heading("1. General description"),
        Heading("Intended purpose", 3),
        Sentences(purpose)
        if purpose
        else ToWrite("What is the system for, and who uses it on whom?"),
        Heading("Software and hardware", 3),
        Sentences(where),
        Table(["", ""], [list(pair) for pair in (trained or environment()).items()]),
        ToWrite(
            "On which hardware will it run, and which other software or systems does it work with?"
        ),
        Heading("Forms and user interface", 3),
        Sentences(
            "A fitted pipeline that takes rows of a table and returns a prediction for each; as a file of skops, "
            "as plain scikit-learn, or as ONNX."
        ),
        ToWrite(
            "In which product or service is it placed, what do its users see, and what are they told to do?"
        ),
    ]


def _development(model: Any, data: Mapping[str, str]) -> list[Block]:
    subject = Subject.of(model)
    score = named(subject.result.problem.objective)
    settings = [[name, str(subject.settings.get(name))] for name in _SHOWN_SETTINGS]
    sources = [[name, str(value)] for name, value in data.items()]
    return [
        Heading("2. Elements of the system and process of its development"),
        Heading("Methods and design choices", 3),
        Sentences(
            f"Algorithms, their settings and the decision threshold were chosen by Fenceline: {score.best} "
            f"{score.name} inside the constraints. Settings of the search:"
        ),
        Table(["setting", "value"], settings),
        ToWrite(
            "Why this objective and these bounds, and which assumptions about people do they make?"
        ),
        Heading("The model", 3),
        *facts.pipeline(subject),
        Heading("Trade-offs: everything that was tried", 3),
        *facts.tried(subject),
        *([facts.fence(subject)] if subject.standings else []),
        *facts.finalists(subject),
        Heading("Data", 3),
        *([Table(["", ""], sources)] if sources else []),
        *facts.data(subject),
        ToWrite(
            "Where do the data come from, how were they collected, selected, labelled and cleaned, and whom do they "
            "leave out?"
        ),
        Heading("Human oversight", 3),
        ToWrite(
            "Who looks at the predictions, with which training, and how can they overrule them (Article 14)?"
        ),
        Heading("Changes foreseen", 3),
        ToWrite("Which changes of the model are planned, and who approves them?"),
        Heading("Validation and testing", 3),
        *facts.scores(subject, getattr(model, "inspection_", None)),
        *facts.certificate(subject),
        *_meaning(subject),
        Table(
            ["test report", "date", "signature of the responsible person"],
            [["this section", "", ""]],
        ),
        Heading("Cybersecurity", 3),
        Sentences(
            "The model file is written with skops; it is loaded by a list of allowed types, without pickle."
        ),
        ToWrite("How are model, data and service protected where they run?"),
    ]


def _meaning(subject: Subject) -> list[Block]:
    if subject.certificate is None or not subject.certificate.rows:
        return []
    return [Sentences(" ".join(meaning(subject.certificate)))]


def _monitoring(model: Any) -> list[Block]:
    subject, inspection = Subject.of(model), getattr(model, "inspection_", None)
    groups = facts.by_group(subject, inspection)
    importance = (inspection or {}).get("importance") or {}
    columns = [
        [c["name"], facts.number(c["drop"]), facts.number(c["error"])]
        for c in importance.get("columns", ())
    ]
    return [
        Heading("3. Monitoring, functioning and control"),
        Heading("Accuracy for groups of persons", 3),
        *(groups or [Sentences("No groups were compared.")]),
        *([Table(["column", "score lost when shuffled", "error"], columns)] if columns else []),
        Heading("Limits", 3),
        Sentences(
            "Figures hold for rows like those of the table. Input must have the columns of section 2; texts that were "
            "not seen in training are taken as unknown, missing numbers as the median."
        ),
        ToWrite(
            "Which harms to health, safety or fundamental rights are foreseeable, and from which sources?"
        ),
        Heading("4. Appropriateness of the performance metrics"),
        ToWrite(
            f"Why is {named(subject.result.problem.objective).name} the right measure for the purpose?"
        ),
    ]


def _rest() -> list[Block]:
    return [
        Heading("5. Risk management system"),
        ToWrite("Describe the risk management system (Article 9)."),
        Heading("6. Changes through the lifecycle"),
        ToWrite("List relevant changes made to the system."),
        Heading("7. Harmonised standards"),
        ToWrite("Which harmonised standards or other specifications are applied?"),
        Heading("8. EU declaration of conformity"),
        ToWrite("Attach a copy of the EU declaration of conformity (Article 47)."),
        Heading("9. Post-market monitoring"),
        ToWrite(
            "Describe how performance is evaluated after it is placed on the market (Article 72)."
        ),
        Listing("Name:\n\nPosition:\n\nDate and signature:"),
    ]
