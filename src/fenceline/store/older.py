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
