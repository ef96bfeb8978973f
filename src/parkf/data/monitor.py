"""``parkf monitor``: whether a set fits its detector, from candidates without truth."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from parkf.data.equations import Floats
from parkf.data.histograms import Histograms
from parkf.data.masses import peak_of, read_pairs, scale_of
from parkf.data.reference import MONITOR_FILE, Reference, load_reference, make_reference
from parkf.data.sequential import Detector
from parkf.data.tracks import read_batches
from parkf.data.verdict import judge
from parkf.fit import fit
from parkf.fit.candidates import Candidates
from parkf.fit.displaced import joined
from parkf.fit.fitted import Fitted, is_good
from parkf.fit.suspicions import suspicions
from parkf.io.errors import ParkfError
from parkf.params.parameter_set import ParameterSet, load

FEWEST = 1000
"""Usable candidates of a verdict."""
_SAMPLE = 1000  # candidates whose hits are compared with the set's layers
_OTHER_SIGN = 0.5  # share of fitted q/p with the other sign than the candidates' own
_LOST = 0.7  # of the reference's share of usable candidates; fewer are of another geometry
_SCALE_SURE = 3.0  # errors of a scale of momenta that is named
_SCALE_TOLERANCE = 3e-4  # LHCb's own knowledge of the scale

Pairs = Sequence[tuple[str, Path]]
"""Names of decays, and files of their candidates."""


def reference_of(
    folder: Path, parameters: ParameterSet, candidates: Sequence[Path] = (), pairs: Pairs = ()
) -> Reference:
    """Return the reference beside a set, or one made from `candidates` that the set is right for.

    `pairs` are candidates of decays, for mass peaks. A ParkfError says that there is neither.
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
    return make_reference(parameters, tracks, pairs=peaks(parameters, pairs))


def peaks(parameters: ParameterSet, pairs: Pairs) -> dict[str, dict[str, float]]:
    """Fit the mass peak of each decay."""
    return {
        decay: peak_of(decay, event, tracks, fit(parameters, tracks))
        for decay, (event, tracks) in read_pairs(pairs).items()
    }


def other_sign(tracks: Candidates, fitted: Fitted) -> float:
    """Return the share of good fits whose q/p has the other sign than the candidates' own."""
    good = is_good(fitted.status)
    return float((fitted.qop[good] * tracks.qop[good] < 0).mean()) if good.any() else 0.0


@dataclass
class Sums:
    """What is kept of a sample: sums of the quantities (k,) of its usable candidates, and its first rows."""

    first: Candidates
    turned: float  # share of the first candidates whose fitted q/p has the other sign
    histograms: Histograms
    total: Floats | float = 0.0
    count: int = 0
    peaks: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    sequence: Mapping[str, Any] | None = None

    def add(self, values: Floats) -> None:
        """Add the quantities of some candidates, (m, k)."""
        self.total, self.count = self.total + values.sum(axis=0), self.count + len(values)


def monitor(
    folder: Path,
    candidates: Sequence[Path],
    *,
    reference: Sequence[Path] = (),
    pairs: Pairs = (),
    reference_pairs: Pairs = (),
    follow: bool = False,
    withdrawn: bool = False,
) -> dict[str, Any]:
    """Compare candidates with a set; return what is measured, beside the reference, and the verdict.

    With `follow`, candidates are batches in the order of their rows, and reading ends at a change. A set that
    was withdrawn is used only with `withdrawn`.
    """
    parameters = load(folder, withdrawn=withdrawn)
    expected = reference_of(folder, parameters, reference, reference_pairs)
    detector = Detector(expected) if follow else None
    sums, alarm = None, None
    for _, tracks in read_batches(candidates):
        if sums is None:
            turned = other_sign(tracks, fit(parameters, tracks))
            sums = Sums(tracks, turned, Histograms.empty(expected.stations))
        values = np.concatenate(list(sums.histograms.filled(parameters, tracks, expected.stations)))
        sums.add(values)
        if detector is not None and (alarm := detector.add(values)) is not None:
            break
    if sums is None:
        raise ParkfError(f"{' '.join(map(str, candidates))}: 0 candidates, expected some; name others")
    sums.peaks = peaks(parameters, pairs)
    if detector is not None:
        sums.sequence = {"alarm": alarm, "candidates": detector.candidates}
    return assessed(parameters, expected, sums)


def assessed(parameters: ParameterSet, reference: Reference, sums: Sums) -> dict[str, Any]:
    """Judge a sample; the result is what ``parkf monitor --json`` writes."""
    gross = _gross(parameters, reference, sums)
    if gross is None and sums.count < FEWEST:
        raise ParkfError(
            f"candidates: {sums.count} with a good fit, expected at least {FEWEST} for a verdict; give more"
        )
    verdict = gross or judge(reference, np.asarray(sums.total / sums.count), sums.count).as_json()
    scale = scale_of(sums.peaks, reference.pairs)
    for decay, one in scale.items():
        if abs(one["scale"]) > max(_SCALE_TOLERANCE, _SCALE_SURE * one["error"]):
            name = {"jpsi": "J/ψ", "d0": "D⁰"}[decay]
            verdict["sentences"] = [
                *(text for text in verdict["sentences"] if not text.startswith("The set fits")),
                f"The field is {1 - one['scale']:.5f} ± {one['error']:.5f} times what the set assumes,"
                f" by the {name} mass.",
            ]
            verdict["verdict"] = "changed" if verdict["verdict"] == "fits" else verdict["verdict"]
    value, error = sums.histograms.asymmetries()
    return {
        **verdict,
        **{"count": sums.count, "candidates": sums.histograms.all, "reference_count": reference.count},
        "field_scale": {decay: {**one, "scale": -one["scale"]} for decay, one in scale.items()},
        **{"peaks": dict(sums.peaks), "reference_peaks": dict(reference.pairs)},
        "asymmetries": {"value": _known(value), "error": _known(error)},
        "histograms": sums.histograms.as_json(),
        "reference_histograms": reference.histograms.as_json(),
        "sequence": sums.sequence,
    }


def _known(values: Floats) -> list[list[float | None]]:
    """Rows for JSON, in which a number that is not known is null."""
    return [[float(x) if np.isfinite(x) else None for x in row] for row in values]


def _gross(parameters: ParameterSet, reference: Reference, sums: Sums) -> dict[str, Any] | None:
    """Return the verdict on a detector that is plainly another one; None otherwise."""
    expected = reference.count / max(reference.histograms.all, 1)
    share = sums.count / max(sums.histograms.all, 1)
    verdict = "not this geometry"
    wrong = suspicions(parameters, sums.first.rows(slice(0, _SAMPLE)))
    said = [f"Not this geometry: {one.what}." for one in wrong if one.verdict == "wrong"]
    if sums.turned > _OTHER_SIGN:
        verdict = "wrong polarity"
        turned = f"{100 * sums.turned:.0f} % of fitted q/p"
        said = [f"Wrong polarity: {turned} have the other sign than the candidates'."]
    elif not said and share < _LOST * expected:
        said = [
            f"Not this geometry: {100 * share:.1f} % of the candidates have a usable fit, of the reference's"
            f" {100 * expected:.1f} %."
        ]
    numbers = dict.fromkeys(("chi2", "ndof", "chi2_left", "probability", "false_alarm_rate"))
    return {"verdict": verdict, "sentences": said, "found": [], **numbers} if said else None
