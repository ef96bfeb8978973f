"""``parkf monitor``: whether a set fits its detector, from candidates without truth."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkf.fit import fit
from parkf.fit.candidates import Candidates, check_rows, from_arrow
from parkf.fit.displaced import joined
from parkf.fit.fitted import Fitted, is_good
from parkf.fit.suspicions import suspicions
from parkf.io.arrow import numbers
from parkf.io.errors import ParkfError
from parkf.io.tables import MEASURED
from parkf.params.parameter_set import ParameterSet, load
from parkf.proof.monitoring.histograms import Histograms
from parkf.proof.monitoring.peaks import peak_of
from parkf.proof.monitoring.quantities import Floats
from parkf.proof.monitoring.reference import MONITOR_FILE, Reference, load_reference, make_reference
from parkf.proof.monitoring.sequential import Detector
from parkf.proof.monitoring.verdict import judge, scale_of

FEWEST = 1000
"""Usable candidates of a verdict."""
_SAMPLE = 1000  # candidates whose hits are compared with the set's layers
_OTHER_SIGN = 0.5  # share of fitted q/p with the other sign than the candidates' own
_LOST = 0.7  # of the reference's share of usable candidates; fewer are of another geometry
_SCALE_SURE = 3.0  # errors of a scale of momenta that is named
_SCALE_TOLERANCE = 3e-4  # LHCb's own knowledge of the scale


def read_batches(paths: Sequence[Path]) -> Iterator[tuple[NDArray[np.int64], Candidates]]:
    """Yield events and candidates of tables ``candidates``, some thousand at a time."""
    for path in paths:
        with MEASURED.open(path) as file:
            count = 0
            for rows in file.iter_batches(batch_size=MEASURED.rows_in_group):
                check_rows(rows, path, count)
                count += rows.num_rows
                yield numbers(rows.column("event")).astype(np.int64), from_arrow(rows, "float32")


def reference_of(
    folder: Path,
    parameters: ParameterSet,
    candidates: Sequence[Path] = (),
    pairs: Mapping[str, Path] | None = None,
) -> Reference:
    """Return the reference beside a set, or one made from `candidates` that the set is right for.

    `pairs` are candidates of decays by name, for mass peaks. A ParkfError says that there is neither.
    """
    if not candidates:
        path = folder / MONITOR_FILE
        if not path.is_file():
            raise ParkfError(
                f"{path}: no such file: the set has no reference; name candidates that the set is right for"
                " (--reference CANDIDATES), or write one (parkf monitor-reference)"
            )
        return load_reference(path, parameters.manifest.blobs)
    tracks = joined([batch for _, batch in read_batches(candidates)])
    return make_reference(parameters, tracks, pairs=peaks(parameters, pairs or {}))


def peaks(parameters: ParameterSet, pairs: Mapping[str, Path]) -> dict[str, dict[str, float]]:
    """Fit the mass peak of each decay."""
    found = {}
    for decay, path in pairs.items():
        batches = list(read_batches([path]))
        tracks = joined([batch for _, batch in batches])
        event = np.concatenate([of for of, _ in batches]).astype(np.float64)
        found[decay] = peak_of(decay, event, tracks, fit(parameters, tracks))
    return found


def monitor(
    folder: Path,
    candidates: Sequence[Path],
    *,
    reference: Sequence[Path] = (),
    pairs: Mapping[str, Path] | None = None,
    reference_pairs: Mapping[str, Path] | None = None,
    follow: bool = False,
    withdrawn: bool = False,
    seen: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Compare candidates with a set; return what is measured, beside the reference, and the verdict.

    With `follow`, candidates are batches in the order of their rows, and reading ends at a change; `seen`
    receives a line for it. A set that was withdrawn is used only with `withdrawn`.
    """
    parameters = load(folder, withdrawn=withdrawn)
    expected = reference_of(folder, parameters, reference, reference_pairs)
    histograms = Histograms.empty(expected.stations)
    detector = Detector(expected) if follow else None
    sums, alarm, first = [], None, None
    turned = 0.0
    for _, tracks in read_batches(candidates):
        first = tracks if first is None else first
        values = histograms.filled(parameters, tracks, expected.stations)
        sums.append((len(values), values.sum(axis=0)))
        if len(sums) == 1:
            turned = other_sign(tracks, fit(parameters, tracks))
        if detector is not None and alarm is None and (alarm := detector.add(values)) is not None:
            seen(alarm["sentence"])
            break
    if first is None:
        raise ParkfError(f"{' '.join(map(str, candidates))}: 0 candidates, expected some; name others")
    return assessed(
        parameters,
        expected,
        first,
        histograms,
        sum(n for n, _ in sums),
        np.sum([s for _, s in sums], axis=0),
        turned=turned,
        measured_peaks=peaks(parameters, pairs or {}),
        sequence=None if detector is None else {"alarm": alarm, "candidates": detector.candidates},
    )


