"""What the model does, for the page: the inspection as records for templates and columns for charts."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fenceline.pipelines.threshold_curve import BALANCE
from fenceline.problem.objective import named
from fenceline.report.subject import Subject

if TYPE_CHECKING:
    from fenceline.certificate.inspection import Inspection


@dataclass(frozen=True, slots=True)
class Bar:
    """A column's importance as a bar, in percent of its width: zero, value, and the ends of the error."""

    zero: float
    value: float
    low: float
    high: float

    @property
    def left(self) -> float:
        """Where the bar begins."""
        return min(self.zero, self.value)

    @property
    def width(self) -> float:
        """How long it is."""
        return abs(self.value - self.zero)


@dataclass(frozen=True, slots=True)
class Box:
    """Quantiles of residuals on a bar, in percent of its width."""

    low: float
    first: float
    middle: float
    third: float
    high: float
    zero: float


def charts(subject: Subject) -> Any:
    """Return what the page draws of an inspection; None without one."""
    found = subject.inspection
    if found is None:
        return None
    calibration = found["calibration"]
    return {
        "roc": found["roc"],
        "precision_recall": found["precision_recall"],
        "point": operating_point(found),
        "calibration": None
        if calibration is None
        else [{"predicted": b["predicted"], **b["observed"]} for b in calibration["bins"]],
        "thresholds": _thresholds(subject, found),
        "numbers": found["numbers"],
    }


def operating_point(found: "Inspection") -> dict[str, float] | None:
    """Return the rates of the model's own decisions between two classes."""
    if found["task"] != "binary" or found["confusion"] is None:
        return None
    (tn, fp), (fn, tp) = found["confusion"]
    return {
        "fpr": fp / max(1, tn + fp),
        "tpr": tp / max(1, fn + tp),
        "precision": tp / max(1, fp + tp),
        "positives": (fn + tp) / max(1, tn + fp + fn + tp),
    }


def bars(found: "Inspection") -> Iterator[tuple[Any, Bar]]:
    """Yield the columns that matter most, each with its bar."""
    importance = found["importance"]
    if importance is None or not importance["columns"]:
        return
    reach = [(c, 2 * (c["error"] or 0.0)) for c in importance["columns"]]
    low = min(0.0, *(c["drop"] - error for c, error in reach))
    high = max(*(c["drop"] + error for c, error in reach), 1e-12)
    for column, error in reach:
        ends = (0.0, column["drop"], column["drop"] - error, column["drop"] + error)
        yield column, Bar(*(100 * (v - low) / (high - low) for v in ends))


def boxes(groups: Any) -> Iterator[tuple[Any, Box]]:
    """Yield groups with the spread of their residuals, all on one scale."""
    ends = [
        q for g in groups for q in (g["residuals"]["quantiles"][0], g["residuals"]["quantiles"][-1])
    ]
    low, high = min(0.0, *ends), max(0.0, *ends)
    width = (high - low) or 1.0
    for group in groups:
        at = [100 * (q - low) / width for q in (*group["residuals"]["quantiles"], 0.0)]
        yield group, Box(*at)


def _thresholds(subject: Subject, found: "Inspection") -> Any:
    """Return the stored curve over thresholds, the objective first, each metric with its bounds."""
    curve, threshold = found["threshold_metrics"], found["threshold"]
    if curve is None or threshold is None:
        return None
    problem = subject.result.problem
    series = []
    constrained = {c.metric for c in problem.constraints}
    for name, values in curve["metrics"].items():
        if name == BALANCE and name not in constrained and problem.objective in curve["metrics"]:
            continue  # it decides only where the objective ranks
        score = named(name) if name == problem.objective else None
        shown = values if score is None else [v if v is None else score.value(v) for v in values]
        series.append(
            {
                "name": name if score is None else score.name,
                "values": shown,
                "bounds": [
                    {"sense": c.sense, "bound": c.bound, "tolerance": c.tolerance}
                    for c in problem.constraints
                    if c.metric == name
                ],
                "objective": score is not None,
            }
        )
    series.sort(key=lambda s: not s["objective"])
    return {
        "at": curve["thresholds"],
        "selected": curve["selected"],
        "series": series,
        "chosen": threshold["value"] if curve.get("chosen") is None else curve["chosen"],
        "kind": threshold["kind"],
    }
