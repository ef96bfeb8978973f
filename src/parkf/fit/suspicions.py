"""What candidates show about their detector: z and angles of layers, q/p, χ², and distances of hits."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from parkf.fit.candidates import Candidates
from parkf.fit.displaced import FEWEST, MOTIONS, Distance, Floats, fit_moved, medians
from parkf.fit.fitted import STATUS, STATUS_BITS, Fitted, is_good
from parkf.io.findings import Finding, judged
from parkf.params.parameter_set import ParameterSet

SIGNIFICANT = 5.0
"""Errors by which a sample has to disagree."""
# Bounds of a doubtful and of a wrong sample. LHCb's ten events, on which the embedded detector was not made,
# have UT staves at +2.8 mm (7 mm in single tracks) and SciFi mats at 0.1 mm.
_SCIFI_Z, _UT_Z = (1.0, 2.0), (8.0, 12.0)  # mm
_ANGLE = (0.005, 0.02)  # of dx/dy
_SIGNS = (0.05, 0.3)  # share of fitted q/p whose sign is not the candidates'
_RATIO = (0.03, 0.15)  # of |q/p| fitted over the candidates'
_MOMENTA = (0.3, 1000.0)  # GeV; medians outside have another unit
# χ²/ndof above 10 GeV, where scattering hides errors least: the median is at least the first number, and the
# lower quartile at most the second, in units of the quartile of χ². LHCb's and embedded samples have 0.6 to
# 1.8; the highest are production's forms in the UT. Tracks that miss the beam line do not count.
_CHI2 = {"velo": (0.5, 2.5), "ut": (0.5, 2.2), "scifi": (0.42, 3.0)}
_ENOUGH_HARD, _HARD = 20, 10_000.0  # tracks, MeV
_SOFT = 5.0  # how much larger χ² may be without enough of them: electrons of conversions have such χ²
_NEAR = 2.0  # mm
# Errors of a median χ² beyond its bounds, which are far from all samples. For a hint, it may lie within them.
_CERTAIN, _HINTED = 3.0, -1.0
_ERRORS = (0.6, 1.5)  # of the median SciFi error over the set's smallest and largest
# Median error of UT hits, mm: LHCb's strips are 0.094 or 0.19 mm wide. χ² hardly shows errors that are too
# small, because the scattering in front of a layer and between layers is larger.
_UT_ERRORS = (0.012, 0.12)
_FAR = 3.0  # χ² that is wrong, over the bound of a doubtful one
_INPUT = ("few_velo_hits", "wrong_sigma", "wrong_plane", "velo_unsorted", "velo_count", "wrong_qop")


def suspicions(
    parameters: ParameterSet, tracks: Candidates, significance: float = SIGNIFICANT, *, moved: bool = True
) -> list[Finding]:
    """Compare some hundred candidates with a set; return what disagrees, the plainest reason first.

    Sizes that fluctuate from sample to sample have to be larger than `significance` times their errors.
    Distances of hits cost most; they need fits with `moved` hits.
    """
    with np.errstate(all="ignore"):
        early = [*_layers(parameters, tracks), *_errors(parameters, tracks), *_momenta(tracks)]
        fitted, distances = fit_moved(parameters, tracks, MOTIONS if moved else ())
        good = is_good(fitted.status)
        if any(one.verdict == "wrong" for one in early):
            return early
        early += _failed(fitted)
        if good.sum() < FEWEST:
            return early
        bend = list(_bend(tracks, fitted, good, significance))
        chi2 = list(
            _chi2(parameters, tracks, fitted, good, _CERTAIN if significance >= SIGNIFICANT else _HINTED)
        )
        # With such hits, distances are without meaning.
        placed = [] if any(one.verdict == "wrong" for one in chi2) else list(_placed(distances, significance))
        return [*early, *bend, *chi2, *placed]


def _layers(parameters: ParameterSet, tracks: Candidates) -> Iterator[Finding]:
    """Compare z and dx/dy of hits with the layers that the set was made for."""
    scifi, (ut_z,) = parameters.block("TLayer"), parameters.block("UTLayer")
    cases = (
        ("SciFi", "z", tracks.scifi[0], tracks.scifi[1], scifi[0], _SCIFI_Z),
        ("SciFi", "dx/dy", tracks.scifi[0], tracks.scifi[2], scifi[2], _ANGLE),
        ("UT", "z", tracks.ut[0], tracks.ut[1], ut_z, _UT_Z),
    )
    for detector, what, x, values, expected, bounds in cases:
        off = values - expected
        if not (np.abs(off) > bounds[0]).any():
            continue
        off[~np.isfinite(x)] = np.nan
        middles = np.nan_to_num(medians(off))
        worst = int(np.argmax(np.abs(middles)))
        if abs(middles[worst]) > bounds[0]:
            unit = " mm" if what == "z" else ""
            got = float(expected[worst] + middles[worst])
            layers = int((np.abs(middles) > bounds[0]).sum())
            yield from judged(
                abs(middles[worst]),
                bounds,
                f"{detector} layer {worst}: {what} of its hits is {got:.5g}{unit}"
                f" ({middles[worst]:+.3g}{unit}), expected {float(expected[worst]):.5g}{unit};"
                f" {layers} layers are off",
            )


def _errors(parameters: ParameterSet, tracks: Candidates) -> Iterator[Finding]:
    sigma, known = float(medians(tracks.scifi[3].reshape(-1, 1))[0]), np.sqrt(parameters.block("TLayer")[3])
    low, high = _ERRORS[0] * float(known.min()), _ERRORS[1] * float(known.max())
    if not low <= sigma <= high:
        what = f"SciFi hits: a median error of {sigma:.3g} mm, expected {low:.2g} to {high:.2g} mm of the set"
        yield Finding("wrong" if not 0.1 * low <= sigma <= 10 * high else "doubtful", what)
    sigma, (low, high) = float(medians(tracks.ut[3].reshape(-1, 1))[0]), _UT_ERRORS
    if sigma < low or sigma > high:
        what = f"UT hits: a median error of {sigma:.2g} mm, expected {low:g} to {high:g} mm of its strips"
        yield Finding("doubtful", what)


def _momenta(tracks: Candidates) -> Iterator[Finding]:
    p = 1e-3 / medians(np.abs(tracks.qop[:, None]))[0]
    if not _MOMENTA[0] <= p <= _MOMENTA[1]:
        yield Finding("wrong", f"q/p: a median momentum of {p:.3g} GeV, expected q/p in 1/MeV: another unit")


def _failed(fitted: Fitted) -> Iterator[Finding]:
    """Name reasons in the input for which more than half of the candidates cannot be fitted."""
    for name in _INPUT:
        share = float((fitted.status & STATUS_BITS[name] != 0).mean())
        if share > 0.5:
            reason = STATUS[STATUS_BITS[name]]
            if name == "few_velo_hits":
                reason += "; these are downstream or T tracks, and the filter begins in the VELO"
            yield Finding("wrong", f"{100 * share:.0f} % of the candidates have {name}: {reason}")


def _bend(
    tracks: Candidates, fitted: Fitted, good: NDArray[np.bool_], significance: float
) -> Iterator[Finding]:
    """Compare fitted q/p with the candidates' own."""
    ratio = fitted.qop[good] / tracks.qop[good]
    other, count = float((ratio < 0).mean()), len(ratio)
    # Of few tracks some may differ by chance.
    least = other - 3 * np.sqrt(max(other * (1 - other), 1 / count) / count)
    if other > _SIGNS[0] and least > 0:
        reason = "polarity, sign of q/p, or x turned" if other > 0.9 else "polarity turned for some of them"
        yield from judged(
            other,
            _SIGNS,
            f"{100 * other:.0f} % of fitted q/p have the other sign than the candidates' own, expected below"
            f" {100 * _SIGNS[0]:.0f} %: {reason}",
        )
    middle = np.quantile(np.abs(ratio), 0.5)
    width = np.quantile(np.abs(np.abs(ratio) - middle), 0.5) * 1.86 / np.sqrt(count)
    if abs(middle - 1) > significance * width:
        yield from judged(
            abs(np.log(middle)),
            _RATIO,
            f"fitted q/p are {middle:.3g} ± {width:.1g} times the candidates' own, expected 1:"
            " another field, or another unit",
        )


