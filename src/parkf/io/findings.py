"""What is wrong or doubtful with an input: findings, and figures beside them, as a table and as JSON."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from parkf.io.errors import ParkfError
from parkf.io.terminal import aligned, say

Verdict = Literal["ok", "doubtful", "wrong"]


@dataclass(frozen=True)
class Figure:
    """A measured number, and the expected one, as text for the table."""

    name: str
    value: float | None  # None where it cannot be measured
    unit: str = ""
    expected: str = ""


@dataclass(frozen=True)
class Finding:
    """A deviation from the expectation: a doubtful one is reported, a wrong one is refused."""

    verdict: Verdict
    what: str  # the fault, such as "polarity turned"
    evidence: str = ""  # the numbers that show it, if `what` does not have them
    quality: bool = False  # whether a poor parameter set for the right detector could cause the same

    @property
    def said(self) -> str:
        """The fault and its evidence."""
        return f"{self.what} ({self.evidence})" if self.evidence else self.what

    def __str__(self) -> str:
        return f"{self.verdict}: {self.said}"


def judged(
    size: float, bounds: tuple[float, float], what: str, evidence: str = "", *, quality: bool = False
) -> list[Finding]:
    """Judge a deviation: doubtful above the first bound, wrong above the second, no finding below both."""
    if not size > bounds[0]:
        return []
    return [Finding("wrong" if size > bounds[1] else "doubtful", what, evidence, quality)]


@dataclass(frozen=True)
class Inspection:
    """Figures and findings of one file or step."""

    subject: str  # name of the file or step
    exempt: str  # the reason why there is no verdict; empty where there is one
    figures: tuple[Figure, ...]
    findings: tuple[Finding, ...]

    @classmethod
    def of(cls, subject: str, results: Iterable[Figure | Finding], exempt: str = "") -> Self:
        """Inspection with the figures that checks yield, and their findings unless it is exempt."""
        found = list(results)
        findings = tuple(one for one in found if isinstance(one, Finding) and not exempt)
        return cls(subject, exempt, tuple(one for one in found if isinstance(one, Figure)), findings)

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of the findings; ok without findings."""
        return max((finding.verdict for finding in self.findings), key=get_args(Verdict).index, default="ok")

    def table(self) -> str:
        """Figures, findings and verdict, for a terminal."""
        rows = [
            (f.name, "" if f.value is None else f"{f.value:.4g}", f.unit, f.expected) for f in self.figures
        ]
        table = [aligned(("what", "here", "unit", "expected"), rows)] if rows else []
        end = f"not judged: {self.exempt}" if self.exempt else f"verdict: {self.verdict}"
        return "\n".join([self.subject, *table, *map(str, self.findings), end])

    def as_json(self) -> dict[str, Any]:
        """Return the content of `table`, for programs."""
        return {"subject": self.subject, "verdict": self.verdict} | asdict(self)


def settle(inspections: Sequence[Inspection], *, trust: bool = False, as_json: bool = False) -> None:
    """Print inspections; raise a ParkfError with all wrong findings, unless the user trusts the data."""
    if as_json:
        text = json.dumps([inspection.as_json() for inspection in inspections], indent=1)
    else:
        text = "\n\n".join(inspection.table() for inspection in inspections)
    say(text, flush=True)
    wrong = [
        f"{inspection.subject}: {finding.said}"
        for inspection in inspections
        for finding in inspection.findings
        if finding.verdict == "wrong"
    ]
    if wrong and not trust:
        raise ParkfError("\n".join([*wrong, "nothing was written; if this is as it should be, say --trust"]))


def width68(values: NDArray[np.float64]) -> float:
    """Distance from zero that 68 % of the values do not exceed: σ for a Gaussian about zero."""
    return float(np.quantile(np.abs(values), 0.6827)) if len(values) else float("nan")
