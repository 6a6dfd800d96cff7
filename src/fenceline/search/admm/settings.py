"""What ADMM may be set to; kept out of :mod:`fenceline.search.admm.admm`, which is for the algorithm."""

import math
from typing import Any

from fenceline.errors import DefinitionError
from fenceline.search.precision import Adaptive, Fixed


def check_settings(settings: Any) -> None:
    """Refuse settings that make no sense, with the value and the remedy."""

    def require(holds: bool, name: str, expected: str) -> None:
        if not holds:
            raise DefinitionError(
                f"ADMM: {name} must be {expected}. Got {getattr(settings, name)!r}."
            )

    rho, iterations = settings.rho, settings.iterations
    rho_fits = isinstance(rho, int | float) and 0 < rho < math.inf
    require(rho_fits, "rho", "a positive number; 1.0 is the paper's")
    require(settings.slack in ("closed", "searched"), "slack", "'closed' or 'searched'")
    require(settings.units in ("unit", "raw"), "units", "'unit' or 'raw'")
    precise = isinstance(settings.precision, Adaptive | Fixed | None)
    require(precise, "precision", "Adaptive(start, stop, step) or Fixed(n)")
    ends = iterations is None or (isinstance(iterations, int) and iterations > 0)
    require(ends, "iterations", "a whole number of at least 1, or None")
    for name in ("theta", "z"):
        solver = getattr(settings, name)
        solves = hasattr(solver, "proposals") and not isinstance(solver, type)
        require(solver is None or solves, name, "a solver, such as Bayesian()")
    if settings.theta is None and (settings.slack == "searched" or settings.relax):
        raise DefinitionError(
            "ADMM: slack='searched' and relax=True belong to a theta-min solved by measuring; "
            "give theta= too, such as theta=Bayesian()."
        )
