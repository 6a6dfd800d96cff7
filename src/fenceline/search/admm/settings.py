"""What ADMM may be set to; kept out of :mod:`fenceline.search.admm.admm`, which is for the algorithm."""

import math
from typing import Any

from fenceline.errors import DefinitionError
from fenceline.problem.problem import Problem
from fenceline.search.admm import solvers
from fenceline.search.precision import Adaptive, Fixed

BLOCKS = ("theta", "z")


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
    for name in BLOCKS:
        solver = getattr(settings, name)
        solves = hasattr(solver, "proposals") and not isinstance(solver, type)
        fits = solves and name in getattr(solver, "blocks", BLOCKS)
        require(solver is None or fits, name, f"a solver that fits: {_listed(fitting(name))}")
    if settings.theta is None and (settings.slack == "searched" or settings.relax):
        raise DefinitionError(
            "ADMM: slack='searched' and relax=True belong to a theta-min solved by measuring; "
            "give theta= too, such as theta=Bayesian()."
        )


def check_problem(settings: Any, problem: Problem) -> None:
    """Refuse a solver that needs what a problem does not offer, before anything is measured."""
    for name in BLOCKS:
        solver = getattr(settings, name)
        if getattr(solver, "needs_fidelity", False) and not problem.fidelities:
            others = [
                n for n in fitting(name) if not getattr(getattr(solvers, n), "needs_fidelity", 0)
            ]
            raise DefinitionError(
                f"ADMM: {name}={solver!r} takes cheap looks first, but this problem has no fidelity. "
                "Give `measure` a parameter `fidelity` (the share of the rows) and an attribute "
                f"`fidelities` such as (1/9, 1/3), or take {_listed(others)}."
            )


def fitting(block: str) -> list[str]:
    """Return the names of the solvers that fit a sub-problem."""
    return [
        name
        for name in solvers.__all__
        if hasattr(getattr(solvers, name), "proposals")
        and name not in ("Solver", "Subproblem")
        and block in getattr(getattr(solvers, name), "blocks", BLOCKS)
    ]


def _listed(names: list[str]) -> str:
    return ", ".join(f"{name}()" for name in names[:-1]) + f" or {names[-1]}()"
