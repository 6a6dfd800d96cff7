"""What a fit came to, and what is written of it into the run directory."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fenceline.errors import FencelineError, StoreError
from fenceline.problem.constraint import Constraint
from fenceline.result.result import Result

if TYPE_CHECKING:
    from fenceline.certificate.certify import Certificate
    from fenceline.report.subject import Subject

MODEL, CERTIFICATE, REPORT, SUMMARY, INSPECTION = (
    "model.skops",
    "certificate.json",
    "report.html",
    "summary.json",
    "inspection.json",
)
FORMAT = 1
ANSWERED, WRONG_USE, NOTHING_INSIDE, INTERRUPTED = 0, 2, 3, 130


@dataclass(frozen=True)
class FitRecord:
    """A model inside the fence, or the reason why there is none."""

    model: Any
    refusal: FencelineError | None
    """What the fit raised when it found, or confirmed, nothing inside the fence."""
    spent: float = 0.0
    """Seconds of the run before it was continued."""
    title: str | None = None
    """Of the report."""

    @property
    def result(self) -> Result:
        """The search."""
        result: Result = self.model.result_
        return result

    @property
    def certificate(self) -> "Certificate | None":
        """What unseen rows say; None without constraints, and where nothing was found."""
        return getattr(self.model, "certificate_", None)

    @property
    def status(self) -> str:
        """One of certified, feasible, infeasible, failed (nothing could be measured), empty."""
        if self.refusal is not None:
            return "infeasible" if self.result.nearest_miss is not None else self.result.status
        return "feasible" if self.certificate is None else self.certificate.status

    @property
    def exit_code(self) -> int:
        """What the command leaves with."""
        if self.result.ended == "interrupted":
            return INTERRUPTED
        return ANSWERED if self.refusal is None else NOTHING_INSIDE

    def summary(self, directory: Path) -> dict[str, Any]:
        """Return everything of interest in JSON's types."""
        from fenceline.export.environment import environment
        from fenceline.report.certainty import price_of_certainty
        from fenceline.report.subject import Subject

        result, subject = self.result, Subject.of(self.model)
        return plain(  # type: ignore[no-any-return]
            {
                "format": FORMAT,
                "status": self.status,
                "ended": result.ended,
                "message": result.message if self.refusal is None else str(self.refusal),
                "directory": str(directory),
                "objective": {"name": result.problem.objective, "value": subject.objective},
                "score": _score(subject),
                "pipelines": [
                    {
                        "votes": votes,
                        "pipeline": str(configuration),
                        "configuration": configuration.to_dict(),
                    }
                    for configuration, votes in subject.members.items()
                ],
                "fits": subject.fits,
                "threshold": subject.threshold,
                "constraints": [
                    {
                        "constraint": str(s.constraint),
                        "value": s.value,
                        "standard_error": s.error,
                        "margin": s.margin,
                        "holds": s.holds,
                        "price": s.price,
                    }
                    for s in subject.standings
                ],
                "certificate": certificate_record(self.certificate),
                "price_of_certainty": price_of_certainty(subject),
                "finalists": [
                    {
                        "pipeline": str(f.configuration),
                        "threshold": f.threshold,
                        "decides_at": f.decides_at,
                        "objective": f.objective,
                        "unseen": f.unseen,
                        "verdict": f.verdict,
                    }
                    for f in subject.finalists
                ],
                "evaluations": len(result.full),
                "looks": result.looks,
                "feasible_fraction": result.feasible_fraction,
                "seconds": self.spent + result.seconds,
                "exit_code": self.exit_code,
                "environment": environment(),
            }
        )

    def write(self, directory: Path) -> None:
        """Write model, certificate, report and summary; what no longer holds is removed."""
        from fenceline.report import write_report

        model = directory / MODEL
        if self.refusal is None:
            self.model.save(model)
        else:
            model.unlink(missing_ok=True)
        write_json(directory / CERTIFICATE, certificate_record(self.certificate) or _NONE)
        write_json(directory / SUMMARY, self.summary(directory))
        inspection = getattr(self.model, "inspection_", None)
        if inspection is not None:
            write_json(directory / INSPECTION, inspection)
        else:
            (directory / INSPECTION).unlink(missing_ok=True)
        write_report(self.model, directory / REPORT, title=self.title)


_NONE = {"format": FORMAT, "status": "none", "checks": []}


def _score(subject: "Subject") -> dict[str, Any]:
    """Return the objective as people named it, in the search and on unseen rows."""
    score, found = subject.score, subject.inspection
    searched = None if subject.objective is None else score.value(subject.objective)
    record: dict[str, Any] = {
        "name": score.name,
        "larger_is_better": score.larger_is_better,
        "searched": searched,
    }
    unseen = found["objective"] if found and found["basis"] == "unseen" else None
    if unseen is not None:
        record["unseen"] = {key: unseen[key] for key in ("value", "low", "high")}
    return record


def certificate_record(certificate: "Certificate | None") -> dict[str, Any] | None:
    """Return a certificate in JSON's types; an open side of an interval is null."""
    if certificate is None:
        return None
    checks = [
        asdict(check) | {"text": str(check.constraint), "margin": check.margin}
        for check in certificate.checks
    ]
    record = asdict(certificate) | {"checks": checks}
    return plain({"format": FORMAT, "status": certificate.status} | record)  # type: ignore[no-any-return]


def certificate_of(record: Mapping[str, Any]) -> "Certificate | None":
    """Read what :func:`certificate_record` made."""
    from fenceline.certificate.certify import Certificate, Check

    if not record.get("checks"):
        return None
    checks = tuple(
        Check(
            Constraint(**check["constraint"]),
            check["value"],
            -math.inf if check["low"] is None else check["low"],
            math.inf if check["high"] is None else check["high"],
            check["verdict"],
        )
        for check in record["checks"]
    )
    rest = {name: record[name] for name in ("confidence", "rows", "candidates", "reason")}
    # What older records lack.
    rest |= {name: record.get(name, 0) for name in ("earlier", "compared")}
    return Certificate(checks, **rest, joint=record.get("joint", False))


def plain(thing: Any) -> Any:
    """Make a record printable as JSON: numbers that are not finite become null."""
    if isinstance(thing, dict):
        return {key: plain(value) for key, value in thing.items()}
    if isinstance(thing, list | tuple):
        return [plain(value) for value in thing]
    if isinstance(thing, float) and not math.isfinite(thing):
        return None
    return thing


def write_json(path: Path, record: Any) -> None:
    """Write a record for people and machines."""
    try:
        path.write_text(json.dumps(record, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    except OSError as problem:
        raise StoreError(
            f"{path} cannot be written ({problem.strerror}); make room, or choose another --out."
        ) from problem
