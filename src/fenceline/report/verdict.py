"""The verdict of a report, and the constraint table that explains it."""

import math
from dataclasses import dataclass

from fenceline.problem.constraint import Constraint
from fenceline.report.certainty import price_of_certainty
from fenceline.report.sections import SYMBOLS as _SYMBOLS
from fenceline.report.subject import Subject
from fenceline.result.margins import Standing


@dataclass(frozen=True, slots=True)
class Verdict:
    """The first thing a reader sees."""

    word: str
    symbol: str
    sentence: str

    @property
    def title(self) -> str:
        """The word as a heading, with what must not be overlooked."""
        return "Feasible, not certified" if self.word == "feasible" else self.word.capitalize()


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the constraint table."""

    constraint: Constraint
    searched: Standing | None
    """As measured in the search; None if nothing could be measured."""
    unseen: float | None
    """The value on rows kept from the search; None without any."""
    edge: str
    """How far the value may lie from the truth, in words; empty if nothing can be said."""
    margin: float
    word: str
    symbol: str
    gauge: "Gauge | None"


@dataclass(frozen=True, slots=True)
class Gauge:
    """Where the value and its edge lie relative to the bound, in percent of a small bar."""

    value: float
    edge: float
    bound: float
    inside_left: bool


def verdict(subject: Subject) -> Verdict:
    """Say in one word and one sentence what the search came to."""
    result, certificate = subject.result, subject.certificate
    if subject.running:
        return _so_far(subject)
    if result.best is None:
        word = "infeasible" if result.status == "infeasible" else "nothing measured"
        return Verdict(word, "✕", result.message)
    if not result.problem.constraints:
        return Verdict("unfenced", "○", "The best pipeline found; no constraint was stated.")
    if certificate is None:
        return Verdict(
            "feasible",
            "○",
            "Every constraint holds as the search measured it. Nothing was kept from the search, "
            "so nothing is certified.",
        )
    if not certificate.rows:
        return Verdict(
            certificate.status,
            _SYMBOLS[certificate.status],
            f"These are the values of the search; nothing is certified: {certificate.reason}.",
        )
    rows = f"{certificate.rows:,} rows the search never saw"
    sure = f"{certificate.confidence:.0%} confidence"
    # A constraint stays in one line if it can.
    names = [
        str(c.constraint).replace(" ", "\N{NO-BREAK SPACE}")
        for c in certificate.checks
        if c.verdict == certificate.status
    ]
    sentences = {
        "certified": f"Every constraint holds on {rows}, even at the edge of the error, with {sure}.",
        "feasible": f"Every constraint is met on {rows}, but with {sure} the error reaches beyond "
        f"the bound of: {'; '.join(names)}.",
        "infeasible": f"On {rows}, the bound is broken of: {'; '.join(names)}.",
    }
    status = certificate.status
    sentence = sentences[status]
    if status == "feasible" and certificate.reason:
        sentence = (
            f"Every constraint is met on {rows}, but it is not certified: {certificate.reason}."
        )
    if price := price_of_certainty(subject):
        sentence = f"{sentence} {price}"
    return Verdict(status, _SYMBOLS[status], sentence)


def _so_far(subject: Subject) -> Verdict:
    """Say where a search stands that goes on."""
    best = subject.result.best
    if best is None:
        return Verdict("running", "…", "The search goes on; nothing inside the fence is found yet.")
    score = subject.score
    return Verdict(
        "running",
        "…",
        f"The search goes on. The best so far has {score.written(best.objective)}; nothing is certified yet.",
    )


def constraint_table(subject: Subject) -> list[Line]:
    """Return one line per constraint."""
    constraints = subject.result.problem.constraints
    searched = subject.standings or (None,) * len(constraints)
    certificate = subject.certificate
    if certificate is None or not certificate.rows:
        return [_line(c, s) for c, s in zip(constraints, searched, strict=True)]
    lines = []
    for check, standing in zip(certificate.checks, searched, strict=True):
        c = check.constraint
        outer = check.high if c.sign > 0 else check.low
        lines.append(
            Line(
                c, standing, check.value, check.edge(number), check.margin, check.verdict,
                _SYMBOLS[check.verdict], gauge(c, check.value, outer),
            )
        )  # fmt: skip
    return lines


def gauge(c: Constraint, value: float, edge: float) -> Gauge | None:
    """Place a value, its edge and the bound on a bar that shows all three."""
    if c.equality:
        return None
    edge = edge if math.isfinite(edge) else value
    low, high = min(value, edge, c.bound), max(value, edge, c.bound)
    if low >= 0 and high <= 3 * max(c.bound, 0.0):
        low = 0.0  # sizes are read best from zero
    width = (high - low) or 1.0
    low, high = low - 0.05 * width, high + 0.15 * width
    at = [100 * (v - low) / (high - low) for v in (value, edge, c.bound)]
    return Gauge(at[0], at[1], at[2], c.sign > 0)


def number(value: float | None, digits: int = 4) -> str:
    """Write a number for people."""
    if value is None or not math.isfinite(value):
        return "–"
    if abs(value) >= 10_000 or value == int(value):
        return f"{value:,.0f}" if abs(value) < 1e9 else f"{value:.{digits}g}"
    # 3,570 to three digits is 3570, not 3.57e+03.
    return f"{value:.0f}" if abs(value) >= 10**digits else f"{value:.{digits}g}"


def _line(c: Constraint, standing: Standing | None) -> Line:
    if standing is None:
        return Line(c, None, None, "", math.nan, "not measured", "–", None)
    word = "feasible" if standing.holds else "infeasible"
    edge = f"± {number(standing.error, 2)}" if standing.error else ""
    return Line(
        c, standing, None, edge, standing.margin, word, _SYMBOLS[word],
        gauge(c, standing.value, standing.value),
    )  # fmt: skip
