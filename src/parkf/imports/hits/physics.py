"""Checks of hits: residuals of lines against their errors, and the bend against that of the field."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkf.detector.field import FieldMap
from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, Geometry
from parkf.detector.transport import propagate
from parkf.imports.bending import power_of_ten, times
from parkf.imports.hits.columns import charges, slots
from parkf.imports.hits.entries import Entries
from parkf.imports.hits.track_fits import Z_SCIFI, Z_UT, Fits, fit_scifi, fit_ut, fit_velo
from parkf.imports.inspection import Figure, Finding, Inspection
from parkf.imports.robust import width68

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


def inspect_hits(
    entries: Entries,
    subject: str,
    *,
    field: FieldMap,
    polarity: int,
    geometry: Geometry,
    threads: int | None = None,
) -> list[Inspection]:
    """Look at particles or tracks with their hits; matched and unmatched ones apart, where that is said.

    Parameters
    ----------
    entries : Entries
    subject : str
        What to call them.
    field : FieldMap
    polarity : int
        +1 MagUp, -1 MagDown.
    geometry : Geometry
    threads : int, optional
    """
    matched = entries.of["matched"]
    groups = {"": matched < 0, " matched": matched == 1, " unmatched": matched == 0}
    found = []
    for name, rows in groups.items():
        chosen = np.flatnonzero(rows & (entries.of["p"] > 0))
        if len(chosen):
            group = _part(entries, chosen[:: max(1, len(chosen) // _MOST)])
            exempt = "no particle made these tracks" if name == " unmatched" else ""
            found.append(
                _inspect(group, f"{subject}{name}", len(chosen), field, polarity, geometry, threads, exempt)
            )
    if not found:
        return [Inspection(subject, (), (Finding("wrong", "no particle or track", "none has p > 0"),))]
    return found


def _part(entries: Entries, chosen: NDArray[Any]) -> Entries:
    number = np.full(len(entries.of["event"]), -1)
    number[chosen] = np.arange(len(chosen))
    kept = number[entries.hits["entry"]] >= 0
    hits = {name: values[kept] for name, values in entries.hits.items()}
    hits["entry"] = number[hits["entry"]]
    return Entries(
        {name: values[chosen] for name, values in entries.of.items()},
        hits,
        entries.y_range[kept],
        entries.measured,
    )


def _inspect(
    entries: Entries,
    subject: str,
    count: int,
    field: FieldMap,
    polarity: int,
    geometry: Geometry,
    threads: int | None,
    exempt: str,
) -> Inspection:
    taken = slots(entries)
    ut = fit_ut(*(taken[f"ut_{name}"] for name in ("x", "z", "dxdy", "sigma")))
    lean = np.broadcast_to(geometry.planes()[SCIFI_PLANES, 2], taken["scifi_x"].shape)
    fibres = [taken[f"scifi_{name}"] for name in ("x", "z", "dxdy")]
    scifi = fit_scifi(fibres[0], fibres[1], fibres[2], lean, taken["scifi_sigma"])
    velo = fit_velo(taken["velo_x"], taken["velo_y"], taken["velo_z"], geometry.velo.resolution)
    straight = taken["ut_x"] - _sagitta(entries, taken, ut, scifi, field, polarity, threads)
    hard = entries.of["p"] > _HARD
    if hard.sum() < _FEWEST:
        hard = np.ones(len(hard), bool)
    hard_ut = fit_ut(straight, *(taken[f"ut_{name}"] for name in ("z", "dxdy", "sigma")))
    figures = [Figure("particles or tracks", float(count))]
    figures += [
        Figure(f"{name} hits of each", float(number), "")
        for name, number in (
            ("VELO", taken["velo_n"].mean()),
            ("UT", (taken["ut_rows"] >= 0).sum(1).mean()),
            ("SciFi", (taken["scifi_rows"] >= 0).sum(1).mean()),
        )
    ]
    findings: list[Finding] = []
    for name, fits in (("VELO", velo[0]), ("UT", hard_ut), ("SciFi", scifi)):
        widths, found = _residuals(name, fits.of(hard), entries.measured)
        figures += widths
        findings += found
    findings += (
        _of_planes(entries, geometry) + _of_layers(hard_ut, scifi) + _of_sides(entries, taken, ut, scifi)
    )
    bend, found = _bend(entries, taken, ut, scifi, velo, field, polarity, threads)
    # With momenta in another unit, all other findings are meaningless.
    findings = found if any("momentum" in one.what for one in found) else found + findings
    return Inspection(subject, tuple(figures + bend), () if exempt else tuple(findings), exempt)


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
    verdict = "doubtful" if refused[0] < width < refused[1] else "wrong"
    evidence = f"68 % of the residuals are within {width:.3g} of them"
    size = "small" if width > 1 else "large"
    what = f"errors of {name} hits are {times(width)} too {size}, or its hits lie elsewhere"
    return figures, [Finding(verdict, what, evidence)]  # type: ignore[arg-type]


def _sagitta(
    entries: Entries,
    taken: dict[str, NDArray[Any]],
    ut: Fits,
    scifi: Fits,
    field: FieldMap,
    polarity: int,
    threads: int | None,
) -> NDArray[np.float64]:
    """Say how far (n, 4) tracks bend off their line in the UT, mm; 0 where that is not known."""
    bend = scifi.values[:, 1] - ut.values[:, 1]
    ty = (scifi.values[:, 3] - ut.values[:, 2]) / (Z_SCIFI - Z_UT)
    states = np.column_stack(
        [ut.values[:, 0], ut.values[:, 2], ut.values[:, 1], ty, -polarity * np.sign(bend) / entries.of["p"]]
    )
    found = np.zeros(taken["ut_x"].shape)
    for layer, z in enumerate(taken["ut_z"].T):
        known = np.flatnonzero(np.isfinite(states).all(axis=1) & np.isfinite(z))
        moved = propagate(field, polarity, states[known], Z_UT, (z[known], 0.0, 0.0), threads=threads)
        off = moved.states[:, 0] - states[known, 0] - states[known, 2] * (z[known] - Z_UT)
        found[known, layer] = np.where(moved.ok, off, 0.0)
    return found


def _of_planes(entries: Entries, geometry: Geometry) -> list[Finding]:
    """Compare z of the hits with the planes'."""
    planes, hits = geometry.planes(), entries.hits
    off = hits["z"] - planes[hits["plane"], 0]
    point = hits["plane"] < UT_PLANES.start
    off = off - np.where(
        point, planes[hits["plane"], 1] * hits["x"] + planes[hits["plane"], 2] * hits["y"], 0.0
    )
    for plane in np.unique(hits["plane"]):
        middle = float(np.median(off[hits["plane"] == plane]))
        if abs(middle) > _OFF[0]:
            verdict = "wrong" if abs(middle) > _OFF[1] else "doubtful"
            z = float(np.median(hits["z"][hits["plane"] == plane]))
            evidence = f"a median of z = {z:.5g} mm, {middle:+.3g} mm from the geometry's"
            return [Finding(verdict, f"hits of {_name(plane)} are another detector's", evidence)]  # type: ignore[arg-type]
    return []


