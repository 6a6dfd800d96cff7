"""What cards and technical documentation say of a model, as blocks of a document."""

from collections import defaultdict
from typing import Any

from fenceline.export.document import Block, Listing, Sentences, Table
from fenceline.problem.objective import named
from fenceline.report.certainty import price_of_certainty
from fenceline.report.subject import Subject

_MOST_COLUMNS = 200
_MOST_FINALISTS = 20


def number(value: float | None) -> str:
    """Write a number as people read it."""
    return "" if value is None or value != value else f"{value:.4g}"


def pipeline(subject: Subject) -> list[Block]:
    """Say what the model is made of."""
    blocks: list[Block] = []
    for configuration, votes in subject.members.items():
        rows = [[module, str(choice)] for module, choice in configuration.items()]
        if len(subject.members) > 1:
            rows.insert(0, ["votes", str(votes)])
        blocks.append(Table(["step", "choice"], rows))
    if subject.fits > 1:
        blocks.append(
            Sentences(f"It was fitted {subject.fits} times, once without each fold; the fits vote.")
        )
    if subject.threshold:
        blocks.append(Sentences(f"Decisions change at {subject.threshold}."))
    return blocks


def certificate(subject: Subject) -> list[Block]:
    """Quote the certificate."""
    if subject.certificate is None:
        return [Sentences("There was no constraint, hence there is no certificate.")]
    return [Listing(str(subject.certificate))]


def fence(subject: Subject) -> Table:
    """List every constraint: as searched, and on unseen rows."""
    unseen = (
        {str(c.constraint): c for c in subject.certificate.checks} if subject.certificate else {}
    )
    rows = []
    for standing in subject.standings:
        check = unseen.get(str(standing.constraint))
        rows.append(
            [
                str(standing.constraint),
                number(standing.value),
                number(standing.price),
                "" if check is None else number(check.value),
                "" if check is None else check.verdict,
            ]
        )
    return Table(
        ["constraint", "by the folds", "price of one unit", "unseen rows", "verdict"], rows
    )


def scores(subject: Subject, inspection: dict[str, Any] | None) -> list[Block]:
    """Give the objective, by the folds and on unseen rows."""
    score = named(subject.result.problem.objective)
    rows = []
    if subject.objective is not None:
        rows.append([score.name, "folds of the search", number(score.value(subject.objective)), ""])
    delivered = next((f for f in subject.finalists if subject.delivers(f)), None)
    where = "unseen rows" if (inspection or {}).get("basis") == "unseen" else "one fold"
    objective = (inspection or {}).get("objective")
    if objective:
        rows.append([objective["name"], where, number(objective["value"]), _range(objective)])
    elif delivered is not None:
        rows.append([score.name, "unseen rows", number(score.value(delivered.unseen)), ""])
    for name, value in ((inspection or {}).get("scores") or {}).items():
        if name != (objective or {}).get("name"):
            rows.append([named(f"loss({name})").name, where, number(_own(name, value)), ""])
    return [Table(["metric", "measured on", "value", "interval"], rows)]


def _own(score: str, value: float) -> float:
    """Return an error as a positive number, where scikit-learn's score is its negative."""
    return -value if score.startswith("neg_") and value < 0 else value


def _range(found: dict[str, Any]) -> str:
    low, high = found.get("low"), found.get("high")
    return "" if low is None or high is None else f"{number(low)} to {number(high)}"


def by_group(subject: Subject, inspection: dict[str, Any] | None) -> list[Block]:
    """Say how groups fare, with counts and intervals where these were computed."""
    blocks: list[Block] = []
    for groups in (inspection or {}).get("groups") or ():
        rows = [
            [
                *(groups["column"], row["label"], str(row["rows"]), name, number(rate["value"])),
                *(f"{rate['events']} of {rate['cases']}", _range(rate)),
            ]
            for row in groups["groups"]
            for name, rate in row["rates"].items()
        ]
        heads = ["column", "group", "rows", "rate", "value", "counts", "interval"]
        blocks.append(Table(heads, rows))
    if blocks or subject.data is None:
        return blocks
    rows = [
        [metric, group["label"], str(group["rows"]), name, number(value)]
        for metric, groups in subject.data["groups"].items()
        for group in groups
        for name, value in group["compared"].items()
    ]
    return [Table(["constraint's metric", "group", "rows", "what", "value"], rows)] if rows else []


