"""What earlier versions wrote, put as this one writes it."""

import re
from typing import Any

_BESIDE = re.compile(r"(?P<metric>.+)/(?:se|fold(?P<part>[1-9][0-9]*))")


def with_spreads(record: dict[str, Any]) -> dict[str, Any]:
    """Return an evaluation whose errors and parts are not among its metrics.

    They were there once, as ``NAME/se`` and ``NAME/fold1``, ``NAME/fold2`` ....
    """
    metrics = record.get("metrics")
    if not isinstance(metrics, dict):
        return record
    kept: dict[str, Any] = {}
    found: dict[str, dict[int, Any]] = {}
    for name, value in metrics.items():
        beside = _BESIDE.fullmatch(name)
        if beside is None or beside["metric"] not in metrics:
            kept[name] = value
        else:
            found.setdefault(beside["metric"], {})[int(beside["part"] or 0)] = value
    if not found:
        return record
    spreads = {
        name: [parts.get(0), *(parts[i] for i in sorted(parts) if i)]
        for name, parts in found.items()
    }
    return record | {"metrics": kept, "spreads": spreads}


def as_plain(value: dict[str, Any]) -> dict[str, Any]:
    """Return what a worker of an earlier version left behind: numbers by name, or lists of two with an error."""
    details = value.get("details")
    found = {n: v for n, v in value.items() if not (n == "details" and isinstance(v, dict))}
    return with_spreads(
        {
            "metrics": {n: v[0] if isinstance(v, list) and v else v for n, v in found.items()},
            "errors": {n: v[1] for n, v in found.items() if isinstance(v, list) and len(v) == 2},
            "details": details if isinstance(details, dict) else {},
        }
    )