def _of_layers(ut: Fits, scifi: Fits) -> list[Finding]:
    """Say which layer lies beside the others."""
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


def _of_sides(entries: Entries, taken: dict[str, NDArray[Any]], ut: Fits, scifi: Fits) -> list[Finding]:
    """Look at halves, and at y beside the fibres that were hit."""
    findings = []
    rows, dz = taken["scifi_rows"], taken["scifi_z"] - Z_SCIFI
    y = scifi.values[:, 3:4] + scifi.values[:, 4:5] * dz
    span = entries.y_range[np.maximum(rows, 0)]
    known = (rows >= 0) & np.isfinite(span).all(axis=2) & np.isfinite(y)
    if known.sum() > _FEWEST:
        low, high = span.min(axis=2) - 20.0, span.max(axis=2) + 20.0
        inside = float(((y > low) & (y < high))[known].mean())
        if inside < 0.8:
            evidence = f"stereo angles put {100 * (1 - inside):.0f} % of the hits beyond their fibres' ends"
            findings.append(Finding("wrong", "stereo angles or y are turned over", evidence))
    for name, values in (("x", ut.values[:, 0]), ("y", ut.values[:, 2])):
        values = values[np.isfinite(values)]
        if len(values) >= _FEWEST:
            share = float((values < 0).mean())
            if min(share, 1 - share) < 0.02:
                evidence = (
                    f"{100 * min(share, 1 - share):.1f} % of the tracks are on its other side in the UT"
                )
                findings.append(Finding("doubtful", f"half of the acceptance is missing in {name}", evidence))
    return findings


