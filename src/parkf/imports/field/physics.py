"""Physics of a field map: strength, shape, position and sign against a known dipole; Maxwell's equations."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from parkf.detector.alignment import Floats
from parkf.detector.dipole import DipoleSources
from parkf.detector.field import FieldMap
from parkf.imports.field.nodes import WrongNode, wrong_nodes
from parkf.io.checks import power_of_ten, times
from parkf.io.errors import ParkfError
from parkf.io.findings import Figure, Finding, Inspection, Verdict, judged

# The acceptance of the parameters: slopes from the origin, and z in mm.
_ACCEPTANCE = (0.3, 0.25)
_Z_RANGE = (0.0, 9403.0)
_BESIDE = 200.0  # mm around the acceptance, where tracks that scatter are
_CENTRE = np.array([[0.0, 0.0, 5000.0]])
_PROFILE = np.arange(0.0, 10_001.0, 50.0)
_AXIS = np.column_stack([0 * _PROFILE, 0 * _PROFILE, _PROFILE])
_SHIFTS = np.arange(-1500.0, 1501.0, 50.0)  # mm; shifts that are tried
# Bounds of verdicts: scale, fraction outside the map, and misfit.
_SCALE = (0.02, 0.3)
_OUTSIDE = (1 - 0.995, 1 - 0.9)
_UNEQUAL = (0.06, 0.3)


def inspect_field(field: FieldMap, dipole: DipoleSources, subject: str) -> Inspection:
    """Compare a map, as it is used for MagDown, with a dipole that agrees within a few per cent."""
    return Inspection.of(subject, _inspect(field, dipole))


def _inspect(field: FieldMap, dipole: DipoleSources) -> Iterator[Figure | Finding]:
    passed, _ = _in_acceptance(field, _BESIDE)
    nodes, values = wrong_nodes(field, passed)
    yield from _of_nodes(nodes, passed)
    # A few nodes are no reason to doubt unit, place or shape.
    given, field = field, replace(field, values=values)
    covered = float(_inside(field, _acceptance_points(20_000)).mean())
    centre = _look_up(field, _CENTRE)[0, 1]
    ours, theirs = _look_up(field, _AXIS)[:, 1], dipole.field(_AXIS)[:, 1]
    known = np.isfinite(ours)
    integral, expected = (
        float(1e-3 * np.trapezoid(np.where(known, by, 0.0), _PROFILE)) for by in (ours, theirs)
    )
    # p [GeV] = 0.299792458 B [T] rho [m].
    kick, expected_kick = (abs(size) * 0.299792458 for size in (integral, expected))
    at_centre = float(centre) if np.isfinite(centre) else None
    yield Figure("By(0, 0, 5000)", at_centre, "T", f"{dipole.field(_CENTRE)[0, 1]:.4g}")
    yield Figure("∫By dz on the axis, where the map is", integral, "T m", f"{expected:.4g}")
    yield Figure("kick", kick, "GeV", f"{expected_kick:.4g}")
    yield Figure("share of the acceptance", covered, "", "1")
    if 1.0 - covered > _OUTSIDE[1] and (lengths := _lengths(field, dipole)) is not None:
        yield lengths
        return
    yield from _of_coverage(given, 1.0 - covered)
    shape = _shape(field, dipole)
    if shape is None or not known.any():
        yield Finding("wrong", "the map is not where the magnet is", f"it covers {_box(field)}")
        return
    yield Figure("By over the dipole's", float(shape[0][1]), "", "1")
    yield Figure("what that leaves, over the dipole's", shape[1], "", "0")
    yield from _of_shape(field, dipole, *shape, ours)
    yield from _of_maxwell(field)


def _of_nodes(nodes: list[WrongNode], passed: NDArray[np.bool_]) -> list[Finding]:
    """Name the node that is most off; maps with one that tracks pass are wrong."""
    if not nodes:
        return []
    worst = next((one for one in nodes if passed[one.index]), nodes[0])
    place = ", ".join(f"{one:g}" for one in worst.place)
    found, expected = (", ".join(f"{one:.4g}" for one in of) for of in (worst.found, worst.expected))
    verdict: Verdict = "wrong" if passed[worst.index] else "doubtful"
    what = "a node does" if len(nodes) == 1 else f"{len(nodes)} nodes do"
    evidence = f"at ({place}) mm B = ({found}) T, by its neighbours ({expected}) T"
    return [Finding(verdict, f"{what} not belong to the field around it", evidence)]


def _inside(field: FieldMap, points: Floats) -> NDArray[np.bool_]:
    return np.asarray(((points >= field.origin) & (points <= field.upper)).all(axis=1))


def _look_up(field: FieldMap, points: Floats) -> Floats:
    """Field (n, 3) in T; NaN outside the map."""
    inside = _inside(field, points)
    found = np.full(points.shape, np.nan)
    if inside.any():
        found[inside] = field.at(points[inside])
    return found


def _acceptance_points(count: int) -> Floats:
    random = np.random.default_rng(17)
    z = random.uniform(*_Z_RANGE, count)
    return np.column_stack([random.uniform(-s, s, count) * z for s in _ACCEPTANCE] + [z])


def _in_acceptance(field: FieldMap, beside: float = 0.0) -> tuple[NDArray[np.bool_], Floats]:
    """Nodes in the acceptance or `beside` it in mm, (nx, ny, nz), and z of the nodes, (1, 1, nz)."""
    counts = field.values.shape[:3]
    nodes = (o + s * np.arange(n) for o, s, n in zip(field.origin, field.spacing, counts, strict=True))
    x, y, z = np.meshgrid(*nodes, indexing="ij", sparse=True)
    width, height = (slope * z + beside for slope in _ACCEPTANCE)
    within = (np.abs(x) <= width) & (np.abs(y) <= height)
    return within & (z >= -beside) & (z <= _Z_RANGE[1] + beside), z


def _shape(field: FieldMap, dipole: DipoleSources) -> tuple[Floats, float] | None:
    """Compare a map with the dipole at points inside both.

    Return the ratio (3,) of each component to the dipole's, by least squares. Return also the RMS difference
    from the dipole scaled with the ratio of By, divided by the RMS of this scaled dipole.
    """
    points = _acceptance_points(300)
    ours = _look_up(field, points)
    known = np.isfinite(ours).all(axis=1)
    if known.sum() < 10:
        return None
    ours, theirs = ours[known], dipole.field(points[known])
    scales = (ours * theirs).sum(0) / (theirs**2).sum(0)
    rest = ours - scales[1] * theirs
    misfit = np.sqrt((rest**2).sum() / ((scales[1] * theirs) ** 2).sum()) if scales[1] else np.inf
    return scales, float(misfit)


def _lengths(field: FieldMap, dipole: DipoleSources) -> Finding | None:
    """Test whether the map is the dipole's with lengths in another unit."""
    for ratio in (10.0, 1000.0, 0.1, 0.001):
        try:
            scaled = replace(field, origin=ratio * field.origin, spacing=ratio * field.spacing)
        except ParkfError:
            # Maps are never that large.
            continue
        if 1.0 - float(_inside(scaled, _acceptance_points(20_000)).mean()) > _OUTSIDE[1]:
            continue
        shape = _shape(scaled, dipole)
        if shape is not None and shape[1] < _UNEQUAL[0]:
            size = "small" if ratio > 1 else "large"
            what = f"lengths are {times(ratio)} too {size}; the unit is another one than said"
            evidence = f"the map covers {_box(field)}; {ratio:g} times that, it is the dipole's"
            return Finding("wrong", what, evidence)
    return None


