"""What a field map is: strength, shape, place and sign against a known dipole, and Maxwell's equations."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from parkf.detector.dipole import DipoleSources
from parkf.detector.field import FieldMap
from parkf.imports.bending import GEV_PER_TESLA_METRE, power_of_ten, times
from parkf.imports.field.maxwell import Maxwell, maxwell
from parkf.imports.inspection import Figure, Finding, Inspection
from parkf.io.errors import ParkfError

# The acceptance of the parameters: slopes from the origin, and z in mm.
ACCEPTANCE = (0.3, 0.25)
Z_RANGE = (0.0, 9403.0)
_CENTRE = (0.0, 0.0, 5000.0)
_PROFILE = np.arange(0.0, 10_001.0, 50.0)
# Across the beam the dipole is meant within its aperture alone; shifts are looked for this far, in mm.
_ACROSS = (1000.0, 800.0)
_SHIFTS = np.arange(-1500.0, 1501.0, 50.0)
_POINTS = 300
_SEED = 17
# Bounds of verdicts: scale, a shift in mm, share of the acceptance, divergence over the largest gradient.
_SCALE = (0.02, 0.3)
_SHIFT = (25.0, 200.0)
_COVERED = (0.995, 0.9)
_UNEQUAL = (0.06, 0.3)
_SOURCES = (0.03, 0.2)
_ABOVE_NOISE = 1.6


@dataclass(frozen=True)
class _Shape:
    """A map beside the dipole, at points that both know.

    Attributes
    ----------
    scale : float
        Of By, least squares.
    signs : (3,) float64
        The same for each component.
    misfit : float
        RMS of what the scale leaves over, over the dipole's.
    """

    scale: float
    signs: NDArray[np.float64]
    misfit: float


def inspect_field(field: FieldMap, dipole: DipoleSources, subject: str) -> Inspection:
    """Look at a map as it is used for MagDown.

    Parameters
    ----------
    field : FieldMap
    dipole : DipoleSources
        That bends as the field should, within a few per cent.
    subject : str
        What to call the map.
    """
    covered = _coverage(field)
    centre = _look_up(field, np.array([_CENTRE]))[0, 1]
    axis = np.column_stack([0 * _PROFILE, 0 * _PROFILE, _PROFILE])
    ours, theirs = _look_up(field, axis), dipole.field(axis)
    known = np.isfinite(ours[:, 1])
    integral, expected = (_integral(np.where(known, by, 0.0)) for by in (ours[:, 1], theirs[:, 1]))
    share_outside, empty = 1.0 - covered, _empty(field)
    shape = _shape(field, dipole)
    figures = [
        Figure("By(0, 0, 5000)", _number(centre), "T", f"{dipole.field(np.array([_CENTRE]))[0, 1]:.4g}"),
        Figure("∫By dz on the axis, where the map is", integral, "T m", f"{expected:.4g}"),
        Figure(
            "kick", abs(integral) * GEV_PER_TESLA_METRE, "GeV", f"{abs(expected) * GEV_PER_TESLA_METRE:.4g}"
        ),
        Figure("share of the acceptance", covered, "", "1"),
    ]
    findings = _of_coverage(field, share_outside, empty)
    lengths = _lengths(field, dipole) if covered < _COVERED[1] else None
    if lengths is not None:
        return Inspection(subject, tuple(figures), (lengths,))
    if shape is None or not known.any():
        findings.append(Finding("wrong", "the map is not where the magnet is", f"it covers {_box(field)}"))
        return Inspection(subject, tuple(figures), tuple(findings))
    figures.append(Figure("By over the dipole's", shape.scale, "", "1"))
    figures.append(Figure("what that leaves, over the dipole's", shape.misfit, "", "0"))
    found = _of_shape(field, dipole, shape, ours[:, 1], centre)
    equations = maxwell(field, _inside(field))
    if equations is not None:
        figures += [
            Figure(
                "|∇·B|, 68 %", equations.divergence, "T/m", f"{equations.divergence_noise:.2g} by the grid"
            ),
            Figure("|∇×B|, 68 %", equations.curl, "T/m", f"{equations.curl_noise:.2g} by the grid"),
            Figure("largest derivative, 68 %", equations.gradient, "T/m"),
        ]
        found += _of_maxwell(equations)
    return Inspection(subject, tuple(figures), (*findings, *found))


def _look_up(field: FieldMap, points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Field (n, 3) in T; NaN outside the map."""
    inside = ((points >= field.origin) & (points <= field.upper)).all(axis=1)
    found = np.full(points.shape, np.nan)
    if inside.any():
        found[inside] = field.at(points[inside])
    return found


