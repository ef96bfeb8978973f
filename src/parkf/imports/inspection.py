"""What an inspection of imported files has found, as a table, as JSON, and as a verdict."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from parkf.io.errors import ParkfError
from parkf.io.terminal import aligned

Verdict = Literal["ok", "doubtful", "wrong"]
_ORDER: tuple[Verdict, ...] = ("ok", "doubtful", "wrong")


@dataclass(frozen=True)
class Figure:
    """One measured number.

    Attributes
    ----------
    name, unit : str
    value : float or None
        None where it cannot be measured.
    expected : str
        Beside it in the table: what it should be.
    """

    name: str
    value: float | None
    unit: str = ""
    expected: str = ""


@dataclass(frozen=True)
class Finding:
    """Something that is not as it should be.

    Attributes
    ----------
    verdict : {"doubtful", "wrong"}
        A doubtful finding is reported, and the import goes on; a wrong one is refused.
    what : str
        "polarity turned".
    evidence : str
        The numbers that say so.
    """

    verdict: Verdict
    what: str
    evidence: str

    def __str__(self) -> str:
        return f"{self.verdict}: {self.what} ({self.evidence})"


@dataclass(frozen=True)
class Inspection:
    """Figures and findings of one thing that came in.

    Attributes
    ----------
    subject : str
        What was looked at: a file, or a step.
    exempt : str
        Why there is no verdict; empty where there is one.
    """

    subject: str
    figures: tuple[Figure, ...]
    findings: tuple[Finding, ...]
    exempt: str = ""

    @property
    def verdict(self) -> Verdict:
        """The worst of the findings'; ok without any."""
        return max((finding.verdict for finding in self.findings), key=_ORDER.index, default="ok")

    def table(self) -> str:
        """Figures, findings and verdict, for a terminal."""
        rows = [(f.name, _text(f.value), f.unit, f.expected) for f in self.figures]
        lines = (
            [self.subject, aligned(("what", "here", "unit", "expected"), rows)] if rows else [self.subject]
        )
        lines += [str(finding) for finding in self.findings]
        end = f"not judged: {self.exempt}" if self.exempt else f"verdict: {self.verdict}"
        return "\n".join([*lines, end])

    def as_json(self) -> dict[str, Any]:
        """Give the same for programs."""
        return {
            "subject": self.subject,
            "verdict": self.verdict,
            "exempt": self.exempt,
            "figures": [vars(figure) for figure in self.figures],
            "findings": [vars(finding) for finding in self.findings],
        }


def worst(inspections: Iterable[Inspection]) -> Verdict:
    """Give the worst verdict of several inspections."""
    return max((inspection.verdict for inspection in inspections), key=_ORDER.index, default="ok")


def require_sound(inspections: Iterable[Inspection], *, trust: bool) -> None:
    """Refuse what is wrong, unless the user vouches for it.

    Raises
    ------
    ParkfError
        With every finding of that verdict.
    """
    if trust:
        return
    wrong = [
        f"{inspection.subject}: {finding.what} ({finding.evidence})"
        for inspection in inspections
        for finding in inspection.findings
        if finding.verdict == "wrong"
    ]
    if wrong:
        raise ParkfError("\n".join([*wrong, "nothing was written; if this is as it should be, say --trust"]))


def _text(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"
