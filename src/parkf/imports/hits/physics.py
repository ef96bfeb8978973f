"""Physics of hits: residuals compared with their errors, and the bend compared with the field's."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkf.detector.alignment import Floats
from parkf.detector.field import FieldMap
from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, Geometry
from parkf.detector.transport import propagate
from parkf.imports.hits.entries import Entries, slots, strips
from parkf.imports.hits.particle_data import charges
from parkf.imports.hits.track_fits import Z_SCIFI, Z_UT, Fits, fit_scifi, fit_ut, fit_velo
from parkf.io.checks import power_of_ten, times
from parkf.io.events import select
from parkf.io.findings import Figure, Finding, Inspection, judged, width68

_FEWEST = 30
_Z_VELO = 770.0
_LEAST_BEND = 0.01  # rad; for smaller bends the errors of directions are too large for a ratio
_BEND = (0.03, 0.2)  # bounds of verdicts for the bend over the field's


@dataclass(frozen=True)
class Run:
    """Field, polarity (+1 MagUp, -1 MagDown) and geometry that hits are compared with."""

    field: FieldMap
    polarity: int
    geometry: Geometry
    threads: int = 1


class _Sample:
    """Some entries with their hits in slots, and lines through them."""

    def __init__(self, entries: Entries, run: Run) -> None:
        self.entries, self.run = entries, run
        self.slots = found = slots(entries)
        lean = np.broadcast_to(run.geometry.planes()[SCIFI_PLANES, 2], found["scifi_x"].shape)
        x, y, z = (found[f"velo_{axis}"] for axis in "xyz")
        self.velo = fit_velo(x, y, z, run.geometry.velo.resolution)
        self.ut, self.scifi = fit_ut(*strips(found, "ut")), fit_scifi(lean, *strips(found, "scifi"))
        # Slope in y (n,) between UT and SciFi.
        self.ty = (self.scifi.values[:, 3] - self.ut.values[:, 2]) / (Z_SCIFI - Z_UT)


def inspect_hits(entries: Entries, subject: str, run: Run) -> list[Inspection]:
    """Inspect particles or tracks with their hits, separately for matched and unmatched ones if known."""
    matched = entries.of["matched"]
    groups = {"": matched < 0, " matched": matched == 1, " unmatched": matched == 0}
    found = []
    for name, rows in groups.items():
        chosen = np.flatnonzero(rows & (entries.of["p"] > 0))
        if len(chosen):
            sample = _Sample(_part(entries, chosen[:: max(1, len(chosen) // 4000)]), run)
            results = [Figure("particles or tracks", float(len(chosen))), *_inspect(sample)]
            exempt = "no particle made these tracks" if name == " unmatched" else ""
            found.append(Inspection.of(f"{subject}{name}", results, exempt))
    return found or [Inspection.of(subject, [Finding("wrong", "no particle or track", "none has p > 0")])]


def _part(entries: Entries, chosen: NDArray[Any]) -> Entries:
    number = np.full(len(entries.of["event"]), -1)
    number[chosen] = np.arange(len(chosen))
    kept = number[entries.hits["entry"]] >= 0
    hits = select(entries.hits, kept)
    hits["entry"] = number[hits["entry"]]
    return Entries(select(entries.of, chosen), hits)


def _inspect(sample: _Sample) -> Iterator[Figure | Finding]:
    found = sample.slots
    straight = found["ut_x"] - _sagitta(sample)
    # Above 10 GeV scattering in the layers is small compared with most errors.
    hard = sample.entries.of["p"] > 10_000.0
    if hard.sum() < _FEWEST:
        hard = np.ones(len(hard), bool)
    ut = fit_ut(straight, *strips(found, "ut")[1:])
    yield Figure("VELO hits of each", float(found["velo_n"].mean()))
    yield Figure("UT hits of each", float((found["ut_rows"] >= 0).sum(1).mean()))
    yield Figure("SciFi hits of each", float((found["scifi_rows"] >= 0).sum(1).mean()))
    others: list[Figure | Finding] = []
    for name, fits in (("VELO", sample.velo[0]), ("UT", ut), ("SciFi", sample.scifi)):
        others += _residuals(name, fits.residuals[hard], fits.pulls[hard])
    others += [*_of_planes(sample), *_of_layers(ut, sample.scifi), *_of_sides(sample)]
    bend = list(_bend(sample))
    wrong = [one for one in bend if isinstance(one, Finding)]
    if any("momentum" in one.what for one in wrong):
        # With momenta in another unit, all other findings are meaningless.
        others = [one for one in others if isinstance(one, Figure)]
    yield from [*wrong, *others, *(one for one in bend if isinstance(one, Figure))]


def _residuals(name: str, residuals: Floats, pulls: Floats) -> Iterator[Figure | Finding]:
    pulls = pulls[np.isfinite(pulls)]
    if len(pulls) < _FEWEST:
        return
    width = width68(pulls)
    yield Figure(f"{name} residuals, 68 %", 1000 * width68(residuals[np.isfinite(residuals)]), "µm")
    yield Figure(f"{name} residuals over their errors, 68 %", width, "", "1")
    if not 0.5 < width < 1.7:
        size = "small" if width > 1 else "large"
        what = f"errors of {name} hits are {times(width)} too {size}, or its hits lie elsewhere"
        evidence = f"68 % of the residuals are within {width:.3g} of them"
        yield Finding("doubtful" if 0.25 < width < 4.0 else "wrong", what, evidence)


def _sagitta(sample: _Sample) -> Floats:
    """Distance (n, 4) in mm by which tracks bend away from their line in the UT; 0 if it is not known."""
    run, ut, hits_z = sample.run, sample.ut.values, sample.slots["ut_z"]
    bend = sample.scifi.values[:, 1] - ut[:, 1]
    qop = -run.polarity * np.sign(bend) / sample.entries.of["p"]
    states = np.column_stack([ut[:, 0], ut[:, 2], ut[:, 1], sample.ty, qop])
    found = np.zeros(hits_z.shape)
    for layer, z in enumerate(hits_z.T):
        known = np.flatnonzero(np.isfinite(states).all(axis=1) & np.isfinite(z))
        plane = (z[known], 0.0, 0.0)
        moved = propagate(run.field, run.polarity, states[known], Z_UT, plane, threads=run.threads)
        off = moved.states[:, 0] - states[known, 0] - states[known, 2] * (z[known] - Z_UT)
        found[known, layer] = np.where(moved.ok, off, 0.0)
    return found


def _of_planes(sample: _Sample) -> list[Finding]:
    """Compare z of the hits with z of their planes."""
    planes, hits = sample.run.geometry.planes(), sample.entries.hits
    z0, dzdx, dzdy = planes[hits["plane"]].T
    point = hits["plane"] < UT_PLANES.start
    off = hits["z"] - z0 - np.where(point, dzdx * hits["x"] + dzdy * hits["y"], 0.0)
    for plane in np.unique(hits["plane"]):
        own = hits["plane"] == plane
        middle = float(np.median(off[own]))
        z = float(np.median(hits["z"][own]))
        evidence = f"a median of z = {z:.5g} mm, {middle:+.3g} mm from the geometry's"
        what = f"hits of {_name(plane)} are another detector's"
        if found := judged(abs(middle), (5.0, 50.0), what, evidence):
            return found
    return []


def _of_layers(ut: Fits, scifi: Fits) -> Iterator[Finding]:
    """Find layers that are shifted relative to the others."""
    for first, fits in ((UT_PLANES.start, ut), (SCIFI_PLANES.start, scifi)):
        if np.isfinite(fits.pulls).sum() < _FEWEST:
            continue
        middle = np.nanmedian(np.where(np.isfinite(fits.pulls), fits.pulls, np.nan), axis=0)
        worst = int(np.nanargmax(np.abs(middle)))
        if abs(middle[worst]) > 3.0:
            shift = 1000 * float(np.nanmedian(fits.residuals[:, worst]))
            evidence = f"a median residual of {shift:+.0f} µm, {middle[worst]:+.2g} of its errors"
            yield Finding("doubtful", f"{_name(first + worst)} is shifted or exchanged", evidence)


def _of_sides(sample: _Sample) -> Iterator[Finding]:
    """Find missing halves, and tracks that miss the ends of the fibres that they hit."""
    found, scifi = sample.slots, sample.scifi.values
    rows, dz = found["scifi_rows"], found["scifi_z"] - Z_SCIFI
    y = scifi[:, 3:4] + scifi[:, 4:5] * dz
    begin, end = (sample.entries.hits[name][np.maximum(rows, 0)] for name in ("y_begin", "y_end"))
    known = (rows >= 0) & np.isfinite(begin) & np.isfinite(end) & np.isfinite(y)
    if known.sum() > _FEWEST:
        low, high = np.minimum(begin, end) - 20.0, np.maximum(begin, end) + 20.0
        inside = float(((y > low) & (y < high))[known].mean())
        if inside < 0.8:
            evidence = f"stereo angles put {100 * (1 - inside):.0f} % of the hits beyond their fibres' ends"
            yield Finding("wrong", "stereo angles or y are turned over", evidence)
    for name, values in (("x", sample.ut.values[:, 0]), ("y", sample.ut.values[:, 2])):
        values = values[np.isfinite(values)]
        below = float((values < 0).mean()) if len(values) >= _FEWEST else 0.5
        fewer = min(below, 1 - below)
        if fewer < 0.02:
            evidence = f"{100 * fewer:.1f} % of the tracks are on its other side in the UT"
            yield Finding("doubtful", f"half of the acceptance is missing in {name}", evidence)


def _bend(sample: _Sample) -> Iterator[Figure | Finding]:
    """Compare the change of slope with the field's bend of a track with the file's momentum."""
    run, velo, ut = sample.run, [line.values for line in sample.velo], sample.ut.values
    long = sample.slots["velo_n"] >= 3
    in_velo = [line[:, 0] + line[:, 1] * _Z_VELO for line in velo] + [line[:, 1] for line in velo]
    in_ut = (ut[:, 0], ut[:, 2], ut[:, 1], sample.ty)
    states = np.column_stack([np.where(long, *both) for both in zip(in_velo, in_ut, strict=True)])
    bend = sample.scifi.values[:, 1] - states[:, 2]
    known = np.flatnonzero(np.isfinite(states).all(axis=1) & np.isfinite(bend) & (np.abs(bend) > _LEAST_BEND))
    if len(known) < _FEWEST:
        evidence = f"{len(known)} have hits before and behind the magnet"
        yield Finding("wrong", "too few particles or tracks that bend", evidence)
        return
    p, states, bend = sample.entries.of["p"][known], states[known], bend[known]
    z0 = np.where(long, _Z_VELO, Z_UT)[known]
    sign = -run.polarity * np.sign(bend)
    units: list[Finding] = []
    ratios = np.empty(0)
    for ratio in (1.0, 1000.0, 1e-3):
        start = np.column_stack([states, sign / (ratio * p)])
        moved = propagate(run.field, run.polarity, start, z0, (Z_SCIFI, 0.0, 0.0), threads=run.threads)
        if moved.ok.sum() < 0.5 * len(known):
            continue
        theirs = moved.states[:, 2] - states[:, 2]
        ratios = (bend / theirs)[moved.ok & (np.abs(theirs) > 1e-6)]
        if ratio == 1.0 and len(ratios) and not power_of_ten(float(np.median(ratios))):
            break
        if ratio != 1.0 and len(ratios) and abs(float(np.median(ratios)) - 1) < _BEND[1]:
            unit = "GeV" if ratio > 1 else "keV"
            evidence = f"with {ratio:g} times it, tracks bend {np.median(ratios):.3g} times as the field says"
            units.append(Finding("wrong", f"the momentum is in {unit}, not MeV", evidence))
            break
    yield Figure("p · Δtx, median", 1e-3 * float(np.median(p * np.abs(bend))), "GeV")
    if len(ratios) < _FEWEST:
        yield Finding("wrong", "tracks bend unlike the field", "few of them can be carried through it")
        return
    middle = float(np.median(ratios))
    yield Figure("bend over the field's, median", middle, "", "1")
    yield Figure("the same, 68 % about it", width68(ratios - middle))
    yield from units
    if not units:
        what = f"tracks bend {times(middle)} {'more' if middle > 1 else 'less'} than the field says"
        evidence = f"a median of {middle:.4g} times the field's bend"
        yield from judged(abs(middle - 1), _BEND, what, evidence)
    charge = charges(sample.entries.of["pid"][known])
    if (charge != 0).sum() >= _FEWEST:
        same = float((np.sign(charge) == sign)[charge != 0].mean())
        yield Figure("share that bends to its charge's side", same, "", "1")
        what = "polarity turned, or x, or the charges" if same < 0.1 else "charges do not fit the bend"
        polarity = "Up" if run.polarity > 0 else "Down"
        evidence = f"{100 * same:.0f} % bend to their charge's side in Mag{polarity}"
        yield from judged(1 - same, (0.1, 0.5), what, evidence)


def _name(plane: int) -> str:
    if plane >= SCIFI_PLANES.start:
        return f"SciFi layer {plane - SCIFI_PLANES.start}"
    return f"UT layer {plane - UT_PLANES.start}" if plane >= UT_PLANES.start else f"VELO module {plane}"
