"""``parkf monitor``: whether a set fits its detector, from candidates without truth."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from parkf.data.changes import Nuisance
from parkf.data.equations import Solution
from parkf.data.hypotheses import Found
from parkf.data.masses import measure_decays, read_pairs, strength_of
from parkf.data.quantities import usable
from parkf.data.reference import MONITOR_FILE, Reference, load_reference, make_reference
from parkf.data.tracks import read_tracks
from parkf.data.verdict import judge
from parkf.fit import fit
from parkf.fit.candidates import Candidates
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
    event, tracks = read_tracks(candidates)
    return make_reference(parameters, tracks, event, pairs=measure_decays(parameters, read_pairs(pairs)))


def monitor(
    folder: Path,
    candidates: Sequence[Path],
    *,
    reference: Sequence[Path] = (),
    pairs: Pairs = (),
    reference_pairs: Pairs = (),
    withdrawn: bool = False,
) -> dict[str, Any]:
    """Compare candidates with a set; return what is measured, beside the reference, and the verdict.

    A set that was withdrawn is used only with `withdrawn`.
    """
    parameters = load(folder, withdrawn=withdrawn)
    expected = reference_of(folder, parameters, reference, reference_pairs)
    found = measure_decays(parameters, read_pairs(pairs))
    return assess(parameters, expected, read_tracks(candidates)[1], found)


def assess(
    parameters: ParameterSet,
    reference: Reference,
    tracks: Candidates,
    found: Mapping[str, Solution] | None = None,
) -> dict[str, Any]:
    """Judge candidates, with what masses show; the result is what ``parkf monitor --json`` writes."""
    fitted = fit(parameters, tracks)
    count = int(usable(fitted).sum())
    verdict = _gross(parameters, reference, tracks, fitted)
    if verdict is None and count < FEWEST:
        raise ParkfError(
            f"candidates: {count} with a good fit, expected at least {FEWEST} for a verdict; give more"
        )
    if verdict is None:
        verdict = judge(reference, parameters, tracks).as_json()
    scale = {}
    for decay, measured in (found or {}).items():
        if decay not in reference.pairs:
            continue
        strength = strength_of(measured.beside(reference.pairs[decay]))
        size, sigma = (float(strength[name][0]) for name in ("change", "error"))
        scale[decay] = {"scale": size, "error": sigma}
        if abs(size) > max(_SCALE_TOLERANCE, _SCALE_SURE * sigma):
            name = {"jpsi": "J/ψ", "d0": "D⁰"}[decay]
            one = Found(Nuisance("scale", "the field", _SCALE_TOLERANCE), size, sigma)
            verdict["found"] = [*verdict["found"], one.as_json()]
            verdict["sentences"] = [
                f"The field is {1 + size:.5f} ± {sigma:.5f} times what the set assumes, by the {name} mass.",
                *(text for text in verdict["sentences"] if not text.startswith("The set fits")),
            ]
            verdict["verdict"] = "changed" if verdict["verdict"] == "fits" else verdict["verdict"]
    return {
        **verdict,
        **{"count": count, "candidates": tracks.count, "reference_count": reference.count},
        "field_scale": scale,
    }


def _gross(
    parameters: ParameterSet, reference: Reference, tracks: Candidates, fitted: Fitted
) -> dict[str, Any] | None:
    """Return the verdict on a detector that is plainly another one; None otherwise."""
    expected = reference.count / reference.candidates
    share, good = float(usable(fitted).mean()), is_good(fitted.status)
    turned = float((fitted.qop[good] * tracks.qop[good] < 0).mean()) if good.any() else 0.0
    verdict = "not this geometry"
    wrong = suspicions(parameters, tracks.rows(slice(0, _SAMPLE)))
    said = [f"Not this geometry: {one.what}." for one in wrong if one.verdict == "wrong"]
    if turned > _OTHER_SIGN:
        verdict = "wrong polarity"
        said = [
            f"Wrong polarity: {100 * turned:.0f} % of fitted q/p have the other sign than the candidates'."
        ]
    elif not said and share < _LOST * expected:
        said = [
            f"Not this geometry: {100 * share:.1f} % of the candidates have a usable fit, of the reference's"
            f" {100 * expected:.1f} %."
        ]
    numbers = dict.fromkeys(("chi2", "ndof", "chi2_left", "probability", "false_alarm_rate"))
    return {"verdict": verdict, "sentences": said, "found": [], **numbers} if said else None
