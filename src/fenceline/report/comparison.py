"""Several runs side by side: what they answer, how they stand to the fence, who else was a finalist."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, TypeAlias

from markupsafe import Markup

from fenceline.problem.configuration import Choice
from fenceline.problem.objective import NamedScore, named

Row: TypeAlias = tuple[str, tuple[str, ...]]
"""A label, and one text for each run."""

MOST_FINALISTS = 5


@dataclass(frozen=True, slots=True)
class Comparison:
    """A table with a column for each run, in sections."""

    runs: tuple[str, ...]
    sections: Mapping[str, tuple[Row, ...]]


def compare(summaries: Mapping[str, Mapping[str, Any]]) -> Comparison:
    """Put the summaries of runs side by side.

    Parameters
    ----------
    summaries : mapping of str to mapping
        What ``summary.json`` holds, by the name of the run.
    """
    told = list(summaries.values())
    sections = {
        "Answer": (
            _row("verdict", told, lambda s: s["status"]),
            *_objectives(told),
            _row("pipeline", told, _pipeline),
            _row("threshold", told, lambda s: s.get("threshold") or "–"),
        ),
        "Fence": tuple(_constraints(told)),
        "Search": (
            _row("pipelines measured", told, lambda s: f"{s['evaluations']:,}"),
            _row("inside the fence", told, lambda s: f"{s['feasible_fraction']:.0%}"),
            _row("seconds", told, lambda s: f"{s['seconds']:.0f}"),
        ),
        "Finalists": tuple(_finalists(told)),
    }
    return Comparison(tuple(summaries), {title: rows for title, rows in sections.items() if rows})


def page(comparison: Comparison) -> str:
    """Return the comparison as one HTML page that needs nothing else."""
    style = Markup((files("fenceline.report") / "assets" / "report.css").read_text("utf-8"))
    head = Markup("").join(Markup("<th>{}</th>").format(name) for name in ("", *comparison.runs))
    body = Markup("").join(
        Markup('<tr><th colspan="{}">{}</th></tr>{}').format(
            len(comparison.runs) + 1, title, Markup("").join(map(_html_row, rows))
        )
        for title, rows in comparison.sections.items()
    )
    return str(
        Markup(
            '<!doctype html><html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
            "style-src 'unsafe-inline'\"><title>Runs compared</title><style>{}"
            "main{{overflow-x:auto}}td,th{{text-align:left;vertical-align:top;padding:.3em 1em .3em 0}}"
            "</style></head><body><main><h1>Runs compared</h1>"
            "<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table></main></body></html>\n"
        ).format(style, head, body)
    )


def _html_row(row: Row) -> Markup:
    label, cells = row
    made = Markup("").join(Markup("<td>{}</td>").format(cell) for cell in cells)
    return Markup("<tr><td>{}</td>{}</tr>").format(label, made)


def _row(label: str, told: Sequence[Mapping[str, Any]], cell: Any) -> Row:
    return label, tuple(str(cell(summary)) for summary in told)


def _objectives(told: Sequence[Mapping[str, Any]]) -> tuple[Row, ...]:
    """Return the score by the folds and on unseen rows; one label if all runs have the same."""
    names = list(dict.fromkeys(_score(s).name for s in told))
    label = names[0] if len(names) == 1 else "objective"

    def written(summary: Mapping[str, Any], loss: float | None) -> str:
        score = _score(summary)
        name = "" if len(names) == 1 else f"{score.name} "
        return f"{name}{_number(None if loss is None else score.value(loss))}"

    return (
        _row(label, told, lambda s: written(s, s["objective"]["value"])),
        _row("on unseen rows", told, lambda s: written(s, _unseen(s))),
    )


def _score(summary: Mapping[str, Any]) -> NamedScore:
    return named(str(summary["objective"]["name"]))


def _unseen(summary: Mapping[str, Any]) -> float | None:
    """Return the objective on unseen rows of the finalist that was delivered."""
    value = summary["objective"]["value"]
    delivered = [f for f in summary.get("finalists", ()) if f["objective"] == value]
    return delivered[0]["unseen"] if delivered and summary["status"] != "infeasible" else None


def _pipeline(summary: Mapping[str, Any]) -> str:
    members = []
    for member in summary["pipelines"]:
        steps = (Choice(*choice) for choice in member["configuration"].values())
        text = " -> ".join(str(step) for step in steps if step.algorithm != "none")
        members.append(text if len(summary["pipelines"]) == 1 else f"{member['votes']} x {text}")
    return " + ".join(members) or "none"


def _constraints(told: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Return a row for each constraint of any run: the value by the folds, on unseen rows, the verdict."""
    names = dict.fromkeys(line["constraint"] for s in told for line in s["constraints"])
    return [(name, tuple(_standing(name, summary) for summary in told)) for name in names]


def _standing(name: str, summary: Mapping[str, Any]) -> str:
    line = next((one for one in summary["constraints"] if one["constraint"] == name), None)
    if line is None:
        return "–"
    certificate = summary["certificate"] or {}
    check = next((c for c in certificate.get("checks", ()) if c["text"] == name), None)
    if check is None or not certificate.get("rows"):
        return f"{_number(line['value'])}, {'holds' if line['holds'] else 'broken'}"
    return f"{_number(line['value'])}, unseen {_number(check['value'])}: {check['verdict']}"


def _finalists(told: Sequence[Mapping[str, Any]]) -> list[Row]:
    count = min(MOST_FINALISTS, max((len(s.get("finalists", ())) for s in told), default=0))
    rows = []
    for i in range(count):
        cells = []
        for summary in told:
            known = summary.get("finalists", ())
            cells.append(_finalist(known[i], _score(summary)) if i < len(known) else "")
        rows.append((str(i + 1), tuple(cells)))
    return rows


def _finalist(one: Mapping[str, Any], score: NamedScore) -> str:
    searched, unseen = (
        _number(None if one[key] is None else score.value(one[key]))
        for key in ("objective", "unseen")
    )
    return f"{one['pipeline']}: {searched}, unseen {unseen}: {one['verdict']}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"
