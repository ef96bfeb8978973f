"""Figures of runs and sets, with their differences in errors."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from parkf.fit.sample import GENUINE_P
from parkf.proof.comparing.subject import Subject

_GROUPS = ("resolution", "bias", "pulls", "ghosts", "accuracy")
SCORES = {
    "chi2": "χ²/ndof",
    "score": "score, without p and η",
    "score_kinematic": "score, with p and η",
}
_GHOSTS = f"ghosts kept at 91 % by {SCORES['chi2']} [%]"
# Number of errors; a figure that differs by more from the first subject's figure is emphasised.
MOVED = 3.0


@dataclass(frozen=True)
class Measured:
    """A figure."""

    value: float
    error: float | None = None


@dataclass(frozen=True)
class Row:
    """A figure of every subject."""

    group: str  # one of _GROUPS
    what: str  # with its unit
    measured: Sequence[Measured | None]  # one for each subject; None without the figure
    in_errors: Sequence[float | None]  # differences from the first subject, over their errors, if known

    def figure(self, subject: int) -> str:
        """Write a subject's figure with its error."""
        one = self.measured[subject]
        if one is None:
            return "–"
        if one.error:
            digits = max(0, min(6, 1 - int(f"{one.error:e}".partition("e")[2])))
            return f"{one.value:.{digits}f} ± {one.error:.{digits}f}"
        return f"{one.value:.4g}"

    def difference(self, other: int) -> str:
        """Write the difference in errors, or a dash where its error is not known."""
        found = self.in_errors[other]
        return "–" if found is None else f"{found:+.1f}"

    @property
    def cells(self) -> list[str]:
        """Text of the figure, and of each subject's figure and, of others than the first, its difference."""
        others = range(1, len(self.measured))
        return [
            *(self.what, self.figure(0)),
            *(text for one in others for text in (self.figure(one), self.difference(one))),
        ]

    @property
    def same(self) -> bool:
        """Whether all figures agree to the last digit."""
        return len({one.value for one in self.measured if one is not None}) <= 1


def compare_figures(subjects: Sequence[Subject]) -> list[Row]:
    """Collect the figures of subjects, except figures that only one of several subjects has."""
    columns = [{(group, what): one for group, what, one in _figures(subject)} for subject in subjects]
    keys = dict.fromkeys(key for column in columns for key in column)
    paired = [_paired(subjects[0], other) for other in subjects]

    def row(key: tuple[str, str]) -> Row:
        measured = [column.get(key) for column in columns]
        sigmas = [
            _independent(measured[0], one) if known is None else known.get(key[1])
            for one, known in zip(measured, paired, strict=True)
        ]
        return Row(*key, measured, sigmas)

    rows = [row(key) for key in keys]
    kept = [row for row in rows if sum(one is not None for one in row.measured) > 1 or len(subjects) == 1]
    return sorted(kept, key=lambda row: _GROUPS.index(row.group))


def _independent(one: Measured | None, two: Measured | None) -> float | None:
    """Return the difference of independent figures over its error."""
    if one is None or two is None or one.error is None or two.error is None:
        return None
    error = math.hypot(one.error, two.error)
    return (two.value - one.value) / error if error > 0 else None


def _paired(first: Subject, other: Subject) -> dict[str, float] | None:
    """Return the known differences over their errors, by text; None if the subjects have other tracks."""
    if first.borrowed != other.name and other.borrowed != first.name:
        return None
    sign, beside = (1, other.beside) if other.borrowed else (-1, first.beside)
    found = {}
    for one in ((beside or {}).get("paired") or {}).get("figures", ()):
        what = f"{one['figure']} of δp/p, {_range(one)} [%]" if "p_min" in one else _GHOSTS
        if one["figure"] != "pull" and "tx" not in one and one["error"] > 0:
            found[what] = sign * (one["published"] - one["own"]) / one["error"]
    return found


_Named = tuple[str, str, Measured]  # group, text and figure


def _figures(subject: Subject) -> Iterator[_Named]:
    if subject.validation is not None:
        yield from _of_fit(subject.validation["fits"]["parkf"])
    if subject.accuracy is not None:
        yield from _accuracy(subject.accuracy)


def _of_fit(fit: Mapping[str, Any]) -> Iterator[_Named]:
    def figure(of: Mapping[str, Any], name: str, scale: float = 1.0) -> Measured:
        return Measured(scale * of[name], scale * of[f"{name}_error"])

    # The first bin begins below the momentum from which tracks count.
    bins = [{**one, "p_min": max(one["p_min"], 1e-3 * GENUINE_P)} for one in fit["momentum"]]
    for one in bins:
        yield "resolution", f"core of δp/p, {_range(one)} [%]", figure(one, "core", 100)
        yield "bias", f"bias of δp/p, {_range(one)} [%]", figure(one, "bias", 100)
    for component, pull in fit["pulls"].items():
        name = "q/p" if component == "qop" else component
        yield "bias", f"pull of {name}, mean", figure(pull, "mean")
        yield "pulls", f"pull of {name}, width", figure(pull, "width")
        if "width95" in pull:
            yield "pulls", f"pull of {name}, 95 % width", figure(pull, "width95")
    for one in bins:
        yield "pulls", f"pull of q/p, width, {_range(one)}", figure(one["pulls"]["qop"], "width")
    for name, one in fit.get("scores", {"chi2": fit}).items():
        point = one["working_point"]
        error = 100 * point["ghost_error"] if "scores" in fit else None
        what = f"ghosts kept at 91 % by {SCORES.get(name, name)} [%]"
        yield "ghosts", what, Measured(100 * point["ghost"], error)


def _accuracy(accuracy: Mapping[str, Any]) -> Iterator[_Named]:
    worst: dict[str, float] = {}
    for label, components in accuracy["steps"].items():
        step = label.partition(".")[0]
        ratios = [row["ratio_rms"] for rows in components.values() for row in rows if row["p_min"] >= 3]
        found = max((ratio for ratio in ratios if ratio is not None), default=None)
        if found is not None:
            worst[step] = max(worst.get(step, 0.0), found)
    for step, value in worst.items():
        yield "accuracy", f"largest δ_par/σ_MS of step {step}, from 3 GeV", Measured(value)
    for row in accuracy["table"]["fiducial"]:
        if row["component"] in ("x", "tx"):
            unit, scale = ("mm", 1.0) if row["component"] == "x" else ("mrad", 1e3)
            what = f"magnet table, 68 % of |δ{row['component']}|, {_range(row)} [{unit}]"
            yield "accuracy", what, Measured(scale * row["q68"])


def _range(row: Mapping[str, Any]) -> str:
    return f"{row['p_min']:g}–{row['p_max']:g} GeV"
