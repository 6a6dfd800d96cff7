"""What to do when unseen rows refuse what the search found: in numbers."""

from collections.abc import Iterator, Mapping

from fenceline.certificate.certify import Certificate, Check
from fenceline.result.diagnosis import admitting, written


def advice(certificate: Certificate, measured: Mapping[str, float]) -> str:
    """Say by how much each broken bound was missed, and what would have kept it.

    Parameters
    ----------
    certificate : Certificate
        What unseen rows say.
    measured : mapping of str to float
        What the folds of the search measured of the same pipeline.
    """
    broken = [check for check in certificate.checks if check.verdict == "infeasible"]
    return " ".join([*_missed(broken, measured), "More rows would bring the two values together."])


def _missed(broken: list[Check], measured: Mapping[str, float]) -> Iterator[str]:
    for check in broken:
        c, by = check.constraint, check.constraint.beyond(check.value)
        folds = measured.get(c.metric)
        before = "" if folds is None else f" ({check.value:.4g}, by the folds {folds:.4g})"
        text = f"Unseen rows miss '{c}' by {by:.3g}{before}: loosen it to {written(admitting(c, check.value))}"
        # A bound on a size or a share that would have to change its sign cannot be tightened so far.
        tighter = float(f"{c.bound - c.sign * by:.4g}")
        if not c.equality and tighter * c.bound > 0:
            text += f", or tighten the bound of the search by as much, to {tighter:g}"
        yield f"{text}."