def _of_coverage(field: FieldMap, outside: float) -> Iterator[Finding]:
    """Judge the fraction of the acceptance outside the map, and of nodes in the magnet without a field."""
    part = "half" if abs(outside - 0.5) < 0.03 else f"{100 * outside:.1f} %"
    slopes = f"tracks have |tx| < {_ACCEPTANCE[0]:g}, |ty| < {_ACCEPTANCE[1]:g}"
    evidence = f"the map covers {_box(field)}; {slopes}"
    yield from judged(outside, _OUTSIDE, f"{part} of the acceptance has no map", evidence)
    accepted, z = _in_acceptance(field)
    nodes = accepted & ((z > 3000.0) & (z < 7000.0))
    empty = float((field.values[nodes] == 0.0).all(axis=1).mean()) if nodes.any() else 0.0
    if empty > 0.01:
        evidence = f"{100 * empty:.1f} % of the nodes that tracks pass between 3 and 7 m are (0, 0, 0)"
        yield Finding("wrong", "a part of the map is empty", evidence)


def _of_shape(
    field: FieldMap, dipole: DipoleSources, scales: Floats, misfit: float, axis: Floats
) -> list[Finding]:
    """Judge strength, position and signs from the results of `_shape`, and from By along the beam, T."""
    scale = float(scales[1])
    bx, centre, _ = _look_up(field, _CENTRE)[0]
    if abs(bx) > 3 * abs(centre):
        evidence = f"Bx(0, 0, 5000) = {bx:.4g} T, By = {centre:.4g} T"
        return [Finding("wrong", "x and y are exchanged", evidence)]
    if scale == 0.0:
        return [Finding("wrong", "there is no field", f"By on the axis is {np.nanmax(np.abs(axis)):.4g} T")]
    moved = _reversed(axis, dipole) or [one for number in range(3) for one in _shift(field, dipole, number)]
    findings = list(moved)
    size = abs(scale)
    # The strength of a shifted map differs at the same points, but its ratio is no power of ten.
    if moved and not power_of_ten(size):
        size = 1.0
    if abs(size - 1) > _SCALE[0]:
        unit = "; the unit is another one than said" if power_of_ten(size) else ""
        verdict: Verdict = "wrong" if size > 1 + _SCALE[1] or size < 1 / (1 + _SCALE[1]) else "doubtful"
        what = f"the field is {times(size)} too {'strong' if size > 1 else 'weak'}{unit}"
        findings.append(Finding(verdict, what, f"By is {scale:.4g} times the dipole's"))
    if scale < 0:
        what = "the map is of the other polarity, or stands on its head"
        by = f"By(0, 0, 5000) = {centre:+.4g} T, MagDown has By < 0"
        findings.append(Finding("wrong", what, f"{by}; of a map of MagUp say --polarity up"))
    turned = [name for name, own in zip(("Bx", "Bz"), scales[[0, 2]], strict=True) if own / scale < -0.5]
    if turned and not moved:
        which = "y counts downwards" if len(turned) == 2 else f"{turned[0]} has the wrong sign"
        what = f"{which}: {' and '.join(turned)} {'are' if len(turned) == 2 else 'is'} turned against By"
        signs = ", ".join(f"{value:.3g}" for value in scales)
        findings.append(Finding("wrong", what, f"over the dipole's: {signs}"))
    if not findings:
        left = f"{100 * misfit:.0f} % of the field is left beside {scale:.3g} times the dipole's"
        findings = judged(misfit, _UNEQUAL, "the field has another shape than the dipole's", left)
    return findings


