"""Physics of a field map: strength, shape, position and sign against a known dipole, Maxwell's equations."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from parkf.detector.dipole import DipoleSources
from parkf.detector.field import FieldMap
from parkf.imports.field.maxwell import Maxwell, maxwell
from parkf.imports.inspection import Figure, Finding, Inspection, Verdict, judged, power_of_ten, times
from parkf.io.errors import ParkfError

# p [GeV] = 0.299792458 B [T] rho [m].
GEV_PER_TESLA_METRE = 0.299792458
# The acceptance of the parameters: slopes from the origin, and z in mm.
ACCEPTANCE = (0.3, 0.25)
Z_RANGE = (0.0, 9403.0)
_CENTRE = np.array([[0.0, 0.0, 5000.0]])
_PROFILE = np.arange(0.0, 10_001.0, 50.0)
_AXIS = np.column_stack([0 * _PROFILE, 0 * _PROFILE, _PROFILE])
# mm; the dipole is valid within its aperture only, so profiles across the beam end here.
_ACROSS = (1000.0, 800.0)
# mm; shifts that are tried.
_SHIFTS = np.arange(-1500.0, 1501.0, 50.0)
_POINTS = 300
_SEED = 17
# Bounds of verdicts: scale, a shift in mm, fraction outside the map, misfit, and divergence over the
# gradient.
_SCALE = (0.02, 0.3)
_SHIFT = (25.0, 200.0)
_OUTSIDE = (1 - 0.995, 1 - 0.9)
_UNEQUAL = (0.06, 0.3)
_SOURCES = (0.03, 0.2)
_ABOVE_NOISE = 1.6


@dataclass(frozen=True)
class _Shape:
    """A map against the dipole, at points inside both.

    Attributes
    ----------
    scale : float
        By over the dipole's, by least squares.
    signs : (3,) float64
        The same for each component.
    misfit : float
        RMS of the difference from the scaled dipole, over the scaled dipole's.
    """

    scale: float
    signs: NDArray[np.float64]
    misfit: float


def inspect_field(field: FieldMap, dipole: DipoleSources, subject: str) -> Inspection:
    """Inspect a map as it is used for MagDown.

    Parameters
    ----------
    field : FieldMap
    dipole : DipoleSources
        Bends as the field should, within a few per cent.
    subject : str
        Name of the map.
    """
    covered = _coverage(field)
    centre = _look_up(field, _CENTRE)[0, 1]
    ours, theirs = _look_up(field, _AXIS)[:, 1], dipole.field(_AXIS)[:, 1]
    known = np.isfinite(ours)
    integral, expected = (
        float(1e-3 * np.trapezoid(np.where(known, by, 0.0), _PROFILE)) for by in (ours, theirs)
    )
    kick, expected_kick = (abs(size) * GEV_PER_TESLA_METRE for size in (integral, expected))
    at_centre = float(centre) if np.isfinite(centre) else None
    figures = [
        Figure("By(0, 0, 5000)", at_centre, "T", f"{dipole.field(_CENTRE)[0, 1]:.4g}"),
        Figure("∫By dz on the axis, where the map is", integral, "T m", f"{expected:.4g}"),
        Figure("kick", kick, "GeV", f"{expected_kick:.4g}"),
        Figure("share of the acceptance", covered, "", "1"),
    ]
    if 1.0 - covered > _OUTSIDE[1] and (lengths := _lengths(field, dipole)) is not None:
        return Inspection(subject, tuple(figures), (lengths,))
    findings = _of_coverage(field, 1.0 - covered)
    shape = _shape(field, dipole)
    if shape is None or not known.any():
        findings.append(Finding("wrong", "the map is not where the magnet is", f"it covers {_box(field)}"))
        return Inspection(subject, tuple(figures), tuple(findings))
    figures.append(Figure("By over the dipole's", shape.scale, "", "1"))
    figures.append(Figure("what that leaves, over the dipole's", shape.misfit, "", "0"))
    findings += _of_shape(field, dipole, shape, ours, centre)
    equations = maxwell(field, _in_acceptance(field))
    if equations is not None:
        by_grid = (f"{noise:.2g} by the grid" for noise in (equations.divergence_noise, equations.curl_noise))
        figures += [
            Figure("|∇·B|, 68 %", equations.divergence, "T/m", next(by_grid)),
            Figure("|∇×B|, 68 %", equations.curl, "T/m", next(by_grid)),
            Figure("largest derivative, 68 %", equations.gradient, "T/m"),
        ]
        findings += _of_maxwell(equations)
    return Inspection(subject, tuple(figures), tuple(findings))


def _inside(field: FieldMap, points: NDArray[np.float64]) -> NDArray[np.bool_]:
    return np.asarray(((points >= field.origin) & (points <= field.upper)).all(axis=1))


def _look_up(field: FieldMap, points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Field (n, 3) in T; NaN outside the map."""
    inside = _inside(field, points)
    found = np.full(points.shape, np.nan)
    if inside.any():
        found[inside] = field.at(points[inside])
    return found


