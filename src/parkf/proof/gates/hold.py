"""Comparison of a run's figures with the thresholds; a figure that was not measured misses its gate.

One rule holds for errors: a bound gives way by :data:`ERRORS` standard errors of a figure, and as it is for a
figure without an error. A figure whose error is larger than the bound's power was not measured. The power is
half of the interval, or the size of a single bound. With larger errors, good and bad sets meet the bar alike.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parkf.io.errors import ParkfError
from parkf.io.files import read_json
from parkf.params.configuration import client
from parkf.params.manifest import Blobs, Gate
from parkf.params.parameter_set import load
from parkf.proof.gates.path import Found, find
from parkf.proof.gates.room import room_of, unmeasured
from parkf.proof.gates.thresholds import FILES, OPTIONAL, Threshold, Thresholds, split_figure

ERRORS = 3.0
# The proof of a realigned set, beside the set. It names the set before, whose gates count where a figure was
# not measured in the new detector.
REALIGNED = "realign.json"

_ENOUGH = re.compile(r"\bn>=(\d+)")  # tracks that a path asks of its bins


def hold(parameters: Path, thresholds: Thresholds) -> list[Gate]:
    """Compare the figures of the set in a folder with the thresholds for its forms and its client.

    Next to the folder are ``validation.json`` and ``accuracy.json`` of its run. Gates on ``lhcb.json`` are
    left out unless the run fitted LHCb's own hits. The results are in the order of the thresholds. If a gate
    has several figures, the worst one counts. Sets or figures that are missing or broken, and figures of
    another set, raise a ParkfError.

    A realigned set was measured on few tracks of its detector. Where these do not decide, its gate is that of
    the set before, and says so.
    """
    manifest = load(parameters).manifest
    run = parameters.absolute().parent
    proof = run / REALIGNED
    own = FILES[:1] if proof.exists() else FILES
    there = [name for name in own if name != OPTIONAL or (run / f"{name}.json").exists()]
    documents = {name: read_json(run / f"{name}.json") for name in there}
    for name, document in documents.items():
        _of_this_set(run / f"{name}.json", document, manifest.blobs)
    if proof.exists():
        documents["accuracy"] = {}
    held = [
        _held(one, documents)
        for one in thresholds.gates
        if one.forms in (None, manifest.forms)
        and one.client in (None, client(manifest.configuration))
        and split_figure(one.figure)[0] in documents
    ]
    return _with_those_before(proof, manifest.blobs, held, thresholds) if proof.exists() else held


def _with_those_before(proof: Path, blobs: Blobs, held: list[Gate], thresholds: Thresholds) -> list[Gate]:
    """Replace gates of a realigned set that were not measured by those of the set before; add its own."""
    content = read_json(proof)
    _of_this_set(proof, content, blobs)
    met = not content["is_worse"]
    own = Gate(what="on the same tracks as before", measured=content["answer"], bar="nowhere worse", met=met)
    folder = Path(content["before"]["folder"])
    if not folder.is_dir():
        return [*held, own]
    _of_this_set(proof, content["before"], load(folder).manifest.blobs)
    before = {one.what: one for one in hold(folder, thresholds)}
    told = "before the realignment: "
    for number, one in enumerate(held):
        if unmeasured(one):
            of_before = before[one.what]
            held[number] = of_before.model_copy(update={"measured": told + of_before.measured})
    return [*held, own]


def _of_this_set(path: Path, document: Any, blobs: Blobs) -> None:
    """Refuse figures that were measured with other blobs, or lack their fingerprints."""
    measured = document.get("set") if isinstance(document, dict) else None
    for name, sha256 in blobs.fingerprints().items():
        got = measured.get(name) if isinstance(measured, dict) else None
        if got is None:
            raise ParkfError(f"{path}: does not say which set was measured; run the validation again")
        if got != sha256:
            raise ParkfError(
                f"{path}: set.{name}: got {str(got)[:12]}…, expected {sha256[:12]}… of this set; "
                "the figures are those of another: run the validation again"
            )


def _held(threshold: Threshold, documents: Mapping[str, Any]) -> Gate:
    figures = _find(documents, threshold.figure)
    bounded = _bounded(threshold, figures)
    about: dict[str, Any] = {"what": threshold.gate, "reason": threshold.reason}
    measured = sum(one.is_measured for one in bounded)
    worst = min(bounded, key=_Bounded.room, default=None)
    about |= {"bar": _bar(threshold, worst)}
    few = measured < threshold.count
    if worst is None or (few and worst.room() >= 0):
        shown = "" if worst is None else f": {_shown(threshold, worst, with_place=len(bounded) > 1)}"
        if threshold.count > 1:
            shown += f"{';' if shown else ':'} {measured} of {threshold.count} measured"
        lack = _lacking(threshold, documents, bounded)
        shown += f"; {lack:,.0f} more crossings" if lack else ""
        about |= threshold.model_dump(include={"figure", "at_least", "at_most"})
        return Gate.model_validate(about | {"measured": f"not measured{shown}", "met": False})
    shown = _shown(threshold, worst, with_place=len(bounded) > 1)
    about |= {
        "measured": shown
        + (f"; {measured} of {threshold.count} measured" if few and threshold.count > 1 else ""),
        "met": worst.room() >= 0 and not few,
        "figure": f"{split_figure(threshold.figure)[0]}.json: {worst.found.path}",
        "value": worst.found.value if math.isfinite(worst.found.value) else None,
        "at_least": worst.least,
        "at_most": worst.most,
    }
    return Gate.model_validate(about)


def _find(documents: Mapping[str, Any], figure: str) -> list[Found]:
    file, path = split_figure(figure)
    return list(find(documents[file], path))


@dataclass(frozen=True)
class _Bounded:
    """A figure with its own bounds, widened by its errors."""

    found: Found
    error: float  # 0 without an error
    least: float | None
    most: float | None
    power: float  # largest error with which the figure says anything about its bounds

    @property
    def is_measured(self) -> bool:
        """Whether the figure has no error, or one that is small enough for its bounds."""
        return self.error <= self.power

    def room(self, value: float | None = None) -> float:
        """Return the room of the figure, or of another value."""
        return room_of(self.found.value if value is None else value, self.least, self.most) or 0.0


def _bounded(threshold: Threshold, figures: list[Found]) -> list[_Bounded]:
    """Add bounds, widened by the figures' errors; return an empty list if they do not pair."""
    least, bounded = threshold.at_least, []
    each: Sequence[float | None] = threshold.at_most_each or [threshold.at_most] * len(figures)
    for found, most in zip(figures, each, strict=True) if len(figures) == len(each) else ():
        error = 0.0 if found.error is None or not math.isfinite(found.error) else found.error
        power = abs(least or most or math.inf) if least is None or most is None else (most - least) / 2
        low, high = (
            None if bound is None else bound + way * ERRORS * error for bound, way in ((least, -1), (most, 1))
        )
        bounded.append(_Bounded(found, error, low, high, power))
    return bounded