def _chi2(
    parameters: ParameterSet, tracks: Candidates, fitted: Fitted, good: NDArray[np.bool_], significance: float
) -> Iterator[Finding]:
    beam = parameters.manifest.constants
    near = good & (np.hypot(fitted.x - beam.beam_x, fitted.y - beam.beam_y) < _NEAR)
    hard = near & (np.abs(fitted.qop) * _HARD < 1)
    enough = hard.sum() >= _ENOUGH_HARD
    for detector, (low, high) in _CHI2.items():
        ndof = getattr(fitted, f"ndof_{detector}")
        use = (hard if enough else near) & (ndof > 0)
        if use.sum() < FEWEST:
            continue
        chi2, n = getattr(fitted, f"chi2_{detector}")[use], ndof[use]
        middle = np.quantile(chi2 / n, 0.5)
        # Above, the lower quartile counts, because many tracks may scatter or radiate more than pions do.
        quarter = np.quantile(chi2 / _quartile(n), 0.25)
        # Of few tracks both fluctuate by several tens of per cent.
        error = 1.2533 * np.sqrt(2 / (np.quantile(n, 0.5) * use.sum()))
        spread = 1 + significance * error
        above, below = quarter / (high * spread * (1 if enough else _SOFT)), low / spread / max(middle, 1e-9)
        if above > 1:
            what = "they do not lie on tracks: exchanged, turned, of another unit, or of too small errors"
        else:
            what = "their errors are too large, or the hits are of another unit"
        name = {"velo": "VELO", "ut": "UT", "scifi": "SciFi"}[detector]
        text = (
            f"{name} hits: median χ²/ndof {middle:.3g} ± {middle * error:.1g}, expected {low:g} to {high:g}"
        )
        yield from judged(max(above, below), (1.0, _FAR), f"{text}: {what}", quality=True)


def _quartile(ndof: NDArray[np.int32]) -> Floats:
    """Return the lower quartile of χ² for degrees of freedom (n,), after E. Wilson and M. Hilferty (1931)."""
    variance = 2 / (9 * ndof.astype(np.float64))
    quartile: Floats = ndof * (1 - variance - 0.6745 * np.sqrt(variance)) ** 3
    return quartile


def _placed(distances: list[Distance], significance: float) -> Iterator[Finding]:
    """Name the detector that stands elsewhere, and others that would explain the same distances."""
    off = [one for one in distances if abs(one.value) > one.motion.tolerance + significance * one.error]
    off.sort(key=lambda one: -one.significance)
    if off:
        what = "hits lie beside the tracks through the other hits: " + ", or ".join(map(_text, off))
        yield Finding("wrong", what, quality=True)


def _text(distance: Distance) -> str:
    motion = distance.motion
    name = {"velo": "VELO", "ut": "UT", "scifi": "SciFi"}[motion.detector]
    if distance.where:
        name = "each half of the VELO"
    return (
        f"{name} by {distance.value:+.3g} ± {distance.error:.1g} mm in {motion.axis}"
        f" (expected within {motion.tolerance:g} mm)"
    )
