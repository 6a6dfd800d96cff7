"""Classical test functions over reals and integers, each with its known best value.

None has its minimum in the middle of the ranges, where searches that start there would find it
by accident.
"""

import math
from itertools import pairwise

from fenceline.errors import DefinitionError
from fenceline.problem.constraint import Constraint, metric
from fenceline.problem.parameter import Integer, Parameter, Real
from fenceline.problem.problem import Problem
from fenceline.problem.space import Algorithm, Module, Space
from fenceline.problems.formula import Formula, FormulaMeasure


def branin() -> Problem:
    """Return Branin's function: two reals, three equally deep minima."""
    return _single("plane", {"x1": Real(-5, 10), "x2": Real(0, 15)}, _branin, 5 / (4 * math.pi))


def mixed_rosenbrock(reals: int = 2, integers: int = 2) -> Problem:
    """Return Rosenbrock's curved valley, integers first, with its minimum of 0 at all ones.

    Parameters
    ----------
    reals, integers : int
        How many of each; at least two variables together.
    """
    _check_dimensions("mixed_rosenbrock", reals, integers, least=2)
    params = _variables(reals, integers, Real(-2.0, 3.0), Integer(-5, 10))
    return _single("valley", params, _rosenbrock, 0.0)


def ackley_mixed(reals: int = 2, integers: int = 2) -> Problem:
    """Return Ackley's function, a funnel in a rippled plain, with its minimum of 0 at the origin.

    Parameters
    ----------
    reals, integers : int
        How many of each; at least one variable.
    """
    _check_dimensions("ackley_mixed", reals, integers, least=1)
    params = _variables(reals, integers, Real(-10.0, 25.0), Integer(-10, 25))
    return _single("funnel", params, _ackley, 0.0)


def rastrigin_mixed(reals: int = 2, integers: int = 2) -> Problem:
    """Return Rastrigin's function, a grid of local minima, with its minimum of 0 at the origin.

    Parameters
    ----------
    reals, integers : int
        How many of each; at least one variable.
    """
    _check_dimensions("rastrigin_mixed", reals, integers, least=1)
    params = _variables(reals, integers, Real(-4.0, 6.0), Integer(-4, 6))
    return _single("grid", params, _rastrigin, 0.0)


def two_wells() -> Problem:
    """Return a choice between a wide shallow well and a narrow deep one.

    Most values of the wide well are better than most of the narrow one, whose minimum of 0 at
    x = 0.8, n = 7 is the better of the two: a search that drops an algorithm early loses.
    """
    space = Space(
        [
            Module(
                "well",
                [
                    Algorithm("wide", {"x": Real(0.0, 1.0)}),
                    Algorithm("narrow", {"x": Real(0.0, 1.0), "n": Integer(1, 20)}),
                ],
            )
        ]
    )
    formulas = (("wide", _wide_well), ("narrow", _narrow_well))
    return Problem(space, FormulaMeasure(("loss",), formulas), optimum=0.0)


def gramacy() -> Problem:
    """Return the toy problem of Gramacy et al. (2016): a linear loss behind a wavy constraint."""
    return _single(
        "plane",
        {"x1": Real(0.0, 1.0), "x2": Real(0.0, 1.0)},
        _gramacy,
        0.5997880520100675,
        metrics=("loss", "wave", "radius"),
        constraints=[metric("wave") <= 0.0, metric("radius") <= 1.5],
    )


def pressure_vessel() -> Problem:
    """Return the pressure vessel of Kannan and Kramer (1994): two integers and two reals.

    The thickness of shell and head come in sixteenths of an inch. The cost is smallest at 13 and
    7 of them: the shell's rule then fixes the radius, and the volume fixes the length.
    """
    return _single(
        "vessel",
        {
            "shell": Integer(1, 99),
            "head": Integer(1, 99),
            "radius": Real(10.0, 200.0),
            "length": Real(10.0, 200.0),
        },
        _pressure_vessel,
        6059.714335048436,
        metrics=("loss", "shell_margin", "head_margin", "volume"),
        constraints=[
            metric("shell_margin") >= 0.0,
            metric("head_margin") >= 0.0,
            metric("volume") >= _VOLUME,
        ],
    )


