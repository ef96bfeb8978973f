"""Faults of a whole step dataset: wrong units or signs, exchanged columns, planes unlike the geometry's."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, Z_IN, Z_OUT, Geometry
from parkf.imports.steps.rows import P_RANGE, Carrier
from parkf.io.checks import power_of_ten
from parkf.io.findings import Finding, judged
from parkf.training.datasets.carry import Rows

_ENDS = "01e"
_SLOPES = tuple(f"{name}{end}" for name in ("tx", "ty") for end in _ENDS)
_XY = tuple(f"{name}{end}" for name in "xy" for end in _ENDS)
_Z = ("z0", "z1")
TURNED = "polarity turned, or the sign of q/p, or x runs the other way"

_Change = Callable[[Rows], Rows]  # removes a fault from rows


def _scaled(names: tuple[str, ...], ratio: float) -> _Change:
    """Return the change that repairs columns which are too small by a ratio."""
    return lambda rows: rows | {name: ratio * rows[name] for name in names if name in rows}


def _exchanged(*pairs: tuple[str, str]) -> _Change:
    """Return the change that repairs exchanged columns."""
    both = pairs + tuple((b, a) for a, b in pairs)
    return lambda rows: rows | {a: rows[b] for a, b in both if a in rows and b in rows}


_CHANGES = {
    TURNED: _scaled(("polarity",), -1.0),
    **{
        f"{what} are in {unit}, not mm": _scaled(names, ratio)
        for unit, ratio in (("cm", 10.0), ("m", 1000.0))
        for what, names in (
            ("all lengths", (*_XY, *_Z)),
            ("z0 and z1", _Z),
            ("x and y", _XY),
            ("x and y of the target", ("x1", "y1", "xe", "ye")),
            ("x and y of the origin", ("x0", "y0")),
        )
    },
    "slopes are in mrad, not dx/dz": _scaled(_SLOPES, 1e-3),
    "x and y are exchanged": _exchanged(*((f"{t}x{e}", f"{t}y{e}") for t in ("", "t") for e in _ENDS)),
    "origin and target are exchanged": _exchanged(*((f"{n}0", f"{n}1") for n in ("x", "y", "tx", "ty", "z"))),
    "origin's z and target's are exchanged": _exchanged(("z0", "z1")),
    "tx and ty are exchanged": _exchanged(*((f"tx{e}", f"ty{e}") for e in _ENDS)),
    "slopes have the wrong sign": _scaled(_SLOPES, -1.0),
    "the target's y has the wrong sign": _scaled(("y1", "ty1", "ye", "tye"), -1.0),
    "the target's x has the wrong sign": _scaled(("x1", "tx1", "xe", "txe"), -1.0),
}
# Scattering alone causes a median pull of 1.4; no amount of material causes 3.5.
_FITS = 3.5
# mm; largest z of each step's rows in LHCb, and the fraction by which another detector may deviate.
_FURTHEST = {
    **{"V": 730.0, "VUT": 2330.0, "UT": 2643.0, "BEAM": 730.0},
    **{"UTTF": 7826.0, "TFT": 7830.0, "T": 9403.0},
}
_OTHER = 0.25
_UNITS = {1: "cm", 3: "m", -3: "µm"}
# Planes of each set's origin and target; None where there are many.
_PLANES: dict[str, list[tuple[int | None, int | None]]] = {
    "VUT": [(None, UT_PLANES[0])],
    "UT": [*pairwise(UT_PLANES), *((after, before) for before, after in pairwise(UT_PLANES))],
    "UTTF": [(Z_IN, Z_OUT)],
    "TFT": [(Z_OUT, SCIFI_PLANES[0])],
    "T": [hop for hop in pairwise(SCIFI_PLANES) for _ in range(2)],
}


def repaired(rows: Rows, carrier: Carrier) -> tuple[Rows, list[Finding]]:
    """Check units, signs and columns; return rows without the faults that were found, and the faults."""
    rows, momenta = _momenta(rows)
    rows, lengths = _lengths(rows, carrier)
    rows, others = _others(rows, carrier)
    return rows, [*momenta, *lengths, *others]


def _momenta(rows: Rows) -> tuple[Rows, list[Finding]]:
    """Check momenta alone."""
    findings = []
    p = float(np.median(rows["p_true"]))
    if not P_RANGE[0] < p < P_RANGE[1]:
        for unit, ratio in (("GeV", 1000.0), ("keV", 1e-3)):
            if P_RANGE[0] < p * ratio < P_RANGE[1]:
                evidence = f"the median momentum at the origin is {p:.4g} MeV"
                findings.append(Finding("wrong", f"the momentum is in {unit}, not MeV", evidence))
                rows = rows | {"p_true": ratio * rows["p_true"]}
                break
        else:
            findings.append(Finding("wrong", "no such momenta", f"the median at the origin is {p:.4g} MeV"))
    product = float(np.median(np.abs(rows["qop"]) * rows["p_true"]))
    power = power_of_ten(product)
    if power:
        unit = {3: "1/GeV", 6: "1/TeV"}.get(power, f"another unit, 1e{power} times 1/MeV")
        size = float(np.median(np.abs(rows["qop"])))
        evidence = f"its median is {size:.4g}, times the momentum at the origin {product:.4g}"
        findings.append(Finding("wrong", f"q/p is in {unit}, not 1/MeV", evidence))
        rows = rows | {"qop": rows["qop"] / 10.0**power}
    return rows, findings


def _lengths(rows: Rows, carrier: Carrier) -> tuple[Rows, list[Finding]]:
    """Check the range of z."""
    step = carrier.step
    furthest = float(np.quantile(np.abs(np.concatenate([rows["z0"], rows["z1"]])), 0.97))
    ratio = _FURTHEST[step] / max(furthest, 1e-9)
    if abs(ratio - 1) < _OTHER:
        return rows, []
    evidence = f"z goes to {furthest:.4g} mm, in LHCb step {step} goes to {_FURTHEST[step]:g}"
    power = next((p for p in _UNITS if abs(ratio / 10.0**p - 1) < _OTHER), None)
    if power is None:
        what = "planes of another detector, or z in an unknown unit"
        return rows, [] if step in ("V", "BEAM") else [Finding("wrong", what, evidence)]
    # If both misfits are equal, all lengths are assumed wrong, because they mostly have the same unit.
    whats = (("all lengths", (*_XY, *_Z)), ("z0 and z1", _Z))
    tried = [(what, _scaled(names, 10.0**power)(rows)) for what, names in whats]
    what, rows = min(tried, key=lambda one: carrier.misfit(one[1]))
    return rows, [Finding("wrong", f"{what} are in {_UNITS[power]}, not mm", evidence)]


def _others(rows: Rows, carrier: Carrier) -> tuple[Rows, list[Finding]]:
    """Try possible faults until rows end where they should."""
    findings: list[Finding] = []
    now = carrier.misfit(rows)
    while now > _FITS and len(findings) < 3:
        tried = [(carrier.misfit(change(rows)), what) for what, change in _CHANGES.items()]
        best, what = min(tried, key=lambda pair: pair[0])
        if not best < now / 3.0:
            break
        evidence = (
            f"median distance from where the field takes them {_sigmas(now)}, without it {_sigmas(best)}"
        )
        findings.append(Finding("wrong", _named(what, rows), evidence))
        rows, now = _CHANGES[what](rows), best
    return rows, findings


def _named(what: str, rows: Rows) -> str:
    """Name the fault: if the kind of particles is known, their charge decides between polarity and q/p."""
    kind = np.abs(rows["pdg_id"]).astype(np.int64)
    # Sign of the charge of e, mu, pi, K, p; 0 for other particles.
    sign = np.isin(kind, (211, 321, 2212)).astype(float) - np.isin(kind, (11, 13))
    known = np.sign(rows["pdg_id"]) * sign
    if what != TURNED or not known.any():
        return what
    same = float((np.sign(rows["qop"]) == known)[known != 0].mean())
    return "polarity turned" if same > 0.9 else "q/p has the wrong sign" if same < 0.1 else what


def unexplained(pulls: np.ndarray) -> list[Finding]:
    """Report rows whose target states still disagree; `pulls` (n, 4) are those after all corrections."""
    left = float(np.median(np.abs(pulls).max(axis=1)))
    if left <= _FITS:
        return []
    evidence = f"median distance from where it takes them {_sigmas(left)}; nothing that is known explains it"
    return [Finding("wrong", "rows do not follow the run's field", evidence)]


def _sigmas(value: float) -> str:
    return "beyond the map" if not np.isfinite(value) else f"{value:.3g} widths of the scattering"


def plane_faults(rows: Rows, step: str, geometry: Geometry) -> list[Finding]:
    """Compare begin and end of each set's rows with the set's planes; report the first deviation."""
    planes = geometry.planes()
    for number, ends in enumerate(_PLANES.get(step, ())):
        own = rows["set"] == number
        for end, plane in zip("01", ends, strict=True):
            if plane is None or not own.any():
                continue
            z0, dzdx, dzdy = planes[plane]
            z = rows[f"z{end}"][own]
            off = float(np.median(z - (z0 + dzdx * rows[f"x{end}"][own] + dzdy * rows[f"y{end}"][own])))
            does = "begins" if end == "0" else "ends"
            what = f"set {number} {does} at another z than in the run's geometry"
            evidence = f"a median of z{end} = {np.median(z):.4g} mm, {off:+.3g} mm from the plane"
            # Up to 5 mm can be an alignment; more than 50 mm is another detector.
            if found := judged(abs(off), (5.0, 50.0), what, evidence):
                return found
    return []