def assessed(
    parameters: ParameterSet,
    reference: Reference,
    first: Candidates,
    histograms: Histograms,
    count: int,
    total: Floats,
    *,
    turned: float,
    measured_peaks: Mapping[str, Mapping[str, float]],
    sequence: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Judge sums of quantities; the result is what ``parkf monitor --json`` writes."""
    gross = _gross(parameters, reference, first, histograms, count, turned)
    verdict: dict[str, Any]
    if gross:
        verdict = gross
    elif count < FEWEST:
        raise ParkfError(
            f"candidates: {count} with a good fit, expected at least {FEWEST} for a verdict; give more"
        )
    else:
        verdict = judge(reference, total / count, count).as_json()
    scale = scale_of(measured_peaks, reference.pairs)
    for decay, one in scale.items():
        if abs(one["scale"]) > max(_SCALE_TOLERANCE, _SCALE_SURE * one["error"]):
            name = {"jpsi": "J/ψ", "d0": "D⁰"}[decay]
            verdict["sentences"] = [
                *(text for text in verdict["sentences"] if not text.startswith("The set fits")),
                f"The field is {1 - one['scale']:.5f} ± {one['error']:.5f} times what the set assumes,"
                f" by the {name} mass.",
            ]
            verdict["verdict"] = "changed" if verdict["verdict"] == "fits" else verdict["verdict"]
    value, error = histograms.asymmetries()
    return {
        **verdict,
        "count": count,
        "candidates": histograms.all,
        "reference_count": reference.count,
        "field_scale": {
            decay: {"scale": -one["scale"], "error": one["error"]} for decay, one in scale.items()
        },
        "peaks": {decay: dict(peak) for decay, peak in measured_peaks.items()},
        "reference_peaks": {decay: dict(peak) for decay, peak in reference.pairs.items()},
        "asymmetries": {name: _known(of) for name, of in (("value", value), ("error", error))},
        "histograms": histograms.as_json(),
        "reference_histograms": reference.histograms.as_json(),
        "sequence": None if sequence is None else dict(sequence),
    }


def _known(values: Floats) -> list[list[float | None]]:
    """Rows for JSON, in which a number that is not known is null."""
    return [[float(x) if np.isfinite(x) else None for x in row] for row in values]


def other_sign(tracks: Candidates, fitted: Fitted) -> float:
    """Return the share of good fits whose q/p has the other sign than the candidates' own."""
    good = is_good(fitted.status)
    return float((fitted.qop[good] * tracks.qop[good] < 0).mean()) if good.any() else 0.0


def _gross(
    parameters: ParameterSet,
    reference: Reference,
    first: Candidates,
    histograms: Histograms,
    count: int,
    turned: float,
) -> dict[str, Any] | None:
    """Return the verdict on a detector that is plainly another one; None otherwise."""
    expected = reference.count / max(reference.histograms.all, 1)
    share = count / max(histograms.all, 1)
    if turned > _OTHER_SIGN:
        text = f"Wrong polarity: {100 * turned:.0f} % of fitted q/p have the other sign than the candidates'."
        return _plain("wrong polarity", [text])
    wrong = [one for one in suspicions(parameters, first.rows(slice(0, _SAMPLE))) if one.verdict == "wrong"]
    if wrong:
        return _plain("not this geometry", [f"Not this geometry: {one.what}." for one in wrong])
    if share < _LOST * expected:
        text = (
            f"Not this geometry: {100 * share:.1f} % of the candidates have a usable fit, of the reference's"
            f" {100 * expected:.1f} %."
        )
        return _plain("not this geometry", [text])
    return None


def _plain(verdict: str, sentences: list[str]) -> dict[str, Any]:
    return {
        "verdict": verdict,
        "sentences": sentences,
        "found": [],
        "false_alarm_rate": None,
    } | dict.fromkeys(("chi2", "ndof", "chi2_left", "probability"))
