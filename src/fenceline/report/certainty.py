"""What a certificate says and what it cost, in words."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fenceline.report.subject import Subject

if TYPE_CHECKING:
    from fenceline.certificate.certify import Certificate


def meaning(certificate: "Certificate") -> Iterator[str]:
    """Yield what may be concluded from a certificate on unseen rows, and what may not."""
    sure, rows = f"{certificate.confidence:.0%}", f"{certificate.rows:,}"
    if certificate.joint:
        tries = f"{certificate.candidates} pipelines that may be tried on them"
        yield (
            f"All of these statements hold together with {sure} confidence, for new rows like the "
            f"{rows} unseen ones; {tries} are accounted for."
        )
    elif certificate.status == "certified":
        yield (
            f"That every constraint holds, for new rows like the {rows} unseen ones, is said with "
            f"{sure} confidence, whichever of the candidates was certified; each bound holds with "
            f"{sure} confidence by itself, and joint=True makes them hold together."
        )
    else:
        yield f"Each bound holds with {sure} confidence by itself."
        yield "More rows would narrow the error; a looser bound would be certified sooner."
    if certificate.compared:
        yield (
            "Rates and rankings are those of the unseen rows, less the luck that the model shares there "
            f"with plain ones; how lucky those are, {certificate.compared:,} rows of the search tell."
        )


def price_of_certainty(subject: Subject) -> str:
    """Say what the best by the folds had, if something safer was delivered; else nothing."""
    best, delivered = subject.result.best, subject.objective
    if not subject.finalists or best is None or delivered is None:
        return ""
    if not delivered > best.objective:
        return ""
    score = subject.score
    certified = subject.certificate is not None and subject.certificate.status == "certified"
    text = (
        f"The best by the folds had {score.name} = {score.value(best.objective):.4g}; "
        f"{'certainty' if certified else 'safety'} cost "
        f"{delivered - best.objective:.2g}."
    )
    seen = {finalist.objective: finalist.unseen for finalist in subject.finalists}
    if (ours := seen.get(delivered)) is not None and (
        theirs := seen.get(best.objective)
    ) is not None:
        text += (
            f" On unseen rows it had {score.value(theirs):.4g}, and what is delivered "
            f"{score.value(ours):.4g}."
        )
    return text


def why_delivered(subject: Subject) -> str:
    """Say why the model need not be the first of the leaderboard."""
    count = len(subject.finalists)
    certificate = subject.certificate
    if count < 2 or certificate is None:
        return ""
    tested = f"{count} candidates were fitted on all rows of the search and measured on unseen ones"
    reasons = {
        "certified": f"{tested}, from safe to bold. Delivered is the best that is certified.",
        "feasible": f"{tested}. None is certified, so the best that is safe enough is delivered.",
        "infeasible": f"{tested}. Unseen rows confirm none of them.",
    }
    return " ".join(filter(None, [reasons[certificate.status], price_of_certainty(subject)]))
