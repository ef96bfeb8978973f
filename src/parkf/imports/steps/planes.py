"""Where the rows of a step begin and end, beside where its planes are."""

import numpy as np

from parkf.detector.field import FieldMap
from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, Z_IN, Z_OUT, Geometry
from parkf.imports.inspection import Finding
from parkf.imports.steps.rows import LENGTHS_XY, LENGTHS_Z, Rows, misfit

# mm; the furthest z of each step's rows in LHCb, and how far another detector may deviate from it.
_FURTHEST = {
    "V": 730.0,
    "VUT": 2330.0,
    "UT": 2643.0,
    "UTTF": 7826.0,
    "TFT": 7830.0,
    "T": 9403.0,
    "BEAM": 730.0,
}
_OTHER = 0.25
# mm off a plane: an alignment, and another detector.
_OFF = (5.0, 50.0)
_UNITS = {1: "cm", 3: "m", -3: "µm"}


def length_faults(
    rows: Rows, step: str, field: FieldMap, ends: tuple[str, ...], threads: int | None = None
) -> tuple[Rows, list[Finding]]:
    """Check the range of z; return rows with lengths in mm."""
    furthest = float(np.quantile(np.abs(np.concatenate([rows["z0"], rows["z1"]])), 0.97))
    ratio = _FURTHEST[step] / max(furthest, 1e-9)
    if abs(ratio - 1) < _OTHER:
        return rows, []
    evidence = f"z goes to {furthest:.4g} mm, in LHCb step {step} goes to {_FURTHEST[step]:g}"
    power = next((p for p in _UNITS if abs(ratio / 10.0**p - 1) < _OTHER), None)
    if power is None:
        if step in ("V", "BEAM"):
            return rows, []
        return rows, [Finding("wrong", "planes of another detector, or z in an unknown unit", evidence)]
    alone = rows | {name: 10.0**power * rows[name] for name in LENGTHS_Z}
    together = alone | {name: 10.0**power * rows[name] for name in LENGTHS_XY if name in rows}
    if misfit(alone, step, field, ends, threads) < misfit(together, step, field, ends, threads):
        return alone, [Finding("wrong", f"z0 and z1 are in {_UNITS[power]}, not mm", evidence)]
    return together, [Finding("wrong", f"all lengths are in {_UNITS[power]}, not mm", evidence)]


def plane_faults(rows: Rows, step: str, geometry: Geometry) -> list[Finding]:
    """Compare rows of each set with the planes that it leads from and to."""
    planes = geometry.planes()
    for number in np.unique(rows["set"]):
        own = rows["set"] == number
        for end, plane in zip("01", _planes(step, int(number)), strict=True):
            if plane is None:
                continue
            z0, dzdx, dzdy = planes[plane]
            z = rows[f"z{end}"][own]
            off = float(np.median(z - (z0 + dzdx * rows[f"x{end}"][own] + dzdy * rows[f"y{end}"][own])))
            if abs(off) > _OFF[0]:
                verdict = "wrong" if abs(off) > _OFF[1] else "doubtful"
                does = "begins" if end == "0" else "ends"
                what = f"set {number:.0f} {does} at another z than in the run's geometry"
                evidence = f"a median of z{end} = {np.median(z):.4g} mm, {off:+.3g} mm from the plane"
                return [Finding(verdict, what, evidence)]  # type: ignore[arg-type]
    return []


def _planes(step: str, number: int) -> tuple[int | None, int | None]:
    """Planes of a set's origin and target; None where there are many."""
    if step == "VUT":
        return None, UT_PLANES[0]
    if step == "UT":
        gap = number % 3
        forward = (UT_PLANES[gap], UT_PLANES[gap + 1])
        return forward if number < 3 else forward[::-1]
    if step == "UTTF":
        return Z_IN, Z_OUT
    if step == "TFT":
        return Z_OUT, SCIFI_PLANES[0]
    if step == "T":
        return SCIFI_PLANES[number // 2], SCIFI_PLANES[number // 2 + 1]
    return None, None
