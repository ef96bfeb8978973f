"""Comparison of runs and sets with the first of them."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from parkf.io.errors import ParkfError
from parkf.io.terminal import aligned
from parkf.proof.comparing.figures import Row, compare_figures
from parkf.proof.comparing.inputs import InputDifference, input_differences
from parkf.proof.comparing.subject import Subject


@dataclass(frozen=True)
class Comparison:
    """Runs and sets, compared with the first of them."""

    subjects: Sequence[Subject]
    inputs: Sequence[list[InputDifference]]  # in inputs and code, of each subject but the first
    rows: list[Row]  # figures

    @property
    def answer(self) -> str | None:
        """What the report of a run here says of another set here: whether to replace it; None without one."""
        borrowed = (one for one in self.subjects if one.borrowed)
        said = [(one.beside or {}).get("answer") for one in borrowed]
        return next((one["sentence"] for one in said if one), None)

    def same(self, other: int) -> bool:
        """Whether a subject has the same inputs, code and numbers as the first."""
        one, two = self.subjects[0].manifest, self.subjects[other].manifest
        numbers = (one.blobs, one.ghost_score) == (two.blobs, two.ghost_score)
        return not self.inputs[other - 1] and numbers

    def lines(self, other: int) -> list[str]:
        """Describe the differences from the first, one a line."""
        if self.same(other):
            return ["the same"]
        found = [str(one) for one in self.inputs[other - 1]]
        return found or ["inputs and code are the same, the numbers are not"]

    def content(self) -> dict[str, Any]:
        """Return the whole comparison for JSON."""
        return {
            "subjects": [
                {
                    "name": subject.name,
                    "run": None if subject.run is None else str(subject.run),
                    **subject.manifest.model_dump(include={"version", "detector", "forms", "created"}),
                    "gates": {"met": sum(gate.met for gate in subject.gates), "of": len(subject.gates)},
                    "measured_on": subject.borrowed,
                }
                for subject in self.subjects
            ],
            "answer": self.answer,
            "same": all(self.same(other) for other in range(1, len(self.subjects))),
            "differences": [
                {
                    "name": subject.name,
                    "same": self.same(other),
                    "inputs": [*map(asdict, self.inputs[other - 1])],
                }
                for other, subject in enumerate(self.subjects[1:], start=1)
            ],
            "figures": [
                {
                    "group": row.group,
                    "what": row.what,
                    "values": [None if one is None else one.value for one in row.measured],
                    "errors": [None if one is None else one.error for one in row.measured],
                    "in_errors": list(row.in_errors[1:]),
                }
                for row in self.rows
            ],
        }

    def __str__(self) -> str:
        """Write the answer, differences in inputs and code, and figures that differ, as ``parkf compare``."""
        first, *others = (one.name for one in self.subjects)
        parts = [] if self.answer is None else [self.answer]
        for number, name in enumerate(others, start=1):
            parts.append("\n".join([f"{first} → {name}", *(f"  {line}" for line in self.lines(number))]))
        if all(self.same(number) for number in range(1, len(self.subjects))):
            return "\n\n".join(parts)
        head = ["", "figure", first, *(text for name in others for text in (name, "Δ/σ"))]
        rows = [[row.group, *row.cells] for row in self.rows if not row.same]
        if rows:
            parts.append(aligned(head, rows))
        else:
            parts.append(
                "no figures of tracks: published sets keep none; `--on RUN` measures sets on a run's"
            )
        borrowed = [f"{one.name} on the tracks of {one.borrowed}" for one in self.subjects if one.borrowed]
        if borrowed:
            known = "Δ/σ knows that, and is left out where σ is not known."
            parts.append(f"Measured on the same tracks: {', '.join(borrowed)}. {known}")
        return "\n\n".join(parts)


def compare_subjects(subjects: Sequence[Subject]) -> Comparison:
    """Compare subjects with the first of them; fewer than two raise a ParkfError.

    A published set has no figures of tracks. If one of the runs has measured the set on the run's candidates,
    those figures are compared.
    """
    if len(subjects) < 2:
        raise ParkfError("compare: expected two runs or sets at least")
    known = [_borrowed(subject, subjects) for subject in subjects]
    inputs = [input_differences(known[0], other) for other in known[1:]]
    return Comparison(known, inputs, compare_figures(known))


def _borrowed(subject: Subject, subjects: Sequence[Subject]) -> Subject:
    """Return a set with the figures of a run that measured it; other subjects as they are."""
    for other in subjects if subject.validation is None else ():
        if other.beside is not None and other.beside["set"] == subject.manifest.blobs.fingerprints():
            fits = {"parkf": other.beside["fit"]}
            return replace(subject, validation={"fits": fits}, beside=other.beside, borrowed=other.name)
    return subject
