"""Physics of a step dataset: a thousand of its rows are carried again through the run's field."""

import numpy as np

from parkf.detector.geometry import Geometry
from parkf.imports.inspection import Figure, Finding, Inspection, judged, width68
from parkf.imports.steps.faults import length_faults, momentum_faults, plane_faults, unexplained, whole_faults
from parkf.imports.steps.rows import Carried, Carrier, Rows, ends_of
from parkf.imports.steps.terms import small_faults
from parkf.training.datasets.carry import COMPONENTS
from parkf.training.datasets.sets import SETS

# Sign of z1 - z0 of each set; 0 where it may be either.
_DIRECTIONS = {
    "V": (1, -1),
    "VUT": (1,),
    "UT": (1, 1, 1, -1, -1, -1),
    "UTTF": (1,),
    "TFT": (0,),
    "T": (1,) * 22,
    "BEAM": (-1, -1),
}
_FEWEST = 50
# Bounds of the 68 % width of the slopes' pulls, for truth and for the extrapolated state.
_TRUTH = (0.4, 2.5)
_SAME = 0.01
_CARRIED = (0.1, 1.0)
_LOST = (0.01, 0.2)
_HALF = 0.02


def inspect_step(rows: Rows, carrier: Carrier, geometry: Geometry | None = None) -> Inspection:
    """Inspect some rows of a step, carried through the run's field.

    Parameters
    ----------
    rows : dict of (n,) float64
        Columns of `parkf.io.tables.STEP_DATA`; without xe, ye, txe, tye where Runge-Kutta is still to be
        made.
    carrier : Carrier
    geometry : Geometry, optional
        The run's; without it the planes are not checked.
    """
    step = carrier.step
    subject, count = f"step {step}", len(rows["qop"]) if rows else 0
    if count < _FEWEST:
        few = Finding("wrong", "too few rows", f"{count} of them pass the selection")
        return Inspection(subject, (), (few,))
    if impossible := _of_numbers(rows, step):
        return Inspection(subject, (), tuple(impossible))
    sound, findings = momentum_faults(rows)
    sound, lengths = length_faults(sound, carrier)
    sound, others = whole_faults(sound, carrier)
    findings += lengths + others
    moved = carrier.carry(sound)
    if len(moved.states) < _FEWEST:
        return Inspection(subject, (), tuple(findings))
    figures = [
        Figure("rows looked at", float(count)),
        Figure("of them not carried to z1", float(moved.lost), "", "0"),
    ]
    for end in ends_of(rows):
        figures += _figures(moved, end)
    if not findings:
        findings += _of_directions(sound, step)
        findings += [] if geometry is None else plane_faults(sound, step, geometry)
        findings += _of_sample(sound, moved, count)
        for end in ends_of(rows):
            rest, small = small_faults(moved, end)
            findings += small + (unexplained(rest) or _of_widths(rest, end, step, moved))
    return Inspection(subject, tuple(figures), tuple(findings))


def _figures(moved: Carried, end: str) -> list[Figure]:
    figures = []
    h = moved.rows["polarity"] * moved.rows["charge"] / moved.rows["p_true"]
    for number, name in enumerate(COMPONENTS):
        far = moved.rows[name + end] - moved.states[:, number]
        unit = "mm" if number < 2 else "mrad"
        far = far if number < 2 else 1000.0 * far
        slope = float((far * h).sum() / (h**2).sum())
        figures += [
            Figure(f"{name}{end} - carried: median", float(np.median(far)), unit, "0"),
            Figure(f"{name}{end} - carried: 68 %", width68(far), unit),
            Figure(f"{name}{end} - carried: slope against pol q/p", 1e-3 * slope, f"{unit} GeV", "0"),
        ]
    bend, size = moved.states[:, 2] - moved.straight[:, 2], moved.sigma[:, 2]
    seen = np.abs(bend) > 3 * size
    if seen.sum() >= _FEWEST:
        own = moved.rows[f"tx{end}"] - moved.straight[:, 2]
        same = float((np.sign(own) == np.sign(bend))[seen].mean())
        figures.append(Figure(f"tx{end}: share that bends as the field says", same, "", "1"))
    return figures