def _lacking(threshold: Threshold, documents: Mapping[str, Any], bounded: list[_Bounded]) -> float | None:
    """Estimate how many more crossings measure enough figures; None if nothing tells.

    Errors fall with the root of the crossings, and tracks in bins rise with their number.
    """
    if len(bounded) >= threshold.count:
        needs = [((one.error / one.power) ** 2 - 1, one.found.crossings) for one in bounded]
    else:
        enough = _ENOUGH.search(threshold.figure)
        several = _find(documents, _ENOUGH.sub("n>=0", threshold.figure)) if enough else []
        needs = [(int(enough[1]) / one.tracks - 1, one.crossings) for one in several if enough and one.tracks]
    more = sorted(need * crossings for need, crossings in needs if crossings)
    return float(f"{more[threshold.count - 1]:.2g}") if len(more) >= threshold.count else None


def _shown(threshold: Threshold, bounded: _Bounded, *, with_place: bool) -> str:
    scale, unit = _unit(threshold)
    found = bounded.found
    if bounded.error > 0:
        # The error has two digits, and the figure ends at the same decimal place.
        digits = max(0, 1 - math.floor(math.log10(scale * bounded.error)))
        text = f"{scale * found.value:.{digits}f} ± {scale * bounded.error:.{digits}f}"
    else:
        # Use the fewest digits that leave the rounded figure on the same side of its bounds.
        texts = [f"{scale * found.value:.{digits}g}" for digits in range(3, 18)]
        inside = bounded.room() >= 0
        text = next((t for t in texts if (bounded.room(float(t) / scale) >= 0) == inside), texts[-1])
    return f"{text}{unit}" + (f" ({found.place})" if with_place and found.place else "")


def _bar(threshold: Threshold, bounded: _Bounded | None) -> str:
    scale, unit = _unit(threshold)
    each = threshold.at_most_each
    bounds = (threshold.at_least, threshold.at_most)
    least, most = (None if bound is None else f"{scale * bound:.6g}" for bound in bounds)
    if each is not None and bounded is not None:
        bar = f"≤ {scale * bounded.power:.6g}{unit} there"
    elif each is not None:
        bar = f"≤ {scale * each[0]:.6g} … {scale * each[-1]:.6g}{unit}"
    elif least is not None and most is not None:
        bar = f"{least} to {most}{unit}"
    else:
        bar = (f"≥ {least}" if most is None else f"≤ {most}") + unit
    return bar + (f", give or take {ERRORS:g} errors" if bounded is not None and bounded.error else "")


def _unit(threshold: Threshold) -> tuple[float, str]:
    return (100.0, " %") if threshold.unit == "%" else (1.0, f" {threshold.unit}" if threshold.unit else "")
