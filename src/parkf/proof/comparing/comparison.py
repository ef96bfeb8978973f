"""Several subjects beside the first of them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from parkf.io.errors import ParkfError
from parkf.params.registry import Registry
from parkf.proof.comparing.figures import Row, compare_figures
from parkf.proof.comparing.inputs import Difference, input_differences
from parkf.proof.comparing.subject import Subject

# In errors: a figure that is further from the first's stands out.
MOVED = 3.0


@dataclass(frozen=True)
class Comparison:
    """Runs and sets beside the first of them.

    Attributes
    ----------
    subjects : sequence of Subject
    inputs : sequence of list of Difference
        What differed in inputs and code, of each subject but the first.
    rows : list of Row
        Figures.
    """

    subjects: Sequence[Subject]
    inputs: Sequence[list[Difference]]
    rows: list[Row]

    def same(self, other: int) -> bool:
        """Whether a subject has inputs, code and numbers of the first."""
        one, two = self.subjects[0].manifest, self.subjects[other].manifest
        numbers = (one.blobs, one.ghost_score) == (two.blobs, two.ghost_score)
        return not self.inputs[other - 1] and numbers

    def sentence(self, other: int) -> str:
        """Say in words what differed from the first."""
        one, two = self.subjects[0], self.subjects[other]
        if self.same(other):
            return "the same"
        if not self.inputs[other - 1]:
            return "inputs and code are the same, the numbers are not"
        numbers = "" if one.manifest.blobs != two.manifest.blobs else "; the numbers are the same"
        return "; ".join(map(str, self.inputs[other - 1])) + numbers

    def content(self) -> dict[str, Any]:
        """Give all of it for machines."""
        others = range(1, len(self.subjects))
        return {
            "subjects": [_described(subject) for subject in self.subjects],
            "same": all(self.same(other) for other in others),
            "differences": [
                {
                    "name": self.subjects[other].name,
                    "same": self.same(other),
                    "inputs": [{"what": d.what, "text": d.text} for d in self.inputs[other - 1]],
                }
                for other in others
            ],
            "figures": [
                {
                    "group": row.group,
                    "what": row.what,
                    "values": [None if one is None else one.value for one in row.measured],
                    "errors": [None if one is None else one.error for one in row.measured],
                    "in_errors": [row.in_errors(other) for other in others],
                    "ratios": [row.ratio(other) for other in others],
                }
                for row in self.rows
            ],
        }


def _described(subject: Subject) -> dict[str, Any]:
    manifest = subject.manifest
    return {
        "name": subject.name,
        "run": None if subject.run is None else str(subject.run),
        "version": manifest.version,
        "detector": manifest.detector,
        "forms": manifest.forms,
        "created": manifest.created,
        "gates": {"met": sum(gate.met for gate in subject.gates), "of": len(subject.gates)},
        "measured_on": subject.borrowed,
    }


def compare_subjects(subjects: Sequence[Subject]) -> Comparison:
    """Compare with the first.

    A published set keeps no more figures than its gates; where a run has measured it on its own candidates,
    those are taken.

    Raises
    ------
    ParkfError
        When there is nothing to compare.
    """
    if len(subjects) < 2:
        raise ParkfError("compare: expected two runs or sets at least")
    known = [_borrowed(subject, subjects) for subject in subjects]
    inputs = [input_differences(known[0], other) for other in known[1:]]
    return Comparison(known, inputs, compare_figures(known))


def published_of(detector: str, registry: Registry) -> list[str]:
    """Versions of a detector that are not withdrawn, oldest first.

    Raises
    ------
    ParkfError
        When there are fewer than two.
    """
    found = [
        version
        for version in registry.versions()
        if registry.withdrawal(version) is None and registry.load(version).manifest.detector == detector
    ]
    if len(found) < 2:
        raise ParkfError(
            f"{registry.folder}: {len(found)} published sets of {detector}, expected two at least"
        )
    return found


def _borrowed(subject: Subject, all_of_them: Sequence[Subject]) -> Subject:
    if subject.validation is not None:
        return subject
    for other in all_of_them:
        if other.beside is not None and other.beside["set"] == subject.manifest.blobs.fingerprints():
            return replace(subject, validation={"fits": {"parkf": other.beside["fit"]}}, borrowed=other.name)
    return subject
