"""Physics of hits: residuals of lines against their errors, and the bend against that of the field."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkf.detector.field import FieldMap
from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, Geometry
from parkf.detector.transport import propagate
from parkf.imports.hits.entries import Entries, slots, strips
from parkf.imports.hits.full_simulation import charges
from parkf.imports.hits.track_fits import Z_SCIFI, Z_UT, Fits, fit_scifi, fit_ut, fit_velo
from parkf.imports.inspection import Figure, Finding, Inspection, judged, power_of_ten, times, width68

_FEWEST = 30
_MOST = 4000
_Z_VELO = 770.0
_HARD = 10_000.0  # MeV; above it, scattering in the layers is small compared with most errors
_LEAST_BEND = 0.01  # rad; for smaller bends the errors of directions are too large for a ratio
# Bounds of verdicts: the bend over the field's, residuals over their errors, z off the planes in mm.
_BEND = (0.03, 0.2)
_WIDTH = ((0.5, 1.7), (0.25, 4.0))
_OFF = (5.0, 50.0)
_SHIFTED = 3.0  # σ of a plane's own hits


@dataclass(frozen=True)
class Run:
    """Field, polarity (+1 MagUp, -1 MagDown) and geometry that hits are compared with."""

    field: FieldMap
    polarity: int
    geometry: Geometry
    threads: int = 1


@dataclass(frozen=True)
class _Sample:
    """Some entries with their hits in slots, and lines through them."""

    run: Run
    entries: Entries
    slots: dict[str, NDArray[Any]]
    velo: tuple[Fits, Fits]
    ut: Fits
    scifi: Fits

    @classmethod
    def of(cls, entries: Entries, run: Run) -> "_Sample":
        found = slots(entries)
        lean = np.broadcast_to(run.geometry.planes()[SCIFI_PLANES, 2], found["scifi_x"].shape)
        x, y, z = (found[f"velo_{axis}"] for axis in "xyz")
        velo = fit_velo(x, y, z, run.geometry.velo.resolution)
        ut, scifi = fit_ut(*strips(found, "ut")), fit_scifi(lean, *strips(found, "scifi"))
        return cls(run, entries, found, velo, ut, scifi)

    @property
    def ty(self) -> NDArray[np.float64]:
        """Slope in y (n,) between UT and SciFi."""
        return np.asarray((self.scifi.values[:, 3] - self.ut.values[:, 2]) / (Z_SCIFI - Z_UT))


def inspect_hits(entries: Entries, subject: str, run: Run) -> list[Inspection]:
    """Inspect particles or tracks with their hits; matched and unmatched ones apart, where that is known."""
    matched = entries.of["matched"]
    groups = {"": matched < 0, " matched": matched == 1, " unmatched": matched == 0}
    found = []
    for name, rows in groups.items():
        chosen = np.flatnonzero(rows & (entries.of["p"] > 0))
        if len(chosen):
            sample = _Sample.of(_part(entries, chosen[:: max(1, len(chosen) // _MOST)]), run)
            figures, findings = _inspect(sample, len(chosen))
            exempt = "no particle made these tracks" if name == " unmatched" else ""
            judged_as = () if exempt else tuple(findings)
            found.append(Inspection(f"{subject}{name}", tuple(figures), judged_as, exempt))
    if not found:
        return [Inspection(subject, (), (Finding("wrong", "no particle or track", "none has p > 0"),))]
    return found


def _part(entries: Entries, chosen: NDArray[Any]) -> Entries:
    number = np.full(len(entries.of["event"]), -1)
    number[chosen] = np.arange(len(chosen))
    kept = number[entries.hits["entry"]] >= 0
    hits = {name: values[kept] for name, values in entries.hits.items()}
    hits["entry"] = number[hits["entry"]]
    of = {name: values[chosen] for name, values in entries.of.items()}
    return Entries(of, hits, entries.y_range[kept], entries.measured)


def _inspect(sample: _Sample, count: int) -> tuple[list[Figure], list[Finding]]:
    found = sample.slots
    straight = found["ut_x"] - _sagitta(sample)
    hard = sample.entries.of["p"] > _HARD
    if hard.sum() < _FEWEST:
        hard = np.ones(len(hard), bool)
    hard_ut = fit_ut(straight, *strips(found, "ut")[1:])
    hits = {"UT": (found["ut_rows"] >= 0).sum(1), "SciFi": (found["scifi_rows"] >= 0).sum(1)}
    figures = [Figure("particles or tracks", float(count))]
    figures += [
        Figure(f"{name} hits of each", float(number.mean()))
        for name, number in ({"VELO": found["velo_n"]} | hits).items()
    ]
    findings: list[Finding] = []
    for name, fits in (("VELO", sample.velo[0]), ("UT", hard_ut), ("SciFi", sample.scifi)):
        widths, wrong = _residuals(name, fits.of(hard), sample.entries.measured)
        figures += widths
        findings += wrong
    findings += _of_planes(sample) + _of_layers(hard_ut, sample.scifi) + _of_sides(sample)
    bend, wrong = _bend(sample)
    # With momenta in another unit, all other findings are meaningless.
    findings = wrong if any("momentum" in one.what for one in wrong) else wrong + findings
    return figures + bend, findings


def _residuals(name: str, fits: Fits, measured: bool) -> tuple[list[Figure], list[Finding]]:
    pulls = fits.pulls[np.isfinite(fits.pulls)]
    if len(pulls) < _FEWEST:
        return [], []
    width = width68(pulls)
    figures = [
        Figure(f"{name} residuals, 68 %", 1000 * width68(fits.residuals[np.isfinite(fits.residuals)]), "µm"),
        Figure(f"{name} residuals over their errors, 68 %", width, "", "1"),
    ]
    told, refused = _WIDTH
    if told[0] < width < told[1] or (width < told[0] and not measured):
        return figures, []
    size = "small" if width > 1 else "large"
    what = f"errors of {name} hits are {times(width)} too {size}, or its hits lie elsewhere"
    evidence = f"68 % of the residuals are within {width:.3g} of them"
    return figures, [Finding("doubtful" if refused[0] < width < refused[1] else "wrong", what, evidence)]


def _sagitta(sample: _Sample) -> NDArray[np.float64]:
    """Distance (n, 4) by which tracks bend off their line in the UT, mm; 0 where that is not known."""
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
    """Compare z of the hits with the planes'."""
    planes, hits = sample.run.geometry.planes(), sample.entries.hits
    z0, dzdx, dzdy = planes[hits["plane"]].T
    point = hits["plane"] < UT_PLANES.start
    off = hits["z"] - z0 - np.where(point, dzdx * hits["x"] + dzdy * hits["y"], 0.0)
    for plane in np.unique(hits["plane"]):
        own = hits["plane"] == plane
        middle = float(np.median(off[own]))
        z = float(np.median(hits["z"][own]))
        evidence = f"a median of z = {z:.5g} mm, {middle:+.3g} mm from the geometry's"
        if found := judged(abs(middle), _OFF, f"hits of {_name(plane)} are another detector's", evidence):
            return found
    return []


