"""Whether a run's set should replace the published one, from both on the same tracks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from parkf.params.manifest import Gate
from parkf.proof.gates.room import unmeasured

MATTERS = {"bias": 2e-4, "core": 0.01, "pull": 0.02, "ghosts": 0.01}
"""Differences of :func:`parkf.proof.validation.pairing.compare_fits` that matter; others nobody notices."""

_NAMES = {
    "bias": "mean of δp/p",
    "core": "core of δp/p",
    "pull": "width of the {} pull",
    "ghosts": "fraction of ghosts that is kept",
}

_SURE = 3.0  # paired errors from which a difference is not an accident
_BINS = 6  # of momentum

Figure = Mapping[str, Any]


@dataclass(frozen=True)
class Answer:
    """The answer, and a sentence with its reason."""

    verdict: Literal["replace", "keep", "cannot tell"]
    sentence: str


def judge_replacement(
    paired: Mapping[str, Any], version: str, gates: Sequence[Gate] = (), own: str = "this set"
) -> Answer:
    """Answer whether a set should replace the published `version`.

    `paired` is from :func:`parkf.proof.validation.pairing.compare_fits`. `gates` are those of the new set,
    which is called `own`. The published set is replaced if it is surely worse somewhere, and the new one is
    not.
    """
    figures = paired["figures"]
    lacking = [one for one in gates if unmeasured(one)]
    missed = [one for one in gates if not one.met and one not in lacking]
    keep, unknown = f"Keep {version}: ", f"Cannot tell whether to replace {version}: "
    worse, better = ([one for one in figures if sure(one) and one["worse"] * sign > 0] for sign in (1, -1))
    told = "; but ".join(_told(surest(some), own) for some in (worse, better) if some)
    if missed:
        others = f", and {len(missed) - 1} more" if missed[1:] else ""
        told = f"{keep}{own} misses a gate, {missed[0]}{others}"
        if worse and not better:
            told += "; but " + _told(surest(worse), own, "the published set's")
        return Answer("keep", f"{told}.")
    if figures and not any(one["error"] or one["worse"] for one in figures):
        return Answer("keep", f"{keep}both sets fit all tracks alike.")
    if worse and better:
        return Answer("cannot tell", f"{unknown}{told}.")
    if better:
        return Answer("keep", f"{keep}{told}.")
    if worse and lacking:
        few = f"gates of {own} are not measured ({len(lacking)}, first {lacking[0].what})"
        return Answer("cannot tell", f"{unknown}{told}; but {few}: run with more events.")
    if worse:
        return Answer("replace", f"Replace {version}: {told}.")
    if sum(one["figure"] == "core" for one in figures) < _BINS or figures[-1]["figure"] != "ghosts":
        few = "a bin of momentum has fewer than 50 tracks, or there are too few ghosts"
        return Answer("cannot tell", f"{unknown}{few}: run with more events.")
    last, more = least_known(paired)
    if more:
        needed = f"about {more:,.0f} more crossings would tell"
        return Answer("cannot tell", f"{unknown}{_told(last, own)}; {needed}.")
    largest = _told(max(figures, key=size_of), own)
    return Answer("keep", f"{keep}no difference that matters is seen; the largest: {largest}.")


def least_known(paired: Mapping[str, Any]) -> tuple[Figure, float]:
    """Return the figure that is known worst, and how many more crossings would tell whether it matters.

    Two errors must be less than what matters.
    """
    last = max(paired["figures"], key=lambda one: one["worse_error"] / MATTERS[one["figure"]])
    lack = (2 * last["worse_error"] / MATTERS[last["figure"]]) ** 2 - 1
    return last, float(f"{max(lack, 0.0) * paired['crossings']:.2g}")


def size_of(one: Figure, errors: float = 1.0) -> float:
    """Return how much a difference less some of its errors matters."""
    # A whole bin is told before a cell of it, unless the cell is far worse.
    known = abs(one["worse"]) - errors * one["worse_error"]
    return float(known / MATTERS[one["figure"]] / (1.5 if "tx" in one else 1))


def surest(figures: Sequence[Figure]) -> Figure:
    """Return the difference that matters most, of differences that are sure."""
    return max(figures, key=lambda one: size_of(one, _SURE))


def sure(one: Figure) -> bool:
    """Whether one of the sets is worse by what matters and by more than three errors."""
    return bool(abs(one["worse"]) > max(MATTERS[one["figure"]], _SURE * one["worse_error"]))


def name(one: Figure) -> str:
    """Name a figure: ``mean of δp/p``, ``width of the tx pull``."""
    return _NAMES[one["figure"]].format(one.get("component", "q/p"))


def place(one: Figure) -> str:
    """Say of which tracks a figure is: ``5–10 GeV, tx > 0, bent to +x``; empty for all."""
    if "p_min" not in one:
        return ""
    signs = {-1: ("<", "−"), 1: (">", "+")}
    cell = f", tx {signs[one['tx']][0]} 0, bent to {signs[one['bend']][1]}x" if "tx" in one else ""
    return f"{one['p_min']:g}–{one['p_max']:g} GeV{cell}"


def value(one: Figure, of: str) -> str:
    """Write the figure of the set `of`: ``own`` or ``published``."""
    figure, found = one["figure"], one[of]
    if figure == "bias":
        return f"{abs(100 * found):.3f} % {'low' if found < 0 else 'high'}"
    return f"{found:.3f}" if figure == "pull" else f"{100 * found:.{3 if figure == 'core' else 1}f} %"


def difference(one: Figure) -> str:
    """Write by how much one set is worse, with its error."""
    unit, scale, digits = {"bias": (" %", 100, 3), "pull": ("", 1, 3)}.get(one["figure"], (" %", 100, 1))
    # An error that is not zero is not written as zero.
    digits += scale * one["worse_error"] < 0.5 * 10**-digits
    return f"{abs(scale * one['worse']):.{digits}f} ± {scale * one['worse_error']:.{digits}f}{unit}"


def what_is(one: Figure) -> str:
    """Begin a sentence about a figure: ``momenta at 5–10 GeV are``."""
    at = f" at {place(one)}" if "p_min" in one else ""
    return f"momenta{at} are" if one["figure"] == "bias" else f"{name(one)}{at} is"


def _told(one: Figure, own: str, whose: str = "its") -> str:
    """Write a figure of both sets, and how much worse one of them is."""
    worse = "it" if one["worse"] > 0 else own
    return (
        f"{whose} {what_is(one)} {value(one, 'published')}, {own}'s {value(one, 'own')}; {worse} is worse by"
        f" {difference(one)}"
    )