def _acceptance_points(count: int) -> NDArray[np.float64]:
    random = np.random.default_rng(_SEED)
    z = random.uniform(*Z_RANGE, count)
    return np.column_stack([random.uniform(-s, s, count) * z for s in ACCEPTANCE] + [z])


def _coverage(field: FieldMap) -> float:
    """Fraction of the acceptance that the map covers."""
    return float(_inside(field, _acceptance_points(20_000)).mean())


def _in_acceptance(field: FieldMap) -> NDArray[np.bool_]:
    """Nodes in the acceptance, (nx, ny, nz)."""
    counts = field.values.shape[:3]
    nodes = (o + s * np.arange(n) for o, s, n in zip(field.origin, field.spacing, counts, strict=True))
    x, y, z = np.meshgrid(*nodes, indexing="ij", sparse=True)
    return (np.abs(x) <= ACCEPTANCE[0] * z) & (np.abs(y) <= ACCEPTANCE[1] * z) & (z <= Z_RANGE[1])


def _empty(field: FieldMap) -> float:
    """Fraction of the nodes in the acceptance between 3 and 7 m that have no field at all."""
    z = field.origin[2] + field.spacing[2] * np.arange(field.values.shape[2])
    nodes = _in_acceptance(field) & ((z > 3000.0) & (z < 7000.0))
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
    """Test whether the map is the dipole's with lengths in another unit."""
    for ratio in (10.0, 1000.0, 0.1, 0.001):
        try:
            scaled = replace(field, origin=ratio * field.origin, spacing=ratio * field.spacing)
        except ParkfError:
            # No map is that large.
            continue
        if 1.0 - _coverage(scaled) > _OUTSIDE[1]:
            continue
        shape = _shape(scaled, dipole)
        if shape is not None and shape.misfit < _UNEQUAL[0]:
            size = "small" if ratio > 1 else "large"
            what = f"lengths are {times(ratio)} too {size}; the unit is another one than said"
            evidence = f"the map covers {_box(field)}; {ratio:g} times that, it is the dipole's"
            return Finding("wrong", what, evidence)
    return None


def _of_coverage(field: FieldMap, outside: float) -> list[Finding]:
    part = "half" if abs(outside - 0.5) < 0.03 else f"{100 * outside:.1f} %"
    slopes = f"tracks have |tx| < {ACCEPTANCE[0]:g}, |ty| < {ACCEPTANCE[1]:g}"
    evidence = f"the map covers {_box(field)}; {slopes}"
    findings = judged(outside, _OUTSIDE, f"{part} of the acceptance has no map", evidence)
    empty = _empty(field)
    if empty > 0.01:
        evidence = f"{100 * empty:.1f} % of the nodes that tracks pass between 3 and 7 m are (0, 0, 0)"
        findings.append(Finding("wrong", "a part of the map is empty", evidence))
    return findings


def _of_shape(
    field: FieldMap, dipole: DipoleSources, shape: _Shape, axis: NDArray[np.float64], centre: float
) -> list[Finding]:
    """Judge strength, position and signs; `axis` is By along the beam, and `centre` By in the magnet, T."""
    bx = _look_up(field, _CENTRE)[0, 0]
    if abs(bx) > 3 * abs(centre):
        evidence = f"Bx(0, 0, 5000) = {bx:.4g} T, By = {centre:.4g} T"
        return [Finding("wrong", "x and y are exchanged", evidence)]
    if shape.scale == 0.0:
        return [Finding("wrong", "there is no field", f"By on the axis is {np.nanmax(np.abs(axis)):.4g} T")]
    moved = _reversed(axis, dipole) or [one for number in range(3) for one in _shift(field, dipole, number)]
    findings = list(moved)
    size = abs(shape.scale)
    # The strength of a shifted map differs at the same points, but not by powers of ten.
    if moved and not power_of_ten(size):
        size = 1.0
    more = "strong" if size > 1 else "weak"
    unit = "; the unit is another one than said" if power_of_ten(size) else ""
    if abs(size - 1) > _SCALE[0]:
        verdict: Verdict = "wrong" if size > 1 + _SCALE[1] or size < 1 / (1 + _SCALE[1]) else "doubtful"
        what = f"the field is {times(size)} too {more}{unit}"
        findings.append(Finding(verdict, what, f"By is {shape.scale:.4g} times the dipole's"))
    if shape.scale < 0:
        what = "the map is of the other polarity, or stands on its head"
        by = f"By(0, 0, 5000) = {centre:+.4g} T, MagDown has By < 0"
        findings.append(Finding("wrong", what, f"{by}; of a map of MagUp say --polarity up"))
    turned = [
        name for name, own in zip(("Bx", "Bz"), shape.signs[[0, 2]], strict=True) if own / shape.scale < -0.5
    ]
    if turned and not moved:
        which = "y counts downwards" if len(turned) == 2 else f"{turned[0]} has the wrong sign"
        what = f"{which}: {' and '.join(turned)} {'are' if len(turned) == 2 else 'is'} turned against By"
        signs = ", ".join(f"{value:.3g}" for value in shape.signs)
        findings.append(Finding("wrong", what, f"over the dipole's: {signs}"))
    if not findings:
        left = f"{100 * shape.misfit:.0f} % of the field is left beside {shape.scale:.3g} times the dipole's"
        findings = judged(shape.misfit, _UNEQUAL, "the field has another shape than the dipole's", left)
    return findings


