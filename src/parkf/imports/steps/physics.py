"""Check of a step dataset: a thousand of its rows are carried again through the run's field."""

import numpy as np

from parkf.detector.field import FieldMap
from parkf.detector.geometry import Geometry
from parkf.imports.inspection import Figure, Finding, Inspection
from parkf.imports.robust import width68
from parkf.imports.steps.faults import momentum_faults, unexplained, whole_faults
from parkf.imports.steps.planes import length_faults, plane_faults
from parkf.imports.steps.rows import Carried, Rows, carry
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


def inspect_step(
    rows: Rows,
    step: str,
    field: FieldMap,
    subject: str,
    *,
    geometry: Geometry | None = None,
    threads: int | None = None,
) -> Inspection:
    """Look at some rows of a step.

    Parameters
    ----------
    rows : dict of (n,) float64
        Columns of `parkf.io.tables.STEP_DATA`; without xe, ye, txe, tye where these are to be made here.
    step : str
        A key of `parkf.training.datasets.sets.SETS`.
    field : FieldMap
        The run's.
    subject : str
        What to call the rows.
    geometry : Geometry, optional
        The run's, for the planes.
    threads : int, optional
        All cores by default.
    """
    count = len(rows["qop"]) if rows else 0
    if count < _FEWEST:
        return Inspection(
            subject, (), (Finding("wrong", "too few rows", f"{count} of them pass the selection"),)
        )
    findings = _of_numbers(rows, step)
    if any(finding.verdict == "wrong" for finding in findings):
        return Inspection(subject, (), tuple(findings))
    ends = ("1", "e") if "xe" in rows else ("1",)
    sound, found = momentum_faults(rows)
    sound, lengths = length_faults(sound, step, field, ends, threads)
    sound, others = whole_faults(sound, step, field, threads)
    found += lengths + others
    findings += found
    moved = carry(sound, step, field, threads)
    if len(moved.states) < _FEWEST:
        return Inspection(subject, (), tuple(findings))
    figures = [
        Figure("rows looked at", float(count)),
        Figure("of them not carried to z1", float(moved.lost), "", "0"),
    ]
    for end in ends:
        figures += _figures(moved, end)
    if not found:
        findings += _of_directions(sound, step)
        findings += [] if geometry is None else plane_faults(sound, step, geometry)
        findings += _of_sample(sound, moved, count)
        for end in ends:
            rest, small = small_faults(moved, end)
            left = unexplained(rest)
            findings += small + (left or _of_widths(rest, end, step, moved))
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
    """Look at numbers that have no unit."""
    findings = []
    if not np.isin(rows["polarity"], (-1, 1)).all():
        row = int(np.argmin(np.isin(rows["polarity"], (-1, 1))))
        findings.append(
            Finding("wrong", "polarity is neither +1 nor -1", f"{rows['polarity'][row]:g} is there")
        )
    if not np.isin(rows["charge"], (-1, 1)).all():
        row = int(np.argmin(np.isin(rows["charge"], (-1, 1))))
        findings.append(Finding("wrong", "charge is neither +1 nor -1", f"{rows['charge'][row]:g} is there"))
    for name in ("p_true", "qop"):
        if (np.abs(rows[name]) < 1e-12).any() or (name == "p_true" and (rows[name] <= 0).any()):
            least = rows[name][int(np.argmin(rows[name]))]
            findings.append(Finding("wrong", f"{name} is 0 or below", f"{least:g} is there"))
            break
    known = (rows["set"] == np.rint(rows["set"])) & (rows["set"] >= 0) & (rows["set"] < SETS[step])
    if not known.all():
        evidence = f"{rows['set'][int(np.argmin(known))]:g} is there, step {step} has 0 to {SETS[step] - 1}"
        findings.append(Finding("wrong", "no such parameter set", evidence))
    return findings


def _of_directions(rows: Rows, step: str) -> list[Finding]:
    findings = []
    sign = np.array(_DIRECTIONS[step])[rows["set"].astype(int)]
    against = float(((rows["z1"] - rows["z0"]) * sign < 0).mean())
    if against > 0.01:
        evidence = f"z1 lies on the wrong side of z0 for their set in {100 * against:.0f} % of the rows"
        findings.append(
            Finding("wrong", "forward and backward sets, or origin and target, are exchanged", evidence)
        )
    if step == "T":
        other = float(((rows["y0"] < 0) != (rows["set"] % 2 == 1)).mean())
        if other > 0.01:
            evidence = f"{100 * other:.0f} % of the rows are in the set of the other half"
            findings.append(
                Finding("wrong", "y has the wrong sign, or sets of y < 0 and y > 0 are exchanged", evidence)
            )
    mixed = _mixed(rows, step)
    if mixed is not None:
        findings.append(mixed)
    return findings


def _mixed(rows: Rows, step: str) -> Finding | None:
    """Say whether rows of one set begin at unlike planes."""
    if step in ("V", "BEAM", "VUT"):
        return None
    for number in np.unique(rows["set"]):
        z = rows["z0"][rows["set"] == number]
        middle = float(np.median(z))
        far = float((np.abs(z - middle) > 30.0).mean())
        if far > 0.05:
            evidence = (
                f"of set {number:.0f}, {100 * far:.0f} % begin more than 30 mm from z = {middle:.0f} mm"
            )
            return Finding("wrong", "sets mix planes", evidence)
    return None


def _of_sample(rows: Rows, moved: Carried, count: int) -> list[Finding]:
    findings = []
    for name in ("x0", "y0", "charge"):
        share = float((rows[name] < 0).mean())
        if min(share, 1 - share) < _HALF:
            sign = "<" if share < 0.5 else ">"
            what = f"half of the {'charges' if name == 'charge' else 'acceptance'} is missing"
            findings.append(
                Finding(
                    "doubtful", what, f"{100 * min(share, 1 - share):.1f} % of the rows have {name} {sign} 0"
                )
            )
    lost = moved.lost / count
    if lost > _LOST[0]:
        verdict = "wrong" if lost > _LOST[1] else "doubtful"
        findings.append(Finding(verdict, "rows leave the field map", f"{100 * lost:.1f} % of them"))  # type: ignore[arg-type]
    return findings


def _of_widths(pulls: np.ndarray, end: str, step: str, moved: Carried) -> list[Finding]:
    width = width68(pulls[:, 2:].ravel())
    if end == "1":
        if step in ("TFT", "BEAM"):
            return []
        if width < _SAME:
            evidence = f"68 % of slopes are within {width:.2g} widths of the scattering"
            return [Finding("wrong", "truth has not scattered: its columns hold an extrapolation", evidence)]
        if not _TRUTH[0] < width < _TRUTH[1]:
            evidence = f"68 % of slopes are within {width:.2g} widths of LHCb's scattering"
            more = "less" if width < 1 else "more"
            return [Finding("doubtful", f"truth scatters {more} than in LHCb's material", evidence)]
        return []
    if width < _CARRIED[0]:
        return []
    truth = moved.pulls("1")[:, 2:].ravel()
    alike = float(np.corrcoef(truth, pulls[:, 2:].ravel())[0, 1]) if truth.std() > 0 else 0.0
    evidence = (
        f"68 % of slopes are {width:.2g} widths of the scattering off, correlation with truth's {alike:.2f}"
    )
    if alike > 0.9 and step != "TFT":
        return [Finding("wrong", "Runge-Kutta's columns hold the truth", evidence)]
    verdict = "wrong" if width > _CARRIED[1] else "doubtful"
    return [Finding(verdict, "Runge-Kutta went another way than the run's field takes it", evidence)]  # type: ignore[arg-type]