def data(subject: Subject) -> list[Block]:
    """Describe the table: rows, target, columns."""
    found = subject.data
    if found is None:
        return []
    target = ", ".join(f"{name}: {number(value)}" for name, value in found["target"].items())
    words = f"{found['search_rows']:,} rows were searched on, {found['unseen_rows']:,} kept for the certificate. "
    kind = "Quantiles of the target" if found["task"] == "regression" else "Rows of each class"
    columns = found["columns"]
    rows = [[c["name"], c["kind"], str(c["missing"])] for c in columns[:_MOST_COLUMNS]]
    blocks: list[Block] = [
        Sentences(f"{words}{kind}: {target}."),
        Table(["column", "kind", "missing values"], rows),
    ]
    if len(columns) > _MOST_COLUMNS:
        blocks.append(Sentences(f"{len(columns) - _MOST_COLUMNS} further columns are not listed."))
    return blocks


def tried(subject: Subject) -> list[Block]:
    """Say what was tried: algorithms, with how often and how well, and failures."""
    counts: dict[tuple[str, str], list[Any]] = defaultdict(lambda: [0, 0, None])
    failed: dict[str, int] = defaultdict(int)
    for evaluation in subject.result.evaluations:
        if not evaluation.ok:
            failed[evaluation.status] += 1
        for module, choice in evaluation.configuration.items():
            entry = counts[module, choice.algorithm]
            entry[0] += 1
            if evaluation.feasible and not evaluation.look:
                entry[1] += 1
                entry[2] = min(
                    evaluation.objective, entry[2] if entry[1] > 1 else evaluation.objective
                )
    result = subject.result
    score = named(result.problem.objective)
    modules = list(dict.fromkeys(module for module, _ in counts))

    def order(entry: tuple[tuple[str, str], list[Any]]) -> tuple[int, int]:
        """By step, and the most measured first."""
        return modules.index(entry[0][0]), -entry[1][0]

    rows = [
        [
            *(module, algorithm, str(total), str(inside)),
            "" if best is None else number(score.value(best)),
        ]
        for (module, algorithm), (total, inside, best) in sorted(counts.items(), key=order)
    ]
    words = f"{len(result.evaluations):,} measurements in {result.seconds:.0f} s"
    if failed:
        words += "; not finished: " + ", ".join(f"{n} {status}" for status, n in failed.items())
    heads = [
        "step",
        "algorithm",
        "measured",
        "inside the fence",
        f"{score.best} {score.name}",
    ]
    return [Sentences(f"{words}."), Table(heads, rows)]


def finalists(subject: Subject) -> list[Block]:
    """List what was fitted on all rows of the search, with verdicts, and what certainty cost."""
    score = named(subject.result.problem.objective)
    rows = [
        [
            _name(f.configuration),
            number(f.threshold),
            number(f.objective),
            number(f.unseen),
            f.verdict,
        ]
        for f in subject.finalists[:_MOST_FINALISTS]
    ]
    blocks: list[Block] = []
    if rows:
        heads = [
            "pipeline",
            "threshold (log-odds)",
            f"{score.name} by the folds",
            "on unseen rows",
            "verdict",
        ]
        blocks.append(Table(heads, rows))
    cost = price_of_certainty(subject)
    return [*blocks, Sentences(cost)] if cost else blocks


def _name(configuration: Any) -> str:
    if isinstance(configuration, tuple):
        return f"{len(configuration)} votes"
    return str(configuration)
