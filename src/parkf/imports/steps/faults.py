"""What can be wrong with a step dataset as a whole: units, signs, columns, and how to see which it is."""

import numpy as np

from parkf.detector.field import FieldMap
from parkf.imports.bending import power_of_ten
from parkf.imports.inspection import Finding
from parkf.imports.steps.rows import LENGTHS_XY, LENGTHS_Z, P_RANGE, Change, Rows, exchanged, misfit, scaled

_ENDS = "01e"
_SLOPES = tuple(f"{name}{end}" for name in ("tx", "ty") for end in _ENDS)
TURNED = "polarity turned, or the sign of q/p, or x runs the other way"
CHANGES = (
    Change(TURNED, lambda rows: rows | {"polarity": -rows["polarity"]}),
    *(
        change
        for unit, ratio in (("cm", 10.0), ("m", 1000.0))
        for change in (
            scaled(f"all lengths are in {unit}, not mm", (*LENGTHS_XY, *LENGTHS_Z), ratio),
            scaled(f"z0 and z1 are in {unit}, not mm", LENGTHS_Z, ratio),
            scaled(f"x and y are in {unit}, not mm", LENGTHS_XY, ratio),
            scaled(f"x and y of the target are in {unit}, not mm", ("x1", "y1", "xe", "ye"), ratio),
            scaled(f"x and y of the origin are in {unit}, not mm", ("x0", "y0"), ratio),
        )
    ),
    scaled("slopes are in mrad, not dx/dz", _SLOPES, 1e-3),
    exchanged("x and y are exchanged", tuple((f"{t}x{e}", f"{t}y{e}") for t in ("", "t") for e in _ENDS)),
    exchanged(
        "origin and target are exchanged",
        tuple((f"{name}0", f"{name}1") for name in ("x", "y", "tx", "ty", "z")),
    ),
    exchanged("origin's z and target's are exchanged", (("z0", "z1"),)),
    exchanged("tx and ty are exchanged", tuple((f"tx{e}", f"ty{e}") for e in _ENDS)),
    scaled("slopes have the wrong sign", _SLOPES, -1.0),
    scaled("the target's y has the wrong sign", ("y1", "ty1", "ye", "tye"), -1.0),
    scaled("the target's x has the wrong sign", ("x1", "tx1", "xe", "txe"), -1.0),
)
# Pure scattering gives a median pull of 1.4; no material gives three and a half.
FITS = 3.5
_MOST_FAULTS = 3
_BETTER = 3.0


def momentum_faults(rows: Rows) -> tuple[Rows, list[Finding]]:
    """Check momenta and charges alone; return rows corrected for what was found."""
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
    other = float((np.sign(rows["qop"]) != np.sign(rows["charge"])).mean())
    if other > 0.01:
        evidence = f"the signs differ in {100 * other:.0f} % of the rows"
        findings.append(Finding("wrong", "q/p has not the charge's sign", evidence))
    return rows, findings


def charge_of_kind(pdg_id: np.ndarray) -> np.ndarray:
    """Sign of the charge of e, mu, pi, K, p by PDG number; 0 of others."""
    kind = np.abs(pdg_id).astype(np.int64)
    lepton, hadron = np.isin(kind, (11, 13)), np.isin(kind, (211, 321, 2212))
    return np.asarray(np.sign(pdg_id) * (hadron.astype(float) - lepton.astype(float)))


def whole_faults(
    rows: Rows, step: str, field: FieldMap, threads: int | None = None
) -> tuple[Rows, list[Finding]]:
    """Try possible faults until rows end where they say; return rows corrected for what was found."""
    ends = ("1", "e") if "xe" in rows else ("1",)
    findings: list[Finding] = []
    now = misfit(rows, step, field, ends, threads)
    while now > FITS and len(findings) < _MOST_FAULTS:
        tried = []
        for change in CHANGES:
            try:
                tried.append((misfit(change.change(rows), step, field, ends, threads), change))
            except FloatingPointError:
                continue
        best, change = min(tried, key=lambda pair: pair[0])
        if not best < now / _BETTER:
            break
        evidence = (
            f"median distance from where the field takes them {_sigmas(now)}, without it {_sigmas(best)}"
        )
        findings.append(Finding("wrong", _named(change, rows), evidence))
        rows, now = change.change(rows), best
    return rows, findings


def _named(change: Change, rows: Rows) -> str:
    """Say which of the two it is, where particles are named."""
    known = charge_of_kind(rows["pdg_id"])
    if change.what != TURNED or not known.any():
        return change.what
    same = float((np.sign(rows["qop"]) == known)[known != 0].mean())
    return "polarity turned" if same > 0.9 else "q/p has the wrong sign" if same < 0.1 else change.what


def unexplained(pulls: np.ndarray) -> list[Finding]:
    """Say that rows end elsewhere, where nothing that is known explains it; `pulls` (n, 4) are left then."""
    left = float(np.median(np.abs(pulls).max(axis=1)))
    if left <= FITS:
        return []
    evidence = f"median distance from where it takes them {_sigmas(left)}; nothing that is known explains it"
    return [Finding("wrong", "rows do not follow the run's field", evidence)]


def _sigmas(value: float) -> str:
    return "beyond the map" if not np.isfinite(value) else f"{value:.3g} widths of the scattering"
