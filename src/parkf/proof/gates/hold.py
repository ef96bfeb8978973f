"""Comparison of a run's figures with the thresholds; a figure that was not measured misses its gate.

A figure within its bar was not measured, either, if its error is larger than the bar's power. The power is
half of the interval, or the size of a single bound. With larger errors, good and bad sets meet the bar alike.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from parkf.io.errors import ParkfError
from parkf.io.files import read_json
from parkf.params.configuration import client
from parkf.params.manifest import Blobs, Gate
from parkf.params.parameter_set import load
from parkf.proof.gates.path import Found, find
from parkf.proof.gates.thresholds import FILES, OPTIONAL, Threshold, Thresholds, split_figure


def hold(parameters: Path, thresholds: Thresholds) -> list[Gate]:
    """Compare the figures of the set in a folder with the thresholds for its forms and its client.

    Next to the folder are ``validation.json`` and ``accuracy.json`` of its run. Gates on ``lhcb.json`` are
    left out unless the run fitted LHCb's own hits. The results are in the order of the thresholds. If a gate
    has several figures, the worst one counts. Sets or figures that are missing or broken, and figures of
    another set, raise a ParkfError.
    """
    manifest = load(parameters).manifest
    run = parameters.absolute().parent
    there = [name for name in FILES if name != OPTIONAL or (run / f"{name}.json").exists()]
    documents = {name: read_json(run / f"{name}.json") for name in there}
    for name, document in documents.items():
        _of_this_set(run / f"{name}.json", document, manifest.blobs)
    return [
        _held(one, documents)
        for one in thresholds.gates
        if one.forms in (None, manifest.forms)
        and one.client in (None, client(manifest.configuration))
        and split_figure(one.figure)[0] in documents
    ]


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
    if threshold.over is not None:
        figures = _ratios(figures, _find(documents, threshold.over))
        if not threshold.errors:
            # Most ratios compare fits of the same tracks; their true error is far smaller.
            figures = [replace(found, error=None) for found in figures]
    if threshold.minus is not None:
        figures = _differences(figures, _find(documents, threshold.minus))
    about: dict[str, Any] = {"what": threshold.gate, "reason": threshold.reason}
    bounded = _bounded(threshold, figures)
    if not bounded:
        unmeasured = {"measured": "not measured", "bar": _bar(threshold), "met": False}
        bounds = threshold.model_dump(include={"figure", "at_least", "at_most"})
        return Gate.model_validate(about | unmeasured | bounds)
    worst = min(bounded, key=_Bounded.room)
    found, inside = worst.found, worst.room() >= 0
    measured = sum(one.is_measured() for one in bounded)
    few = measured < threshold.count
    shown = _shown(threshold, worst, with_place=len(bounded) > 1)
    shown += f"; {measured} of {threshold.count} measured" if few and threshold.count > 1 else ""
    blind = few and inside and measured < len(bounded)
    if blind:
        scale, unit = _unit(threshold)
        shown = f"not measured: {shown}; errors above {scale * worst.power:.3g}{unit} show nothing"
    about |= {
        "measured": shown,
        "bar": _bar(threshold, worst),
        "met": inside and not few,
        "figure": f"{split_figure(threshold.figure)[0]}.json: {found.path}",
        "value": found.value if math.isfinite(found.value) and not blind else None,
        "at_least": worst.least,
        "at_most": worst.most,
    }
    return Gate.model_validate(about)


def _find(documents: Mapping[str, Any], figure: str) -> list[Found]:
    file, path = split_figure(figure)
    return list(find(documents[file], path))


def _ratios(above: list[Found], below: list[Found]) -> list[Found]:
    """Divide figures one by one, or all by a single one, as if independent; empty if they do not pair."""
    if len(below) == 1 and not below[0].place:
        below = below * len(above)
    elif [found.place for found in above] != [found.place for found in below]:
        return []
    if any(found.value == 0 for found in below):
        return []
    ratios = []
    for a, b in zip(above, below, strict=True):
        ratio, error = a.value / b.value, None
        if a.error is not None and b.error is not None:
            error = math.hypot(a.error, ratio * b.error) / abs(b.value)
        ratios.append(Found(a.path, a.place, ratio, error))
    return ratios


def _differences(figures: list[Found], others: list[Found]) -> list[Found]:
    """Subtract figures one by one; empty if they do not pair."""
    if [found.place for found in figures] != [found.place for found in others]:
        return []
    return [Found(a.path, a.place, a.value - b.value, None) for a, b in zip(figures, others, strict=True)]


@dataclass(frozen=True)
class _Bounded:
    """A figure with its own bounds."""

    found: Found
    least: float | None
    most: float | None
    unit: float  # of the room, so that bounds of different size compare
    power: float  # largest error with which the figure says anything about its bounds

    def is_measured(self) -> bool:
        """Whether the figure has no error, or one that is small enough for its bounds."""
        error = self.found.error
        return error is None or error <= self.power

    def room(self, value: float | None = None) -> float:
        """Distance of the figure, or of another value, from its bounds; negative beyond them and for NaN."""
        value = self.found.value if value is None else value
        if not math.isfinite(value):
            return -math.inf
        below = math.inf if self.least is None else value - self.least
        above = math.inf if self.most is None else self.most - value
        return min(below, above) / self.unit


def _bounded(threshold: Threshold, figures: list[Found]) -> list[_Bounded]:
    """Add bounds, widened by the threshold's number of errors; return an empty list if they do not pair."""
    each = threshold.at_most_each
    if each is not None and len(figures) != len(each):
        return []
    least, bounded = threshold.at_least, []
    for index, found in enumerate(figures):
        error = 0.0 if found.error is None or not math.isfinite(found.error) else found.error
        wider = threshold.errors * error
        most = threshold.at_most if each is None else each[index]
        low, high = None if least is None else least - wider, None if most is None else most + wider
        if least is not None and most is not None:
            power = (most - least) / 2
        else:
            power = abs(least or most or math.inf)
        bounded.append(_Bounded(found, low, high, 1.0 if each is None else each[index], power))
    return bounded


