"""Benchmarks leave the table they report on out of what was learnt from tables."""

from __future__ import annotations

import importlib
from contextlib import AbstractContextManager, nullcontext

_STARTS = "fenceline.pipelines.starts"


def leaving_out(name: str) -> AbstractContextManager[None]:
    """Let searches begin as if a table had not been learnt from."""
    try:
        importlib.import_module(_STARTS)
    except ModuleNotFoundError as missing:
        if missing.name != _STARTS:
            raise
        return nullcontext()  # a Fenceline that has learnt nothing
    # Where something was learnt, a benchmark that cannot leave it out must not run.
    portfolio = importlib.import_module(f"{_STARTS}.portfolio")
    found: AbstractContextManager[None] = portfolio.leaving_out(name)
    return found
