"""How often the same unseen rows have certified before: each time, their risk is spent again."""

import contextlib
import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from fenceline.certificate.certify import Certificate
from fenceline.metrics.trial import Rows, Table, take
from fenceline.store.meta import plain

FILE = "unseen.json"
"""In a run directory: how many certificates there were, by a digest of the rows."""


def counted(
    estimator: Any, certificate: Certificate | None, table: Table, unseen: Rows
) -> Certificate | None:
    """Return a certificate that knows how many there were on the same rows, and count it.

    Known are those of this estimator and of its run directory; what else was tried on the rows is
    for the user to know.
    """
    if certificate is None or not unseen.size:
        return certificate
    rows = _digest(table, unseen)
    known = getattr(estimator, "_certified_", {})
    path = None if estimator.run_dir is None else Path(estimator.run_dir) / FILE
    written = _read(path)
    earlier = max(known.get(rows, 0), written.get(rows, 0))
    estimator._certified_ = known | {rows: earlier + 1}
    if path is not None and path.parent.is_dir():
        with contextlib.suppress(OSError):  # a certificate is worth more than its count
            path.write_text(json.dumps(written | {rows: earlier + 1}) + "\n", encoding="utf-8")
    return replace(certificate, earlier=earlier)


def _digest(table: Table, unseen: Rows) -> str:
    described = plain([take(table.X, unseen), table.y[unseen]])
    return hashlib.sha256(json.dumps(described).encode()).hexdigest()[:16]


def _read(path: Path | None) -> dict[str, int]:
    """Return what a run directory says; a file that is not ours says nothing."""
    if path is None:
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {str(k): v for k, v in found.items() if type(v) is int and 0 <= v < 1_000_000}
