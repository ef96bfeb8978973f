"""Physics of a step dataset: a thousand of its rows are carried again through the run's field."""

from collections.abc import Iterator

import numpy as np

from parkf.detector.alignment import Floats
from parkf.detector.geometry import Geometry
from parkf.imports.steps.faults import TURNED, plane_faults, repaired, unexplained
from parkf.imports.steps.rows import Carried, Carrier, ends_of
from parkf.io.events import select
from parkf.io.findings import Figure, Finding, Inspection, Verdict, judged, width68
from parkf.training.datasets.carry import COMPONENTS, Rows
from parkf.training.datasets.checks import Door
from parkf.training.datasets.left_out import LeftOut

_FEWEST = 50
# Bounds of the 68 % width of the extrapolated slopes' pulls.
_CARRIED = (0.1, 1.0)


def inspect_step(rows: Rows, carrier: Carrier, geometry: Geometry | None = None) -> Inspection:
    """Inspect some rows of a step, carried through the run's field.

    Rows (n,) are columns of `parkf.io.tables.STEP_DATA`, without xe, ye, txe, tye if Runge-Kutta has still to
    carry them. They are compared with the planes of the run's geometry, if there is one.
    """
    return Inspection.of(f"step {carrier.step}", _inspect(rows, carrier, geometry))


def _inspect(rows: Rows, carrier: Carrier, geometry: Geometry | None) -> Iterator[Figure | Finding]:
    step = carrier.step
    rows = _judged(rows, step) if rows else rows
    count = len(rows["qop"]) if rows else 0
    if count < _FEWEST:
        yield Finding("wrong", "too few rows", f"{count} of them pass the selection")
        return
    sound, findings = repaired(rows, carrier)
    yield from findings
    moved = carrier.carry(sound)
    if len(moved.states) < _FEWEST:
        return
    yield Figure("rows looked at", float(count))
    yield Figure("of them not carried to z1", float(moved.lost), "", "0")
    for end in ends_of(rows):
        yield from _figures(moved, end)
    if findings:
        return
    if geometry is not None:
        yield from plane_faults(sound, step, geometry)
    yield from _of_sample(sound, moved, count)
    for end in ends_of(rows):
        rest, small = _small_faults(moved, end)
        yield from small
        yield from unexplained(rest) or _of_widths(rest, end, step, moved)


def _figures(moved: Carried, end: str) -> Iterator[Figure]:
    h = moved.rows["polarity"] * moved.rows["charge"] / moved.rows["p_true"]
    for number, name in enumerate(COMPONENTS):
        unit, scale = ("mm", 1.0) if number < 2 else ("mrad", 1000.0)
        far = scale * (moved.rows[name + end] - moved.states[:, number])
        slope = float((far * h).sum() / (h**2).sum())
        yield Figure(f"{name}{end} - carried: median", float(np.median(far)), unit, "0")
        yield Figure(f"{name}{end} - carried: 68 %", width68(far), unit)
        yield Figure(f"{name}{end} - carried: slope against pol q/p", 1e-3 * slope, f"{unit} GeV", "0")
    bend, size = moved.states[:, 2] - moved.straight[:, 2], moved.sigma[:, 2]
    seen = np.abs(bend) > 3 * size
    if seen.sum() >= _FEWEST:
        own = moved.rows[f"tx{end}"] - moved.straight[:, 2]
        same = float((np.sign(own) == np.sign(bend))[seen].mean())
        yield Figure(f"tx{end}: share that bends as the field says", same, "", "1")


def _judged(rows: Rows, step: str) -> Rows:
    """Rows that fulfil the rules; if most do not, all rows of numbers, as the whole file may have a fault."""
    sound = ~Door(step, LeftOut("", step)).broken(rows)
    if sound.mean() < 0.5:
        sound = np.logical_and.reduce([np.isfinite(values) for values in rows.values()])
    return select(rows, sound)


def _of_sample(rows: Rows, moved: Carried, count: int) -> Iterator[Finding]:
    for name in ("x0", "y0", "charge"):
        below = float((rows[name] < 0).mean())
        fewer = min(below, 1 - below)
        if fewer < 0.02:
            what = f"half of the {'charges' if name == 'charge' else 'acceptance'} is missing"
            evidence = f"{100 * fewer:.1f} % of the rows have {name} {'<' if below < 0.5 else '>'} 0"
            yield Finding("doubtful", what, evidence)
    lost = moved.lost / count
    yield from judged(lost, (0.01, 0.2), "rows leave the field map", f"{100 * lost:.1f} % of them")