def classical() -> dict[str, Problem]:
    """Return all the classical problems, by name."""
    makers = (
        branin,
        mixed_rosenbrock,
        ackley_mixed,
        rastrigin_mixed,
        two_wells,
        gramacy,
        pressure_vessel,
    )
    return {make.__name__: make() for make in makers}


_VOLUME = 1_296_000.0
_SIXTEENTH = 0.0625


def _branin(x1: float, x2: float) -> dict[str, float]:
    bend = x2 - 5.1 / (4 * math.pi**2) * x1**2 + 5 / math.pi * x1 - 6
    return {"loss": bend**2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x1) + 10}


def _rosenbrock(**params: float) -> dict[str, float]:
    steps = pairwise(params.values())
    return {"loss": math.fsum(100 * (b - a**2) ** 2 + (1 - a) ** 2 for a, b in steps)}


def _ackley(**params: float) -> dict[str, float]:
    x = list(params.values())
    size = math.sqrt(math.fsum(v**2 for v in x) / len(x))
    ripple = math.fsum(math.cos(2 * math.pi * v) for v in x) / len(x)
    # expm1 on both sides: the textbook's 20 + e - ... leaves 4e-16 at the minimum.
    return {"loss": -20 * math.expm1(-0.2 * size) - math.e * math.expm1(ripple - 1)}


def _rastrigin(**params: float) -> dict[str, float]:
    x = params.values()
    return {"loss": math.fsum(v**2 + 10 * (1 - math.cos(2 * math.pi * v)) for v in x)}


def _wide_well(x: float) -> dict[str, float]:
    return {"loss": 0.2 + (x - 0.3) ** 2}


def _narrow_well(x: float, n: int) -> dict[str, float]:
    return {"loss": 1 - math.exp(-100 * (x - 0.8) ** 2 - 0.1 * (n - 7) ** 2)}


def _gramacy(x1: float, x2: float) -> dict[str, float]:
    wave = 1.5 - x1 - 2 * x2 - 0.5 * math.sin(2 * math.pi * (x1**2 - 2 * x2))
    return {"loss": x1 + x2, "wave": wave, "radius": x1**2 + x2**2}


def _pressure_vessel(shell: int, head: int, radius: float, length: float) -> dict[str, float]:
    ts, th = _SIXTEENTH * shell, _SIXTEENTH * head
    return {
        "loss": 0.6224 * ts * radius * length
        + 1.7781 * th * radius**2
        + 3.1661 * ts**2 * length
        + 19.84 * ts**2 * radius,
        "shell_margin": ts - 0.0193 * radius,
        "head_margin": th - 0.00954 * radius,
        "volume": math.pi * radius**2 * length + 4 / 3 * math.pi * radius**3,
    }


def _single(
    name: str,
    params: dict[str, Parameter],
    formula: Formula,
    optimum: float,
    *,
    metrics: tuple[str, ...] = ("loss",),
    constraints: list[Constraint] | None = None,
) -> Problem:
    """Return a problem with a single algorithm in a single module."""
    space = Space([Module("function", [Algorithm(name, params)])])
    measure = FormulaMeasure(metrics, ((name, formula),))
    return Problem(space, measure, constraints=constraints or (), optimum=optimum)


def _variables(reals: int, integers: int, real: Real, integer: Integer) -> dict[str, Parameter]:
    whole: dict[str, Parameter] = {f"n{k}": integer for k in range(1, integers + 1)}
    return whole | {f"x{k}": real for k in range(1, reals + 1)}


def _check_dimensions(owner: str, reals: object, integers: object, least: int) -> None:
    counts = (reals, integers)
    if any(isinstance(n, bool) or not isinstance(n, int) or n < 0 for n in counts):
        raise DefinitionError(
            f"{owner}: reals and integers must be whole numbers of at least 0. "
            f"Got reals={reals!r} and integers={integers!r}; such as 2 and 2."
        )
    if sum(n for n in counts if isinstance(n, int)) < least:
        raise DefinitionError(
            f"{owner}: at least {least} variable(s) are needed. "
            f"Got reals={reals!r} and integers={integers!r}; raise one of them."
        )
