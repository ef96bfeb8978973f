"""Holds the figures of a run against the thresholds; a figure that was not measured misses its gate."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from parkf.errors import ParkfError
from parkf.files import read_json
from parkf.gates.path import Found, find
from parkf.gates.thresholds import FILES, Threshold, Thresholds, split_figure
from parkf.parameters.manifest import Blobs, Gate
from parkf.parameters.parameter_set import load


def hold(parameters: Path, thresholds: Thresholds) -> list[Gate]:
    """Hold a set's figures against the thresholds for its forms.

    Parameters
    ----------
    parameters : Path
        Folder of the set; ``validation.json`` and ``accuracy.json`` of its run lie beside the folder.
    thresholds : Thresholds

    Returns
    -------
    list of Gate
        In the file's order. Of several figures the one that is furthest from being met.

    Raises
    ------
    ParkfError
        When set or figures are missing or broken, or the figures are those of another set.
    """
    manifest = load(parameters).manifest
    run = parameters.absolute().parent
    documents = {name: read_json(run / f"{name}.json") for name in FILES}
    for name, document in documents.items():
        _of_this_set(run / f"{name}.json", document, manifest.blobs)
    return [
        _held(one, documents) for one in thresholds.gates if one.forms is None or one.forms == manifest.forms
    ]


def _of_this_set(path: Path, document: Any, blobs: Blobs) -> None:
    """Refuse figures that do not say that they are of these blobs."""
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
    file, _ = split_figure(threshold.figure)
    figures = _find(documents, threshold.figure)
    if threshold.over is not None:
        figures = _ratios(figures, _find(documents, threshold.over))
    bar = _bar(threshold)
    if not figures:
        return Gate(
            what=threshold.gate,
            measured="not measured",
            bar=bar,
            met=False,
            figure=threshold.figure,
            value=None,
            at_least=threshold.at_least,
            at_most=threshold.at_most,
            reason=threshold.reason,
        )
    worst = min(figures, key=lambda found: _room(threshold, found))
    least, most = _bounds(threshold, worst)
    return Gate(
        what=threshold.gate,
        measured=_shown(threshold, worst, with_place=len(figures) > 1)
        + (f"; {len(figures)} of {threshold.count} measured" if len(figures) < threshold.count else ""),
        bar=bar,
        met=_room(threshold, worst) >= 0 and len(figures) >= threshold.count,
        figure=f"{file}.json: {worst.path}",
        value=worst.value if math.isfinite(worst.value) else None,
        at_least=least,
        at_most=most,
        reason=threshold.reason,
    )


def _find(documents: Mapping[str, Any], figure: str) -> list[Found]:
    file, path = split_figure(figure)
    return list(find(documents[file], path))


def _ratios(above: list[Found], below: list[Found]) -> list[Found]:
    """Divide figures one by one, or all by the only one below; none where they do not pair."""
    if len(below) == 1 and not below[0].place:
        below = below * len(above)
    elif [found.place for found in above] != [found.place for found in below]:
        return []
    if any(found.value == 0 for found in below):
        return []
    return [Found(a.path, a.place, a.value / b.value, None) for a, b in zip(above, below, strict=True)]


def _bounds(threshold: Threshold, found: Found) -> tuple[float | None, float | None]:
    """Bounds for a figure, which give way by so many of its errors."""
    error = found.error if found.error is not None and math.isfinite(found.error) else 0.0
    give = threshold.errors * error
    least = None if threshold.at_least is None else threshold.at_least - give
    return least, None if threshold.at_most is None else threshold.at_most + give


def _room(threshold: Threshold, found: Found) -> float:
    """How far inside its bounds a figure is; negative beyond them, and for what is no number."""
    if not math.isfinite(found.value):
        return -math.inf
    least, most = _bounds(threshold, found)
    return min(
        math.inf if least is None else found.value - least, math.inf if most is None else most - found.value
    )


def _shown(threshold: Threshold, found: Found, *, with_place: bool) -> str:
    scale, unit = _unit(threshold)
    text = f"{scale * found.value:.3g}"
    if found.error is not None and math.isfinite(found.error) and found.error > 0:
        # Two digits of the error, and as many of the figure.
        digits = max(0, 1 - math.floor(math.log10(scale * found.error)))
        text = f"{scale * found.value:.{digits}f} ± {scale * found.error:.{digits}f}"
    return f"{text}{unit}" + (f" ({found.place})" if with_place and found.place else "")


def _bar(threshold: Threshold) -> str:
    scale, unit = _unit(threshold)
    bounds = [None if b is None else f"{scale * b:.6g}" for b in (threshold.at_least, threshold.at_most)]
    errors = f", give or take {threshold.errors:g} errors" if threshold.errors else ""
    if None not in bounds:
        return f"{bounds[0]} to {bounds[1]}{unit}{errors}"
    return (f"≥ {bounds[0]}" if bounds[1] is None else f"≤ {bounds[1]}") + unit + errors


def _unit(threshold: Threshold) -> tuple[float, str]:
    return (100.0, " %") if threshold.unit == "%" else (1.0, f" {threshold.unit}" if threshold.unit else "")