def _shown(threshold: Threshold, bounded: _Bounded, *, with_place: bool) -> str:
    scale, unit = _unit(threshold)
    found = bounded.found
    if found.error is not None and math.isfinite(found.error) and found.error > 0:
        # The error has two digits, and the figure ends at the same decimal place.
        digits = max(0, 1 - math.floor(math.log10(scale * found.error)))
        text = f"{scale * found.value:.{digits}f} ± {scale * found.error:.{digits}f}"
    else:
        # Use the fewest digits that leave the rounded figure on the same side of its bounds.
        texts = [f"{scale * found.value:.{digits}g}" for digits in range(3, 18)]
        inside = bounded.room() >= 0
        text = next((t for t in texts if (bounded.room(float(t) / scale) >= 0) == inside), texts[-1])
    return f"{text}{unit}" + (f" ({found.place})" if with_place and found.place else "")


def _bar(threshold: Threshold, bounded: _Bounded | None = None) -> str:
    scale, unit = _unit(threshold)
    each = threshold.at_most_each
    bounds = (threshold.at_least, threshold.at_most)
    least, most = (None if bound is None else f"{scale * bound:.6g}" for bound in bounds)
    if each is not None and bounded is not None:
        bar = f"≤ {scale * bounded.unit:.6g}{unit} there"
    elif each is not None:
        bar = f"≤ {scale * each[0]:.6g} … {scale * each[-1]:.6g}{unit}"
    elif least is not None and most is not None:
        bar = f"{least} to {most}{unit}"
    else:
        bar = (f"≥ {least}" if most is None else f"≤ {most}") + unit
    errors = "1 error" if threshold.errors == 1 else f"{threshold.errors:g} errors"
    return bar + (f", give or take {errors}" if threshold.errors else "")


def _unit(threshold: Threshold) -> tuple[float, str]:
    return (100.0, " %") if threshold.unit == "%" else (1.0, f" {threshold.unit}" if threshold.unit else "")