def _integral(by: NDArray[np.float64]) -> float:
    """∫By dz in T m along the profile."""
    return float(1e-3 * np.trapezoid(by, _PROFILE))


def _acceptance_points(count: int) -> NDArray[np.float64]:
    random = np.random.default_rng(_SEED)
    z = random.uniform(*Z_RANGE, count)
    return np.column_stack([random.uniform(-s, s, count) * z for s in ACCEPTANCE] + [z])


def _coverage(field: FieldMap) -> float:
    points = _acceptance_points(20_000)
    return float(((points >= field.origin) & (points <= field.upper)).all(axis=1).mean())


def _inside(field: FieldMap) -> NDArray[np.bool_]:
    """Nodes in the acceptance, (nx, ny, nz)."""
    x, y, z = np.meshgrid(
        *(
            o + s * np.arange(n)
            for o, s, n in zip(field.origin, field.spacing, field.values.shape[:3], strict=True)
        ),
        indexing="ij",
        sparse=True,
    )
    return (np.abs(x) <= ACCEPTANCE[0] * z) & (np.abs(y) <= ACCEPTANCE[1] * z) & (z <= Z_RANGE[1])


def _empty(field: FieldMap) -> float:
    """Share of the nodes in the acceptance that have no field at all, between 3 and 7 m."""
    z = field.origin[2] + field.spacing[2] * np.arange(field.values.shape[2])
    nodes = _inside(field) & ((z > 3000.0) & (z < 7000.0))
    return float((field.values[nodes] == 0.0).all(axis=1).mean()) if nodes.any() else 0.0


def _shape(field: FieldMap, dipole: DipoleSources) -> _Shape | None:
    points = _acceptance_points(_POINTS)
    ours = _look_up(field, points)
    known = np.isfinite(ours).all(axis=1)
    if known.sum() < 10:
        return None
    ours, theirs = ours[known], dipole.field(points[known])
    signs = (ours * theirs).sum(0) / (theirs**2).sum(0)
    rest = ours - signs[1] * theirs
    misfit = float(np.sqrt((rest**2).sum() / ((signs[1] * theirs) ** 2).sum())) if signs[1] else float("inf")
    return _Shape(float(signs[1]), signs, misfit)


def _lengths(field: FieldMap, dipole: DipoleSources) -> Finding | None:
    """Say whether the map is the dipole's with lengths in another unit."""
    for ratio in (10.0, 1000.0, 0.1, 0.001):
        try:
            scaled = replace(field, origin=ratio * field.origin, spacing=ratio * field.spacing)
        except ParkfError:
            # No map is that large.
            continue
        if _coverage(scaled) < _COVERED[1]:
            continue
        shape = _shape(scaled, dipole)
        if shape is not None and shape.misfit < _UNEQUAL[0]:
            size = "small" if ratio > 1 else "large"
            what = f"lengths are {times(ratio)} too {size}; the unit is another one than said"
            evidence = f"the map covers {_box(field)}; {ratio:g} times that, it is the dipole's"
            return Finding("wrong", what, evidence)
    return None


def _of_coverage(field: FieldMap, outside: float, empty: float) -> list[Finding]:
    findings = []
    if outside > 1 - _COVERED[0]:
        verdict = "wrong" if outside > 1 - _COVERED[1] else "doubtful"
        part = (
            "half of the acceptance"
            if abs(outside - 0.5) < 0.03
            else f"{100 * outside:.1f} % of the acceptance"
        )
        evidence = (
            f"the map covers {_box(field)}; tracks have |tx| < {ACCEPTANCE[0]:g}, |ty| < {ACCEPTANCE[1]:g}"
        )
        findings.append(Finding(verdict, f"{part} has no map", evidence))  # type: ignore[arg-type]
    if empty > 0.01:
        evidence = f"{100 * empty:.1f} % of the nodes that tracks pass between 3 and 7 m are (0, 0, 0)"
        findings.append(Finding("wrong", "a part of the map is empty", evidence))
    return findings


