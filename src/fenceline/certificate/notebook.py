"""A certificate, and the model that has it, as cards of HTML for notebooks."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fenceline.certificate.certify import Certificate, Check
from fenceline.problem.configuration import Configuration
from fenceline.problem.objective import named
from fenceline.result.notebook import box

_TITLES = ("Constraint", "Unseen rows", "With error", "Margin", "Verdict")
_WORDS = {"feasible": "Feasible, not certified"}


def certificate_card(certificate: Certificate) -> str:
    """Return what unseen rows say of a model."""
    status = certificate.status
    return box(
        status, _title(status), _facts(certificate), [certificate.reason], *_fence(certificate)
    )


def model_card(
    pipeline: Configuration | Sequence[Configuration],
    objective: str,
    metrics: Mapping[str, float],
    certificate: Certificate | None,
) -> str:
    """Return the model that was delivered: its steps, its objective, and its certificate.

    Parameters
    ----------
    pipeline : Configuration or sequence of Configuration
        The delivered pipeline, or those that vote, each as often as it has votes.
    objective : str
        The name of the objective.
    metrics : mapping of str to float
        What cross-validation measured of it.
    certificate : Certificate, optional
        What unseen rows say of it.
    """
    members = [pipeline] if isinstance(pipeline, Configuration) else list(pipeline)
    lines = [" + ".join(map(str, dict.fromkeys(members)))]
    value = metrics.get(objective)
    if value is not None:
        lines.append(f"{named(objective).written(value)}, by cross-validation")
    if certificate is None:
        return box("delivered", "Delivered, without a fence", "", lines)
    lines.append(certificate.reason)
    title = f"Delivered: {_title(certificate.status).lower()}"
    return box(certificate.status, title, _facts(certificate), lines, *_fence(certificate))


def _fence(certificate: Certificate) -> tuple[Sequence[str], Iterator[Sequence[str]]]:
    return _TITLES, (_cells(check) for check in certificate.checks)


def _cells(check: Check) -> tuple[str, ...]:
    sides = {"<=": f"at most {check.high:.4g}", ">=": f"at least {check.low:.4g}"}
    edge = sides.get(check.constraint.sense, f"{check.low:.4g} to {check.high:.4g}")
    numbers: tuple[Any, ...] = (f"{check.value:.4g}", edge, f"{check.margin:.3g}")
    return (str(check.constraint), *numbers, _title(check.verdict).lower())


def _title(status: str) -> str:
    return _WORDS.get(status, status.capitalize())


def _facts(certificate: Certificate) -> str:
    return certificate.basis