def _misfit(profile: Floats, model: Floats) -> float:
    """Fraction of a profile's sum of squares that remains after the fit of a scaled model."""
    scale = (model * profile).sum() / (model**2).sum()
    return float(((profile - scale * model) ** 2).sum() / (profile**2).sum())


def _shift(field: FieldMap, dipole: DipoleSources, axis: int) -> list[Finding]:
    """Search for a shift of the map along an axis, by its profile through the middle of the magnet."""
    # The dipole is valid within its aperture only, so profiles across the beam end there.
    first, last = ((-1000.0, 1000.0), (-800.0, 800.0), (1500.0, 8500.0))[axis]
    positions = np.arange(first, last + 1, 50.0)
    profile = _look_up(field, _along(axis, positions))[:, 1]
    known = np.isfinite(profile)
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
            misfits[number] = _misfit(profile[use], model[use])
    best, zero = int(np.argmin(misfits)), len(_SHIFTS) // 2
    if best in (0, len(_SHIFTS) - 1) or misfits[best] > 0.25 * misfits[zero] or misfits[zero] < 1e-4:
        return []
    # The minimum of a parabola through the best value and its neighbours.
    before, here, after = misfits[best - 1 : best + 2]
    bend = before - 2 * here + after
    shift = float(_SHIFTS[best])
    if 0 < bend < np.inf:
        shift = float(_SHIFTS[best] + 0.5 * (_SHIFTS[1] - _SHIFTS[0]) * (before - after) / bend)
    sizes = [f"{100 * np.sqrt(misfits[index]):.2g} %" for index in (zero, best)]
    evidence = f"By along {'xyz'[axis]} differs by {sizes[0]}, moved back by {sizes[1]}"
    what = f"the map is shifted by {shift:+.0f} mm in {'xyz'[axis]}"
    return judged(abs(shift), (25.0, 200.0), what, evidence)