def _of_layers(ut: Fits, scifi: Fits) -> list[Finding]:
    """Find layers that are shifted against the others."""
    findings = []
    for first, fits in ((UT_PLANES.start, ut), (SCIFI_PLANES.start, scifi)):
        if np.isfinite(fits.pulls).sum() < _FEWEST:
            continue
        middle = np.nanmedian(np.where(np.isfinite(fits.pulls), fits.pulls, np.nan), axis=0)
        worst = int(np.nanargmax(np.abs(middle)))
        if abs(middle[worst]) > _SHIFTED:
            shift = 1000 * float(np.nanmedian(fits.residuals[:, worst]))
            evidence = f"a median residual of {shift:+.0f} µm, {middle[worst]:+.2g} of its errors"
            findings.append(Finding("doubtful", f"{_name(first + worst)} is shifted or exchanged", evidence))
    return findings


def _of_sides(sample: _Sample) -> list[Finding]:
    """Find missing halves, and tracks that miss the ends of the fibres that they hit."""
    findings = []
    found, scifi = sample.slots, sample.scifi.values
    rows, dz = found["scifi_rows"], found["scifi_z"] - Z_SCIFI
    y = scifi[:, 3:4] + scifi[:, 4:5] * dz
    span = sample.entries.y_range[np.maximum(rows, 0)]
    known = (rows >= 0) & np.isfinite(span).all(axis=2) & np.isfinite(y)
    if known.sum() > _FEWEST:
        low, high = span.min(axis=2) - 20.0, span.max(axis=2) + 20.0
        inside = float(((y > low) & (y < high))[known].mean())
        if inside < 0.8:
            evidence = f"stereo angles put {100 * (1 - inside):.0f} % of the hits beyond their fibres' ends"
            findings.append(Finding("wrong", "stereo angles or y are turned over", evidence))
    for name, values in (("x", sample.ut.values[:, 0]), ("y", sample.ut.values[:, 2])):
        values = values[np.isfinite(values)]
        below = float((values < 0).mean()) if len(values) >= _FEWEST else 0.5
        fewer = min(below, 1 - below)
        if fewer < 0.02:
            evidence = f"{100 * fewer:.1f} % of the tracks are on its other side in the UT"
            findings.append(Finding("doubtful", f"half of the acceptance is missing in {name}", evidence))
    return findings


