"""A `measure` made of a formula: what the classical problems are written with."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from fenceline.problem.configuration import Choice

Formula: TypeAlias = Callable[..., Mapping[str, float]]
"""Takes the hyper-parameters of the only module by name, and returns every metric."""


@dataclass(frozen=True, slots=True)
class FormulaMeasure:
    """Measures a space of one module, by one formula per algorithm.

    Parameters
    ----------
    metrics : tuple of str
        Names of what the formulas return.
    formulas : tuple of (str, callable)
        The formula of every algorithm; functions of a module, so that problems can be pickled.
    """

    metrics: tuple[str, ...]
    formulas: tuple[tuple[str, Formula], ...]

    def __call__(
        self, configuration: Mapping[str, Choice], fidelity: float = 1.0
    ) -> Mapping[str, float]:
        """Return every metric; there is no cheaper version for a lower fidelity."""
        (choice,) = configuration.values()
        params: Mapping[str, Any] = choice.params
        return dict(self.formulas)[choice.algorithm](**params)