def _along(axis: int, positions: Floats) -> Floats:
    """Points (n, 3) on a line through the middle of the magnet."""
    points = np.tile(_CENTRE, (len(positions), 1))
    points[:, axis] = positions
    return points


def _reversed(axis: Floats, dipole: DipoleSources) -> list[Finding]:
    """Test whether the profile along the beam fits the dipole better with reversed z."""
    by = dipole.field(_AXIS)[:, 1]
    known = np.isfinite(axis)
    if known.sum() < 0.8 * len(axis):
        return []

    def best(profile: Floats) -> float:
        # Shifts by whole steps of the profile, up to 2.5 m.
        return float(np.sqrt(min(_misfit(axis[known], np.roll(profile, n)[known]) for n in range(-50, 51))))

    forward, backward = best(by), best(by[::-1])
    if backward > 0.25 * forward:
        return []
    sizes = f"differs from the dipole's by {100 * forward:.2g} %, read backwards by {100 * backward:.2g} %"
    return [Finding("wrong", "z runs the other way", f"By along z {sizes}")]


def _of_maxwell(field: FieldMap) -> Iterator[Figure | Finding]:
    """Compare divergence and curl in the acceptance with 0, by central differences over one spacing.

    Differences over twice the spacing have four times the error. The error over one spacing is therefore a
    third of the deviation between the two (Richardson). Only nodes with two neighbours in the acceptance on
    each side are used. Nothing is measured if there are fewer than a hundred such nodes.
    """
    if min(field.values.shape[:3]) < 5:
        return
    inside, _ = _in_acceptance(field)
    usable = inside[2:-2, 2:-2, 2:-2].copy()
    for axis in range(3):
        for shift in (0, 4):
            usable &= inside[_shifted(axis, shift)]
    if usable.sum() < 100:
        return
    values = field.values.astype(np.float64)
    near, far = np.empty((2, int(usable.sum()), 3, 3))  # derivatives: node, component, axis
    for axis in range(3):
        metres = 1e-3 * field.spacing[axis]
        for difference, width in ((near, 1), (far, 2)):
            ahead, behind = values[_shifted(axis, 2 + width)], values[_shifted(axis, 2 - width)]
            difference[:, :, axis] = ((ahead - behind) / (2 * width * metres))[usable]
    gradient = float(np.quantile(np.abs(near).max(axis=(1, 2)), 0.68))
    for name in ("∇·B", "∇×B"):
        size, error = (_derivative(name, gradients) for gradients in (near, near - far))
        noise = error / 3
        yield Figure(f"|{name}|, 68 %", size, "T/m", f"{noise:.2g} by the grid")
        if gradient and size > 1.6 * noise:
            evidence = f"68 % of the nodes have up to {size:.2g} T/m, by the grid it would be {noise:.2g}"
            yield from judged(size / gradient, (0.03, 0.2), f"{name} is not 0", evidence)
    yield Figure("largest derivative, 68 %", gradient, "T/m")


def _shifted(axis: int, begin: int) -> tuple[slice, ...]:
    """Cut four nodes off every axis: two at each end, but `begin` at the lower end of one axis."""
    ends = [slice(2, -2)] * 3
    ends[axis] = slice(begin, begin - 4 or None)
    return tuple(ends)


def _derivative(name: str, gradients: Floats) -> float:
    """Return the size of divergence or curl that 68 % of the nodes (n, 3, 3) do not exceed, T/m."""
    turned = gradients - gradients.transpose(0, 2, 1)
    sizes = np.sqrt((turned**2).sum((1, 2)) / 2)
    if name == "∇·B":
        sizes = np.abs(np.trace(gradients, axis1=1, axis2=2))
    return float(np.quantile(sizes, 0.68))


def _box(field: FieldMap) -> str:
    pairs = zip("xyz", field.origin, field.upper, strict=True)
    return ", ".join(f"{name} {low:.0f} to {high:.0f} mm" for name, low, high in pairs)