def _bend(sample: _Sample) -> tuple[list[Figure], list[Finding]]:
    """Compare the change of slope with that of the field, with the momentum of the file."""
    run, velo, ut = sample.run, [line.values for line in sample.velo], sample.ut.values
    long = sample.slots["velo_n"] >= 3
    in_velo = [line[:, 0] + line[:, 1] * _Z_VELO for line in velo] + [line[:, 1] for line in velo]
    in_ut = (ut[:, 0], ut[:, 2], ut[:, 1], sample.ty)
    states = np.column_stack([np.where(long, *both) for both in zip(in_velo, in_ut, strict=True)])
    bend = sample.scifi.values[:, 1] - states[:, 2]
    known = np.flatnonzero(np.isfinite(states).all(axis=1) & np.isfinite(bend) & (np.abs(bend) > _LEAST_BEND))
    if len(known) < _FEWEST:
        evidence = f"{len(known)} have hits before and behind the magnet"
        return [], [Finding("wrong", "too few particles or tracks that bend", evidence)]
    p, states, bend = sample.entries.of["p"][known], states[known], bend[known]
    z0 = np.where(long, _Z_VELO, Z_UT)[known]
    sign = -run.polarity * np.sign(bend)
    findings, ratios = [], np.empty(0)
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
            findings.append(Finding("wrong", f"the momentum is in {unit}, not MeV", evidence))
            break
    figures = [Figure("p · Δtx, median", 1e-3 * float(np.median(p * np.abs(bend))), "GeV")]
    if len(ratios) < _FEWEST:
        evidence = "few of them can be carried through it"
        return figures, [Finding("wrong", "tracks bend unlike the field", evidence)]
    middle = float(np.median(ratios))
    figures.append(Figure("bend over the field's, median", middle, "", "1"))
    figures.append(Figure("the same, 68 % about it", width68(ratios - middle)))
    if not findings:
        what = f"tracks bend {times(middle)} {'more' if middle > 1 else 'less'} than the field says"
        evidence = f"a median of {middle:.4g} times the field's bend"
        findings = judged(abs(middle - 1), _BEND, what, evidence)
    charge = charges(sample.entries.of["pid"][known])
    if (charge != 0).sum() >= _FEWEST:
        same = float((np.sign(charge) == sign)[charge != 0].mean())
        figures.append(Figure("share that bends to its charge's side", same, "", "1"))
        what = "polarity turned, or x, or the charges" if same < 0.1 else "charges do not fit the bend"
        polarity = "Up" if run.polarity > 0 else "Down"
        evidence = f"{100 * same:.0f} % bend to their charge's side in Mag{polarity}"
        findings += judged(1 - same, (0.1, 0.5), what, evidence)
    return figures, findings


def _name(plane: int) -> str:
    if plane >= SCIFI_PLANES.start:
        return f"SciFi layer {plane - SCIFI_PLANES.start}"
    return f"UT layer {plane - UT_PLANES.start}" if plane >= UT_PLANES.start else f"VELO module {plane}"
