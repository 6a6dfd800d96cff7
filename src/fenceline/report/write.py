"""From a model or a result to the file."""

import base64
import hashlib
import re
from dataclasses import replace
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader
from markupsafe import Markup, escape

from fenceline.errors import DefinitionError, StoreError
from fenceline.report import sections
from fenceline.report.behaviour import bars, boxes, operating_point
from fenceline.report.certainty import meaning, why_delivered
from fenceline.report.columns import columns
from fenceline.report.diagram import diagram
from fenceline.report.subject import Subject
from fenceline.report.verdict import constraint_table, number, verdict

MOST_MOVES = 5
"""Moves of the fence that are shown."""
_SCRIPTS = ("chart.js", "plots.js", "model.js", "what_if.js", "page.js")
_LIVE = "live.js"


def write_report(model_or_result: Any, path: str | Path, *, title: str | None = None) -> Path:
    """Write a report as one HTML file that needs nothing else.

    Parameters
    ----------
    model_or_result : FencelineClassifier, FencelineRegressor or Result
        What the report is about; an estimator must be fitted, though its fit may have ended with
        :class:`~fenceline.errors.InfeasibleError`.
    path : str or Path
        The file to write; an older one is replaced.
    title : str, optional
        The heading.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> write_report(model, "report.html", title="Credit, autumn")  # doctest: +SKIP
    PosixPath('report.html')
    """
    target = Path(path)
    page = report_page(model_or_result, title=title)
    try:
        # A name may hold half of a character, which no file can.
        target.write_text(page, encoding="utf-8", errors="backslashreplace")
    except OSError as problem:
        raise StoreError(
            f"The report {target} cannot be written ({problem.strerror}). Choose a file in a "
            "directory that exists and can be written to."
        ) from problem
    return target


def report_page(
    model_or_result: Any, *, title: str | None = None, running: bool = False, live: bool = False
) -> str:
    """Return a report as text.

    Parameters
    ----------
    model_or_result : FencelineClassifier, FencelineRegressor or Result
        As for :func:`write_report`.
    title : str, optional
        The heading.
    running : bool
        Whether the run goes on, so that nothing is decided yet.
    live : bool
        Whether the page is served, and asks its server for what is new.
    """
    if title is not None and not isinstance(title, str):
        raise DefinitionError(f"The title of a report must be a text. Got {title!r}.")
    subject = replace(Subject.of(model_or_result), running=running)
    return render(subject, title or "Fenceline report", live=live)


def render(subject: Subject, title: str, *, live: bool = False) -> str:
    """Return the page."""
    environment = Environment(
        loader=PackageLoader("fenceline.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    score = subject.score
    environment.filters |= {
        "number": number,
        "breakable": _breakable,
        "pipeline": sections.pipeline_text,
        "score": lambda loss: None if loss is None else score.value(loss),
    }
    result, found = subject.result, subject.inspection
    scripts = (*_SCRIPTS, _LIVE) if live else _SCRIPTS
    script = "(() => {\n" + "\n".join(map(_asset, scripts)) + "})();"
    return environment.get_template("page.html").render(
        title=title,
        live=live,
        written=datetime.now(UTC).strftime("%d %B %Y, %H:%M UTC"),
        verdict=verdict(subject),
        subject=subject,
        score=subject.score,
        point=operating_point(found) if found else None,
        bars=list(bars(found)) if found else [],
        boxes=boxes,
        finalists=sections.finalists(subject),
        why=why_delivered(subject),
        result=result,
        problem=result.problem,
        members=[(sections.in_words(c), votes) for c, votes in subject.members.items()],
        diagram=diagram(subject.pipeline) if subject.pipeline is not None else None,
        lines=constraint_table(subject),
        sure=next(iter(meaning(subject.certificate)), "") if subject.certificate else "",
        modules=sections.algorithms(result),
        leaders=sections.leaders(result),
        feasible=sum(e.feasible for e in result.full),
        measured=sum(e.ok for e in result.full),
        looks=result.looks,
        # A metric bounded from both sides is one column.
        metrics=list(dict.fromkeys(c.metric for c in result.problem.constraints)),
        failures=sections.failures(result),
        still=sections.at_rest(result),
        relaxations=result.moves(MOST_MOVES),
        asked=sections.asked(subject),
        environment=sections.environment(),
        columns=columns(subject),
        style=Markup(_asset("report.css")),
        script=Markup(script),
        # Only this very script may run, whatever else finds its way into the page.
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


def _breakable(text: object) -> Markup:
    """Let a long name break after its punctuation, and nowhere else."""
    return Markup(re.sub(r"([,(])", r"\1<wbr>", str(escape(text))))


def _asset(name: str) -> str:
    return (files("fenceline.report") / "assets" / name).read_text(encoding="utf-8")
