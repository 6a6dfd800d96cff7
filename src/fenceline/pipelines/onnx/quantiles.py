"""scikit-learn's quantile transformer in ONNX, with normal output by Wichura's formula."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from fenceline.pipelines.onnx.graph import Graph, doubles

_BOUND = 1e-7
"""So near to the smallest and the largest value learnt, scikit-learn's normal output takes the end."""

# Algorithm AS 241, Applied Statistics 37 (1988), https://doi.org/10.2307/2347330: from the highest power down.
# Its third range begins beyond the ends that scikit-learn clips to.
_MIDDLE = (
    [
        2509.0809287301226727,
        33430.575583588128105,
        67265.770927008700853,
        45921.953931549871457,
        13731.693765509461125,
        1971.5909503065514427,
        133.14166789178437745,
        3.3871328727963666080,
    ],
    [
        5226.4952788528545610,
        28729.085735721942674,
        39307.895800092710610,
        21213.794301586595867,
        5394.1960214247511077,
        687.18700749205790830,
        42.313330701600911252,
        1.0,
    ],
)
_TAIL = (
    [
        7.74545014278341407640e-4,
        2.27238449892691845833e-2,
        2.41780725177450611770e-1,
        1.27045825245236838258,
        3.64784832476320460504,
        5.76949722146069140550,
        4.63033784615654529590,
        1.42343711074968357734,
    ],
    [
        1.05075007164441684324e-9,
        5.47593808499534494600e-4,
        1.51986665636164571966e-2,
        1.48103976427480074590e-1,
        6.89767334985100004550e-1,
        1.67638483018380384940,
        2.05319162663775882187,
        1.0,
    ],
)


def quantiles(graph: Graph, value: str, step: Any) -> str:
    """Add a fitted quantile transformer."""
    known, levels = doubles(step.quantiles_), doubles(step.references_)
    # Interpolated from both sides, so that repeated quantiles give the middle of their levels.
    up = _interpolated(graph, value, known, levels)
    down = _interpolated(graph, graph.add("Neg", value), -known[::-1], -levels[::-1])
    shares = graph.numbers("Mul", graph.add("Sub", up, down), 0.5)
    normal = step.output_distribution == "normal"
    margin = _BOUND if normal else 0.0
    least, most = graph.numbers("Sub", value, margin), graph.numbers("Add", value, margin)
    ends = [(most, "Greater" if normal else "Equal", known[-1], 1.0)]
    ends += [(least, "Less" if normal else "Equal", known[0], 0.0)]
    for compared, operator, end, share in ends:
        reached = graph.numbers(operator, compared, end)
        shares = graph.add("Where", reached, graph.constant(doubles(share)), shares)
    return _normal(graph, shares) if normal else shares


def _interpolated(
    graph: Graph, value: str, known: NDArray[np.float64], levels: NDArray[np.float64]
) -> str:
    """Return what numpy's interp does, column by column: by the last quantile that is at most the value."""
    deep = graph.add("Unsqueeze", value, graph.constant(np.array([1])))
    reached = graph.add("Cast", graph.numbers("GreaterOrEqual", deep, known[None]), to=7)
    count = graph.add("ReduceSum", reached, graph.constant(np.array([1])), keepdims=0)
    at = graph.add("Sub", count, graph.constant(np.array(1)))
    last = graph.constant(np.array(len(known) - 2))
    at = graph.add("Max", graph.add("Min", at, last), graph.constant(np.array(0)))
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = np.diff(levels)[:, None] / np.diff(known, axis=0)
    slopes = np.where(np.isfinite(slopes), slopes, 0.0)
    start = graph.add("GatherElements", graph.constant(known), at, axis=0)
    slope = graph.add("GatherElements", graph.constant(slopes), at, axis=0)
    level = graph.add("Gather", graph.constant(levels), at, axis=0)
    found = graph.add("Add", level, graph.add("Mul", slope, graph.add("Sub", value, start)))
    ends = [("GreaterOrEqual", known[-1], levels[-1]), ("Less", known[0], levels[0])]
    for operator, end, end_level in ends:
        beyond = graph.numbers(operator, value, end)
        found = graph.add("Where", beyond, graph.constant(doubles(end_level)), found)
    return found


def _normal(graph: Graph, shares: str) -> str:
    """Return normal quantiles, clipped where scikit-learn does."""
    spacing = _BOUND - np.spacing(1)
    low, high = norm.ppf(spacing), norm.ppf(1 - spacing)
    shares = graph.numbers("Max", graph.numbers("Min", shares, 1 - spacing), spacing)
    centred = graph.numbers("Sub", shares, 0.5)
    inner = graph.numbers("Add", graph.add("Neg", graph.add("Mul", centred, centred)), 0.180625)
    middle = graph.add("Mul", centred, _ratio(graph, inner, *_MIDDLE))
    side = graph.add("Min", shares, graph.numbers("Add", graph.add("Neg", shares), 1.0))
    outer = graph.numbers("Sub", graph.add("Sqrt", graph.add("Neg", graph.add("Log", side))), 1.6)
    tail = graph.add("Mul", graph.add("Sign", centred), _ratio(graph, outer, *_TAIL))
    near = graph.numbers("LessOrEqual", graph.add("Abs", centred), 0.425)
    found = graph.add("Where", near, middle, tail)
    return graph.numbers("Max", graph.numbers("Min", found, high), low)


def _ratio(graph: Graph, value: str, above: Sequence[float], below: Sequence[float]) -> str:
    return graph.add("Div", _polynomial(graph, value, above), _polynomial(graph, value, below))


def _polynomial(graph: Graph, value: str, powers: Sequence[float]) -> str:
    found = graph.numbers("Add", graph.numbers("Mul", value, powers[0]), powers[1])
    for power in powers[2:]:
        found = graph.numbers("Add", graph.add("Mul", found, value), power)
    return found