def _of_widths(pulls: np.ndarray, end: str, step: str, moved: Carried) -> list[Finding]:
    width = width68(pulls[:, 2:].ravel())
    if end == "1":
        if step in ("TFT", "BEAM"):
            return []
        if width < 0.01:
            evidence = f"68 % of slopes are within {width:.2g} widths of the scattering"
            return [Finding("wrong", "truth has not scattered: its columns hold an extrapolation", evidence)]
        if 0.4 < width < 2.5:
            return []
        what = f"truth scatters {'less' if width < 1 else 'more'} than in LHCb's material"
        evidence = f"68 % of slopes are within {width:.2g} widths of LHCb's scattering"
        return [Finding("doubtful", what, evidence)]
    if width < _CARRIED[0]:
        return []
    truth = moved.pulls("1")[:, 2:].ravel()
    alike = float(np.corrcoef(truth, pulls[:, 2:].ravel())[0, 1]) if truth.std() > 0 else 0.0
    off = f"68 % of slopes are {width:.2g} widths of the scattering off"
    evidence = f"{off}, correlation with truth's {alike:.2f}"
    if alike > 0.9 and step != "TFT":
        return [Finding("wrong", "Runge-Kutta's columns hold the truth", evidence)]
    return judged(width, _CARRIED, "Runge-Kutta went another way than the run's field takes it", evidence)


def _terms(moved: Carried) -> list[tuple[str, str, Floats]]:
    """Name and unit of each small difference, and its derivatives (n, 4) in units of x, y, tx, ty."""
    count = len(moved.states)
    zero = np.zeros(count)
    bend = moved.states - moved.straight
    slopes = np.column_stack([moved.states[:, 2], moved.states[:, 3], zero, zero])
    shifts = [np.tile(row, (count, 1)) for row in np.eye(4)]
    return [
        ("field", "", bend),
        ("momentum", "MeV", bend / moved.rows["p_true"][:, None]),
        ("lean", "", slopes * moved.states[:, 1:2]),
        ("z", "mm", slopes),
        *zip(("x", "y", "tx", "ty"), ("mm", "mm", "mrad", "mrad"), shifts, strict=True),
    ]


def _small_faults(moved: Carried, end: str) -> tuple[Floats, list[Finding]]:
    """Fit the differences of `_terms` at an end; return findings, and pulls (n, 4) after their correction."""
    rest, findings = moved.pulls(end), []
    terms = _terms(moved)
    per = np.stack([derivatives / moved.sigma for _, _, derivatives in terms], axis=-1)
    values, errors = _coefficients(per.reshape(-1, len(terms)), rest.ravel())
    for number, (name, unit, _) in enumerate(terms):
        value, error = float(values[number]), float(errors[number])
        size = float(np.median(np.abs(value * per[..., number]).max(axis=1)))
        if abs(value) < 6.0 * error or size < 0.05:
            continue
        rest = rest - value * per[..., number]
        # Particles do lose up to 10 MeV within a step.
        if name == "momentum" and end == "1" and 0.0 < value < 10.0:
            continue
        scale = 1000.0 if unit == "mrad" else 1.0
        shift = f"{scale * value:+.3g}"
        measured = f"{shift} ± {scale * error:.1g} {unit}".strip()
        evidence = f"{measured}, a median of {size:.2g} widths of the scattering"
        stronger, lower = ("stronger", "lower") if value > 0 else ("weaker", "higher")
        what = {
            "field": f"the field behind it is {100 * abs(value):.2g} % {stronger} than the run's",
            "momentum": f"its momentum is {abs(value):.3g} MeV {lower} than p_true",
            "lean": f"z1 is the plane's, not the track's: dz/dy = {value:.3g}",
            "z": f"z1 is off by {-value:+.3g} mm",
        }.get(name, f"{name} is shifted by {shift} {unit}")
        verdict: Verdict = "wrong" if size > 1.0 else "doubtful"
        # A missing field, or one of the wrong sign, is wrong even if the bend here is small.
        if name == "field" and abs(value + 2.0) < 0.3:
            verdict, what = "wrong", TURNED
        elif name == "field" and abs(value + 1.0) < 0.1:
            verdict, what = "wrong", "it went straight, without a field"
        subject = "truth" if end == "1" else "Runge-Kutta"
        findings.append(Finding(verdict, f"{subject}: {what}", evidence))
    return rest, findings


def _coefficients(terms: Floats, residual: Floats) -> tuple[Floats, Floats]:
    """Least squares of residual (n,) = terms (n, k) · values (k,), both in units of the residual's error.

    Rows with residuals of more than four widths are left out, unless the width is below 0.001, where there
    are no tails to cut. The errors (k,) of terms that are zero are infinite.
    """
    size = np.sqrt((terms**2).mean(axis=0))
    used = np.flatnonzero(size > 0.0)
    values, errors = np.zeros(terms.shape[1]), np.full(terms.shape[1], np.inf)
    unit = terms[:, used] / size[used]
    keep = np.ones(len(residual), bool)
    for _ in range(6):
        normal = unit[keep].T @ unit[keep]
        inverse = np.linalg.pinv(normal, rcond=1e-10, hermitian=True)
        found = inverse @ (unit[keep].T @ residual[keep])
        rest = residual - unit @ found
        # For a Gaussian, σ is 1.4826 median deviations.
        spread = max(1.4826 * float(np.median(np.abs(rest))), 1e-3)
        values[used] = found / size[used]
        errors[used] = spread * np.sqrt(np.maximum(np.diag(inverse), 0.0)) / size[used]
        keep = np.abs(rest) <= 4.0 * spread
    return values, errors
