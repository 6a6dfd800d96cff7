"""A table made numeric in ONNX: medians for missing numbers, parts of dates, lookups for texts.

Every column is an input of its own, as in the table: numbers are doubles (NaN where missing), texts are
strings (empty where missing), dates are seconds since 1970 in UTC (NaN where missing).
"""

from typing import Any

import numpy as np

from fenceline.pipelines.fitting.prepare_table import TablePreparation
from fenceline.pipelines.onnx.graph import TREES, Graph, doubles, unconvertible

MISSING = ""
"""Stands for a missing text, which ONNX has no value for."""
_DAY, _HOUR = 86400.0, 3600.0


def prepare_table(graph: Graph, step: TablePreparation) -> str:
    """Add the preparation of a table of named columns."""
    names = getattr(step, "feature_names_in_", None)
    if names is None:
        names = [f"x{i}" for i in range(step.n_features_in_)]

    def name(column: Any) -> str:
        return str(column if isinstance(column, str) else names[column])

    numbers = [graph.input(name(c), np.float64, 1) for c in step.numbers]
    parts = [p for c in step.dates for p in _date(graph, graph.input(name(c), np.float64, 1))]
    made = []
    if numbers or parts:
        first = _joined(graph, [*numbers, *parts])
        made.append(imputed(graph, first, step.medians_))
    for column, texts, table in zip(step.texts, step.texts_, step.tables_, strict=True):
        if MISSING in texts:
            raise unconvertible(
                step,
                f"an empty text is a category of {name(column)!r}, and in ONNX it is a missing value",
            )
        codes = graph.add(
            "LabelEncoder",
            graph.input(name(column), object, 1),
            domain=TREES,
            keys_strings=[*texts.tolist(), MISSING],
            values_int64s=list(range(len(texts) + 1)),
            default_int64=len(texts) + 1,
        )
        flat = graph.add("Reshape", codes, graph.constant(np.array([-1])))
        made.append(graph.add("Gather", graph.constant(doubles(table)), flat, axis=0))
    return _joined(graph, made)


def imputed(graph: Graph, value: str, medians: Any) -> str:
    """Put medians where a number is missing."""
    missing = graph.add("IsNaN", value)
    return graph.add("Where", missing, graph.constant(doubles(medians)), value)


def _joined(graph: Graph, values: list[str]) -> str:
    return values[0] if len(values) == 1 else graph.add("Concat", *values, axis=1)


def _date(graph: Graph, seconds: str) -> list[str]:
    """Return days since 1970, year, month, day, weekday and hour.

    The calendar is computed from whole days: Hinnant, chrono-compatible low-level date algorithms,
    https://howardhinnant.github.io/date_algorithms.html. Doubles hold these numbers exactly, and NaN
    stays NaN through all of them.
    """

    def floor(value: str, divisor: float) -> str:
        return graph.add("Floor", graph.numbers("Div", value, divisor))

    def times(value: str, factor: float) -> str:
        return graph.numbers("Mul", value, factor)

    def plus(value: str, *others: str, number: float = 0.0) -> str:
        for other in others:
            value = graph.add("Add", value, other)
        return graph.numbers("Add", value, number)

    def minus(value: str, *others: str, number: float = 0.0) -> str:
        for other in others:
            value = graph.add("Sub", value, other)
        return graph.numbers("Sub", value, number)

    days = graph.numbers("Div", seconds, _DAY)
    whole = graph.add("Floor", days)
    hour = floor(minus(seconds, times(whole, _DAY)), _HOUR)
    week = plus(whole, number=3.0)  # 1970-01-01 was a Thursday
    weekday = minus(week, times(floor(week, 7.0), 7.0))
    shifted = plus(whole, number=719468.0)  # from the first of March of the year 0
    era = floor(shifted, 146097.0)
    of_era = minus(shifted, times(era, 146097.0))
    years = floor(
        minus(
            plus(minus(of_era, floor(of_era, 1460.0)), floor(of_era, 36524.0)),
            floor(of_era, 146096.0),
        ),
        365.0,
    )
    leaps = minus(plus(times(years, 365.0), floor(years, 4.0)), floor(years, 100.0))
    of_year = minus(of_era, leaps)
    from_march = floor(plus(times(of_year, 5.0), number=2.0), 153.0)
    day = plus(minus(of_year, floor(plus(times(from_march, 153.0), number=2.0), 5.0)), number=1.0)
    late = graph.add("Cast", graph.numbers("GreaterOrEqual", from_march, 10.0), to=11)
    month = minus(plus(from_march, number=3.0), times(late, 12.0))
    year = plus(years, times(era, 400.0), late)
    return [days, year, month, day, weekday, hour]