def _of_numbers(rows: Rows, step: str) -> list[Finding]:
    """Check numbers that have no unit."""
    sets = rows["set"]
    known = (sets == np.rint(sets)) & (sets >= 0) & (sets < SETS[step])
    not_zero = {name: np.abs(rows[name]) >= 1e-12 for name in ("p_true", "qop")}
    checks = (
        ("polarity", np.isin(rows["polarity"], (-1, 1)), "polarity is neither +1 nor -1", ""),
        ("charge", np.isin(rows["charge"], (-1, 1)), "charge is neither +1 nor -1", ""),
        ("p_true", not_zero["p_true"] & (rows["p_true"] > 0), "p_true is 0 or below", ""),
        ("qop", not_zero["qop"], "qop is 0 or below", ""),
        ("set", known, "no such parameter set", f", step {step} has 0 to {SETS[step] - 1}"),
    )
    return [
        Finding("wrong", what, f"{rows[name][int(np.argmin(right))]:g} is there{more}")
        for name, right, what, more in checks
        if not right.all()
    ]


def _of_directions(rows: Rows, step: str) -> list[Finding]:
    findings = []
    sign = np.array(_DIRECTIONS[step])[rows["set"].astype(int)]
    against = float(((rows["z1"] - rows["z0"]) * sign < 0).mean())
    if against > 0.01:
        evidence = f"z1 lies on the wrong side of z0 for their set in {100 * against:.0f} % of the rows"
        what = "forward and backward sets, or origin and target, are exchanged"
        findings.append(Finding("wrong", what, evidence))
    if step == "T":
        other = float(((rows["y0"] < 0) != (rows["set"] % 2 == 1)).mean())
        if other > 0.01:
            evidence = f"{100 * other:.0f} % of the rows are in the set of the other half"
            what = "y has the wrong sign, or sets of y < 0 and y > 0 are exchanged"
            findings.append(Finding("wrong", what, evidence))
    return findings + _mixed(rows, step)


def _mixed(rows: Rows, step: str) -> list[Finding]:
    """Check that rows of one set begin at one plane."""
    for number in np.unique(rows["set"]) if step not in ("V", "BEAM", "VUT") else ():
        z = rows["z0"][rows["set"] == number]
        middle = float(np.median(z))
        far = float((np.abs(z - middle) > 30.0).mean())
        if far > 0.05:
            rows_far = f"{100 * far:.0f} % begin more than 30 mm from z = {middle:.0f} mm"
            return [Finding("wrong", "sets mix planes", f"of set {number:.0f}, {rows_far}")]
    return []


def _of_sample(rows: Rows, moved: Carried, count: int) -> list[Finding]:
    findings = []
    for name in ("x0", "y0", "charge"):
        below = float((rows[name] < 0).mean())
        fewer = min(below, 1 - below)
        if fewer < _HALF:
            what = f"half of the {'charges' if name == 'charge' else 'acceptance'} is missing"
            evidence = f"{100 * fewer:.1f} % of the rows have {name} {'<' if below < 0.5 else '>'} 0"
            findings.append(Finding("doubtful", what, evidence))
    lost = moved.lost / count
    return findings + judged(lost, _LOST, "rows leave the field map", f"{100 * lost:.1f} % of them")


def _of_widths(pulls: np.ndarray, end: str, step: str, moved: Carried) -> list[Finding]:
    width = width68(pulls[:, 2:].ravel())
    if end == "1":
        if step in ("TFT", "BEAM"):
            return []
        if width < _SAME:
            evidence = f"68 % of slopes are within {width:.2g} widths of the scattering"
            return [Finding("wrong", "truth has not scattered: its columns hold an extrapolation", evidence)]
        if _TRUTH[0] < width < _TRUTH[1]:
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