def _misfit(profile: NDArray[np.float64], model: NDArray[np.float64]) -> float:
    """Fraction of a profile's square that the model, scaled by least squares, leaves over."""
    scale = (model * profile).sum() / (model**2).sum()
    return float(((profile - scale * model) ** 2).sum() / (profile**2).sum())


def _shift(field: FieldMap, dipole: DipoleSources, axis: int) -> list[Finding]:
    """Search for the map elsewhere along an axis, by its profile through the middle of the magnet."""
    if axis == 2:
        positions = np.arange(1500.0, 8501.0, 50.0)
    else:
        positions = np.arange(-_ACROSS[axis], _ACROSS[axis] + 1, 50.0)
    here = _look_up(field, _along(axis, positions))[:, 1]
    known = np.isfinite(here)
    if known.sum() < 10:
        return []
    wide = np.arange(positions[0] + _SHIFTS[0], positions[-1] + _SHIFTS[-1] + 1, 50.0)
    by = dipole.field(_along(axis, wide))[:, 1]
    # Beyond its aperture the dipole's field is only continued, so shifts must stay within it.
    z = _CENTRE[0, 2]
    limit = (0.9 * (300 + 0.385 * z), 0.9 * (150 + 0.295 * z), np.inf)[axis]
    misfits = np.full(len(_SHIFTS), np.inf)
    for number, shift in enumerate(_SHIFTS):
        there = positions - shift
        model = np.interp(there, wide, by)
        use = known & (np.abs(there) < limit)
        if use.sum() >= 0.5 * known.sum() and (model[use] ** 2).sum():
            misfits[number] = _misfit(here[use], model[use])
    best, zero = int(np.argmin(misfits)), len(_SHIFTS) // 2
    shift = _parabola(_SHIFTS, misfits, best)
    if best in (0, len(_SHIFTS) - 1) or misfits[best] > 0.25 * misfits[zero] or misfits[zero] < 1e-4:
        return []
    sizes = [f"{100 * np.sqrt(misfits[index]):.2g} %" for index in (zero, best)]
    evidence = f"By along {'xyz'[axis]} differs by {sizes[0]}, moved back by {sizes[1]}"
    return judged(abs(shift), _SHIFT, f"the map is shifted by {shift:+.0f} mm in {'xyz'[axis]}", evidence)


def _along(axis: int, positions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Points (n, 3) on a line through the middle of the magnet."""
    points = np.tile(_CENTRE, (len(positions), 1))
    points[:, axis] = positions
    return points


def _parabola(positions: NDArray[np.float64], values: NDArray[np.float64], best: int) -> float:
    """Position of the minimum of a parabola through the best value and its neighbours."""
    if 0 < best < len(positions) - 1 and np.isfinite(values[best - 1 : best + 2]).all():
        before, here, after = values[best - 1 : best + 2]
        bend = before - 2 * here + after
        if bend > 0:
            return float(positions[best] + 0.5 * (positions[1] - positions[0]) * (before - after) / bend)
    return float(positions[best])


def _reversed(axis: NDArray[np.float64], dipole: DipoleSources) -> list[Finding]:
    """Test whether the profile along the beam runs the other way."""
    by = dipole.field(_AXIS)[:, 1]
    known = np.isfinite(axis)
    if known.sum() < 0.8 * len(axis):
        return []

    def best(profile: NDArray[np.float64]) -> float:
        # Shifts by whole steps of the profile, up to 2.5 m.
        return float(np.sqrt(min(_misfit(axis[known], np.roll(profile, n)[known]) for n in range(-50, 51))))

    forward, backward = best(by), best(by[::-1])
    if backward > 0.25 * forward:
        return []
    sizes = f"differs from the dipole's by {100 * forward:.2g} %, read backwards by {100 * backward:.2g} %"
    return [Finding("wrong", "z runs the other way", f"By along z {sizes}")]


def _of_maxwell(equations: Maxwell) -> list[Finding]:
    findings = []
    for name, size, noise in (
        ("∇·B", equations.divergence, equations.divergence_noise),
        ("∇×B", equations.curl, equations.curl_noise),
    ):
        if equations.gradient and size > _ABOVE_NOISE * noise:
            evidence = f"68 % of the nodes have up to {size:.2g} T/m, by the grid it would be {noise:.2g}"
            findings += judged(size / equations.gradient, _SOURCES, f"{name} is not 0", evidence)
    return findings


def _box(field: FieldMap) -> str:
    pairs = zip("xyz", field.origin, field.upper, strict=True)
    return ", ".join(f"{name} {low:.0f} to {high:.0f} mm" for name, low, high in pairs)