def _bend(
    entries: Entries,
    taken: dict[str, NDArray[Any]],
    ut: Fits,
    scifi: Fits,
    velo: tuple[Fits, Fits],
    field: FieldMap,
    polarity: int,
    threads: int | None,
) -> tuple[list[Figure], list[Finding]]:
    """Compare the change of slope with that of the field, with the momentum that is said."""
    long = taken["velo_n"] >= 3
    z0 = np.where(long, _Z_VELO, Z_UT)
    lines = [line.values[:, 0] + line.values[:, 1] * _Z_VELO for line in velo]
    ty = (scifi.values[:, 3] - ut.values[:, 2]) / (Z_SCIFI - Z_UT)
    states = np.column_stack(
        [
            np.where(long, lines[0], ut.values[:, 0]),
            np.where(long, lines[1], ut.values[:, 2]),
            np.where(long, velo[0].values[:, 1], ut.values[:, 1]),
            np.where(long, velo[1].values[:, 1], ty),
        ]
    )
    bend = scifi.values[:, 1] - states[:, 2]
    known = np.flatnonzero(np.isfinite(states).all(axis=1) & np.isfinite(bend) & (np.abs(bend) > _LEAST_BEND))
    if len(known) < _FEWEST:
        evidence = f"{len(known)} have hits before and behind the magnet"
        return [], [Finding("wrong", "too few particles or tracks that bend", evidence)]
    p, findings, ratios = entries.of["p"][known], [], np.empty(0)
    sign = -polarity * np.sign(bend[known])
    for ratio in (1.0, 1000.0, 1e-3):
        start = np.column_stack([states[known], sign / (ratio * p)])
        moved = propagate(field, polarity, start, z0[known], (Z_SCIFI, 0.0, 0.0), threads=threads)
        if moved.ok.sum() < 0.5 * len(known):
            continue
        theirs = moved.states[:, 2] - states[known, 2]
        ratios = (bend[known] / theirs)[moved.ok & (np.abs(theirs) > 1e-6)]
        if ratio == 1.0 and len(ratios) and not power_of_ten(float(np.median(ratios))):
            break
        if ratio != 1.0 and len(ratios) and abs(float(np.median(ratios)) - 1) < _BEND[1]:
            unit = "GeV" if ratio > 1 else "keV"
            evidence = f"with {ratio:g} times it, tracks bend {np.median(ratios):.3g} times as the field says"
            findings.append(Finding("wrong", f"the momentum is in {unit}, not MeV", evidence))
            break
    figures = [Figure("p · Δtx, median", 1e-3 * float(np.median(p * np.abs(bend[known]))), "GeV")]
    if len(ratios) < _FEWEST:
        return figures, [
            Finding("wrong", "tracks bend unlike the field", "few of them can be carried through it")
        ]
    middle = float(np.median(ratios))
    figures += [
        Figure("bend over the field's, median", middle, "", "1"),
        Figure("the same, 68 % about it", width68(ratios - middle), ""),
    ]
    if not findings and abs(middle - 1) > _BEND[0]:
        verdict = "wrong" if abs(middle - 1) > _BEND[1] else "doubtful"
        evidence = f"a median of {middle:.4g} times the field's bend"
        more = "more" if middle > 1 else "less"
        findings.append(Finding(verdict, f"tracks bend {times(middle)} {more} than the field says", evidence))  # type: ignore[arg-type]
    charge = charges(entries.of["pid"][known])
    if (charge != 0).sum() >= _FEWEST:
        same = float((np.sign(charge) == sign)[charge != 0].mean())
        figures.append(Figure("share that bends to its charge's side", same, "", "1"))
        if same < 0.9:
            what = "polarity turned, or x, or the charges" if same < 0.1 else "charges do not fit the bend"
            evidence = (
                f"{100 * same:.0f} % bend to their charge's side in Mag{'Up' if polarity > 0 else 'Down'}"
            )
            findings.append(Finding("wrong" if same < 0.5 else "doubtful", what, evidence))
    return figures, findings


def _name(plane: int) -> str:
    if plane >= SCIFI_PLANES.start:
        return f"SciFi layer {plane - SCIFI_PLANES.start}"
    return f"UT layer {plane - UT_PLANES.start}" if plane >= UT_PLANES.start else f"VELO module {plane}"