def _of_shape(
    field: FieldMap, dipole: DipoleSources, shape: _Shape, axis: NDArray[np.float64], centre: float
) -> list[Finding]:
    bx = _look_up(field, np.array([_CENTRE]))[0, 0]
    if abs(bx) > 3 * abs(centre):
        return [
            Finding("wrong", "x and y are exchanged", f"Bx(0, 0, 5000) = {bx:.4g} T, By = {centre:.4g} T")
        ]
    if shape.scale == 0.0:
        return [Finding("wrong", "there is no field", f"By on the axis is {np.nanmax(np.abs(axis)):.4g} T")]
    findings = []
    moved = [found for found in (_shift(field, dipole, number) for number in range(3)) if found is not None]
    reverse = _reversed(axis, dipole)
    if reverse is not None:
        moved = [reverse]
    findings += moved
    size = abs(shape.scale)
    # The strength of a shifted map differs at the same points, but not by powers of ten.
    if moved and not power_of_ten(size):
        size = 1.0
    evidence = f"By is {shape.scale:.4g} times the dipole's"
    if abs(size - 1) > _SCALE[0]:
        verdict = "wrong" if size > 1 + _SCALE[1] or size < 1 / (1 + _SCALE[1]) else "doubtful"
        more = "strong" if size > 1 else "weak"
        unit = "; the unit is another one than said" if power_of_ten(size) else ""
        findings.append(Finding(verdict, f"the field is {times(size)} too {more}{unit}", evidence))  # type: ignore[arg-type]
    if shape.scale < 0:
        findings.append(
            Finding(
                "wrong",
                "the map is of the other polarity, or stands on its head",
                f"By(0, 0, 5000) = {centre:+.4g} T, MagDown has By < 0; of a map of MagUp say --polarity up",
            )
        )
    turned = [
        name for name, own in zip(("Bx", "Bz"), shape.signs[[0, 2]], strict=True) if own / shape.scale < -0.5
    ]
    if turned and not moved:
        which = "y counts downwards" if len(turned) == 2 else f"{turned[0]} has the wrong sign"
        evidence = f"{' and '.join(turned)} {'are' if len(turned) == 2 else 'is'} turned against By"
        findings.append(Finding("wrong", f"{which}: {evidence}", f"over the dipole's: {_three(shape.signs)}"))
    if not findings and shape.misfit > _UNEQUAL[0]:
        verdict = "wrong" if shape.misfit > _UNEQUAL[1] else "doubtful"
        evidence = (
            f"{100 * shape.misfit:.0f} % of the field is left beside {shape.scale:.3g} times the dipole's"
        )
        findings.append(Finding(verdict, "the field has another shape than the dipole's", evidence))  # type: ignore[arg-type]
    return findings


def _axis_points() -> NDArray[np.float64]:
    return np.column_stack([0 * _PROFILE, 0 * _PROFILE, _PROFILE])


def _shift(field: FieldMap, dipole: DipoleSources, axis: int) -> Finding | None:
    """Look for the map elsewhere along an axis, by its profile through the middle of the magnet."""
    if axis == 2:
        places = np.arange(1500.0, 8501.0, 50.0)
    else:
        places = np.arange(-_ACROSS[axis], _ACROSS[axis] + 1, 50.0)
    points = np.tile(np.array(_CENTRE), (len(places), 1))
    points[:, axis] = places
    here = _look_up(field, points)[:, 1]
    known = np.isfinite(here)
    if known.sum() < 10:
        return None
    wide = np.arange(places[0] + _SHIFTS[0], places[-1] + _SHIFTS[-1] + 1, 50.0)
    points = np.tile(np.array(_CENTRE), (len(wide), 1))
    points[:, axis] = wide
    by = dipole.field(points)[:, 1]
    # Beyond its aperture the dipole's field is only continued, so shifts must stay within it.
    limit = (0.9 * (300 + 0.385 * _CENTRE[2]), 0.9 * (150 + 0.295 * _CENTRE[2]), np.inf)[axis]
    misfits = []
    for shift in _SHIFTS:
        there = places - shift
        model = np.interp(there, wide, by)
        use = known & (np.abs(there) < limit)
        if use.sum() < 0.5 * known.sum() or not (model[use] ** 2).sum():
            misfits.append(np.inf)
            continue
        scale = (model[use] * here[use]).sum() / (model[use] ** 2).sum()
        misfits.append(float(((here[use] - scale * model[use]) ** 2).sum() / (here[use] ** 2).sum()))
    best, zero = int(np.argmin(misfits)), len(_SHIFTS) // 2
    shift = _parabola(_SHIFTS, np.array(misfits), best)
    if (
        best in (0, len(_SHIFTS) - 1)
        or abs(shift) < _SHIFT[0]
        or misfits[best] > 0.25 * misfits[zero]
        or misfits[zero] < 1e-4
    ):
        return None
    verdict = "wrong" if abs(shift) > _SHIFT[1] else "doubtful"
    return Finding(
        verdict,  # type: ignore[arg-type]
        f"the map is shifted by {shift:+.0f} mm in {'xyz'[axis]}",
        f"By along {'xyz'[axis]} differs by {100 * np.sqrt(misfits[zero]):.2g} %, moved back by "
        f"{100 * np.sqrt(misfits[best]):.2g} %",
    )


def _parabola(places: NDArray[np.float64], values: NDArray[np.float64], best: int) -> float:
    """Give the minimum of a parabola through the best place and its neighbours."""
    if 0 < best < len(places) - 1 and np.isfinite(values[best - 1 : best + 2]).all():
        before, here, after = values[best - 1 : best + 2]
        bend = before - 2 * here + after
        if bend > 0:
            return float(places[best] + 0.5 * (places[1] - places[0]) * (before - after) / bend)
    return float(places[best])


def _reversed(axis: NDArray[np.float64], dipole: DipoleSources) -> Finding | None:
    """Say whether the profile along the beam runs the other way."""
    by = dipole.field(_axis_points())[:, 1]
    known = np.isfinite(axis)
    if known.sum() < 0.8 * len(axis):
        return None

    def best(profile: NDArray[np.float64]) -> float:
        # Shifts by whole steps of the profile, up to 2.5 m.
        misfits = []
        for shift in range(-50, 51):
            model = np.roll(profile, shift)
            scale = (model[known] * axis[known]).sum() / (model[known] ** 2).sum()
            misfits.append(((axis[known] - scale * model[known]) ** 2).sum() / (axis[known] ** 2).sum())
        return float(np.sqrt(min(misfits)))

    forward, backward = best(by), best(by[::-1])
    if backward > 0.25 * forward:
        return None
    return Finding(
        "wrong",
        "z runs the other way",
        f"By along z differs from the dipole's by {100 * forward:.2g} %, read backwards by "
        f"{100 * backward:.2g} %",
    )


def _of_maxwell(equations: Maxwell) -> list[Finding]:
    findings = []
    for name, size, noise in (
        ("∇·B", equations.divergence, equations.divergence_noise),
        ("∇×B", equations.curl, equations.curl_noise),
    ):
        share = size / equations.gradient if equations.gradient else 0.0
        if share > _SOURCES[0] and size > _ABOVE_NOISE * noise:
            verdict = "wrong" if share > _SOURCES[1] else "doubtful"
            evidence = f"68 % of the nodes have up to {size:.2g} T/m, by the grid it would be {noise:.2g}"
            findings.append(Finding(verdict, f"{name} is not 0", evidence))  # type: ignore[arg-type]
    return findings


def _box(field: FieldMap) -> str:
    pairs = zip("xyz", field.origin, field.upper, strict=True)
    return ", ".join(f"{name} {low:.0f} to {high:.0f} mm" for name, low, high in pairs)


def _three(values: NDArray[np.float64]) -> str:
    return ", ".join(f"{value:.3g}" for value in values)


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
