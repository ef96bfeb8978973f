"""Magnetic field maps on a uniform grid, stored for MagDown.

A map file is a NumPy ``.npz`` with three arrays: ``origin`` (3,) and ``spacing`` (3,) in mm, and ``values``
(nx, ny, nz, 3), the field (Bx, By, Bz) in T with By < 0 on the axis. MagUp is the same map with the opposite
sign. A file may also have ``interpolation`` and ``outside`` of :class:`FieldMap`, if the defaults do not fit.
"""

import os
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import get_args

import numpy as np
from numpy.typing import NDArray

import parkf._transport as _transport
from parkf.detector.dipole import DipoleSources
from parkf.io.errors import ParkfError
from parkf.io.files import replacing
from parkf.io.npz import load_arrays
from parkf.io.option_types import Interpolation, Outside

STRONGEST = 20.0  # T; no magnet around a tracker reaches it anywhere
ON_AXIS = (0.01, 5.0)  # limits of the largest |By| on the axis in T; LHCb's is 1.04, and 10.4 in kG
INTEGRAL = (1.0, 20.0)  # T m, limits of |∫By dz| on the axis; LHCb's is about 4
_MAGNET = (3000.0, 7000.0)  # mm; most of the bend is between these z
SMALLEST_SPACING, LARGEST_SPACING = 10.0, 1000.0  # mm, between nodes
FURTHEST = 1e5  # mm, of a map's last node
# Signs of a dipole's (Bx, By, Bz) at -x and at -y: By is even in x and y, Bx odd in both, Bz odd in y.
DIPOLE_X, DIPOLE_Y = (-1.0, 1.0, 1.0), (-1.0, 1.0, -1.0)


@dataclass(frozen=True)
class FieldMap:
    """A field on a uniform grid."""

    origin: NDArray[np.float64]  # (3,) position of the first node, mm
    spacing: NDArray[np.float64]  # (3,) distance between nodes, mm
    values: NDArray[np.float32]  # (nx, ny, nz, 3): (Bx, By, Bz) in T, MagDown
    # Trilinear between the nodes, or a cubic B-spline through them (twice continuously differentiable).
    interpolation: Interpolation = "linear"
    outside: Outside = "error"  # outside the grid a look-up is an error, or the field is "zero"

    def __post_init__(self) -> None:
        if problem := self._problem():
            raise ParkfError(f"field map: {problem}")

    def _problem(self) -> str | None:
        """Describe what is wrong with the map; None if nothing is."""
        origin, spacing, values = self.origin, self.spacing, self.values
        for name, kinds in (("interpolation", get_args(Interpolation)), ("outside", get_args(Outside))):
            if getattr(self, name) not in kinds:
                return f"{name} '{getattr(self, name)}', expected one of {', '.join(kinds)}"
        if origin.shape != (3,) or spacing.shape != (3,):
            return f"origin and spacing of shapes {origin.shape} and {spacing.shape}, expected (3,) and (3,)"
        if values.ndim != 4 or values.shape[3] != 3 or min(values.shape[:3]) < 2:
            return (
                f"values of shape {values.shape}, expected (nx, ny, nz, 3) with at least two nodes an axis;"
                " correct the map"
            )
        if not np.isfinite(origin).all() or not (np.isfinite(spacing) & (spacing > 0.0)).all():
            grid = f"origin {origin.tolist()}, spacing {spacing.tolist()}"
            return f"{grid}, expected finite and positive spacing; correct the map"
        if not np.isfinite(values).all():
            node = [int(i) for i in np.argwhere(~np.isfinite(values))[0]]
            return f"values{node} is not finite, expected a number; repeat the export of the map"
        if values.max() > STRONGEST or values.min() < -STRONGEST:
            node = [int(i) for i in np.unravel_index(np.abs(values).argmax(), values.shape)]
            found = f"values{node} is {values[tuple(node)]:.3g}, expected T, within {STRONGEST:g}"
            strong = int((np.abs(values).max(axis=3) > STRONGEST).sum())
            if strong < 0.01 * values[..., 0].size:
                place = ", ".join(f"{one:g}" for one in origin + spacing * node[:3])
                return f"{found}, in {strong} of the nodes, this one at ({place}) mm; correct the map"
            return f"{found}; divide a map in G by 10000, in mT by 1000, in kG by 10"
        return None

    @classmethod
    def load(cls, path: Path) -> "FieldMap":
        """Read a map file; a ParkfError when it is missing, no ``.npz``, or lacks a part of a map."""
        arrays = load_arrays(path, ("origin", "spacing", "values"), ("interpolation", "outside"))
        for name in ("origin", "spacing", "values"):
            kind = arrays[name].dtype
            if kind.kind not in "fiu":
                raise ParkfError(
                    f"{path}: field map: {name} of type {kind}, expected real numbers; convert it"
                )
        origin, spacing = (np.asarray(arrays[name], dtype=np.float64) for name in ("origin", "spacing"))
        values = np.ascontiguousarray(arrays["values"], dtype=np.float32)
        ways = str(arrays.get("interpolation", "linear")), str(arrays.get("outside", "error"))
        try:
            return cls(origin, spacing, values, *ways)  # type: ignore[arg-type]  # checks them
        except ParkfError as error:
            raise ParkfError(f"{path}: {error}") from error

    def save(self, path: Path) -> None:
        """Write a map file; the same map gives the same bytes."""
        with replacing(path, ".npz") as temporary, temporary.open("wb") as stream:
            np.savez(
                stream,
                origin=self.origin,
                spacing=self.spacing,
                values=self.values,
                interpolation=np.array(self.interpolation),
                outside=np.array(self.outside),
            )

    @property
    def upper(self) -> NDArray[np.float64]:
        """Position of the last node, (3,) mm."""
        return np.asarray(self.origin + self.spacing * (np.array(self.values.shape[:3]) - 1))

    @cached_property
    def _nodes(self) -> NDArray[np.float32]:
        if self.interpolation == "linear":
            return self.values
        # A trilinear map does not need SciPy, so commands that read one start faster.
        from scipy.ndimage import spline_filter1d

        coefficients = self.values.astype(np.float64)
        for axis in range(3):
            coefficients = spline_filter1d(coefficients, order=3, axis=axis, mode="mirror")
        return coefficients.astype(np.float32)

    def for_polarity(self, polarity: int) -> _transport.Field:
        """Handle for the compiled core, for MagDown (-1) or MagUp (+1); other numbers are a ParkfError."""
        if polarity not in (-1, 1):
            raise ParkfError(f"polarity {polarity!r}, expected +1 (MagUp) or -1 (MagDown)")
        return _transport.Field(
            nodes=self._nodes,
            origin=self.origin.tolist(),
            spacing=self.spacing.tolist(),
            scale=-float(polarity),
            cubic=self.interpolation == "cubic",
            zero_outside=self.outside == "zero",
        )

    def at(self, points: NDArray[np.float64], polarity: int = -1) -> NDArray[np.float64]:
        """Interpolated field (n, 3) in T at points (n, 3) in mm, for MagUp (+1) or MagDown (-1).

        A point that is not finite raises a ParkfError; so does a point outside the map if `outside` is error.
        """
        points = np.ascontiguousarray(points, dtype=np.float64)
        if points.ndim != 2 or points.shape[1] != 3:
            raise ParkfError(f"field look-up: points of shape {points.shape}, expected (n, 3)")
        field, inside = self.for_polarity(polarity).look_up(points, os.cpu_count() or 1)
        if not inside.all():
            first = int(np.flatnonzero(~inside)[0])
            raise ParkfError(
                f"field look-up: {np.count_nonzero(~inside)} of {len(points)} points lie outside the map, "
                f"{self.origin.tolist()} to {self.upper.tolist()} mm; "
                f"the first is number {first} at {points[first].tolist()} mm"
            )
        return np.asarray(field)


def evaluate_on_grid(
    sources: DipoleSources,
    *,
    spacing: float = 100.0,
    x_max: float = 4000.0,
    y_max: float = 3200.0,
    z_min: float = -500.0,
    z_max: float = 9600.0,
    interpolation: Interpolation = "linear",
    outside: Outside = "error",
) -> FieldMap:
    """Evaluate sources once on a grid over |x| < x_max, |y| < y_max, z_min < z < z_max (mm).

    Of mirrored sources one quarter is computed: By is even in x and y, Bx is odd in both, Bz is odd in y.
    """
    x, y = (np.arange(0.0, limit + 0.5 * spacing, spacing) for limit in (x_max, y_max))
    z = np.arange(z_min, z_max + 0.5 * spacing, spacing)
    if sources.mirrored:
        quarter = _evaluate(sources, x, y, z)
        half = np.concatenate([quarter[:0:-1] * DIPOLE_X, quarter])
        full = np.concatenate([half[:, :0:-1] * DIPOLE_Y, half], axis=1)
    else:
        full = _evaluate(sources, *(np.concatenate([-axis[:0:-1], axis]) for axis in (x, y)), z)
    origin, values = np.array([-x[-1], -y[-1], z[0]]), np.ascontiguousarray(full, dtype=np.float32)
    return FieldMap(origin, np.full(3, spacing), values, interpolation, outside)


def _evaluate(sources: DipoleSources, *axes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Field (nx, ny, nz, 3) in T at the nodes of three axes (mm)."""
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    return sources.field(points.reshape(-1, 3)).reshape(points.shape)


def make_field_map(
    source: Path, *, spacing: float, interpolation: Interpolation, outside: Outside
) -> FieldMap:
    """Evaluate the sources in a ``.json`` file on a grid, or read a ``.npz`` map.

    A ParkfError is raised as by :func:`read_source`, and if the spacing is out of range.
    """
    if not SMALLEST_SPACING <= spacing <= LARGEST_SPACING:
        raise ParkfError(
            f"field map: spacing {spacing!r} mm, expected {SMALLEST_SPACING:g} to {LARGEST_SPACING:g}: "
            "finer, a map takes more memory than there is; coarser, it does not resolve the magnet; use 100"
        )
    field = read_source(source)
    if isinstance(field, FieldMap):
        return replace(field, interpolation=interpolation, outside=outside)
    return evaluate_on_grid(field, spacing=spacing, interpolation=interpolation, outside=outside)


def read_source(source: Path) -> FieldMap | DipoleSources:
    """Read a user's field: a map in a ``.npz`` file, or the sources in a ``.json`` file.

    A ParkfError reports a file that is neither, a broken file, and a By on the axis that no spectrometer has
    in T for MagDown.
    """
    field: FieldMap | DipoleSources
    if source.suffix == ".npz":
        field = FieldMap.load(source)
        check_magnet(field, source)
        return field
    if source.suffix == ".json":
        field = DipoleSources.load(source)
        z = np.arange(0.0, 1e4, 100.0)
        on_axis = field.field(np.column_stack([0.0 * z, 0.0 * z, z]))[:, 1].astype(np.float32)
        _check_strength(source, z, on_axis)
    else:
        raise ParkfError(f"{source}: expected sources (.json) or a map (.npz); name such a file")
    return field


def load_field(path: Path) -> FieldMap:
    """Load a field map; a ParkfError reports one that is not LHCb's magnet in mm and T."""
    field = FieldMap.load(path)
    check_magnet(field, path)
    return field


def check_magnet(field: FieldMap, path: Path) -> None:
    """Check that a map is LHCb's magnet in mm and T: where it is, and its By along the beam.

    A ParkfError has what was found, and the unit that would explain it.
    """
    if not _has_magnet(field.origin, field.upper):
        box = ", ".join(
            f"{name} {low:g} to {high:g}"
            for name, low, high in zip("xyz", field.origin, field.upper, strict=True)
        )
        units = {"m": 1000.0, "cm": 10.0, "dm": 100.0, "µm": 0.001}
        unit = next((u for u, f in units.items() if _has_magnet(f * field.origin, f * field.upper)), None)
        remedy = (
            f"is it in {unit}? multiply origin and spacing by {units[unit]:g}" if unit else "correct the map"
        )
        expected = f"around the beam, z at least from {_MAGNET[0]:g} to {_MAGNET[1]:g} mm"
        raise ParkfError(f"{path}: the map covers {box} mm, expected the magnet: {expected}; {remedy}")
    i, j, _ = np.round(-field.origin / field.spacing).astype(int)
    z = field.origin[2] + field.spacing[2] * np.arange(field.values.shape[2])
    _check_strength(path, z, field.values[i, j, :, 1])


def _has_magnet(lower: NDArray[np.float64], upper: NDArray[np.float64]) -> bool:
    around = bool((lower[:2] <= 0.0).all() and (upper[:2] >= 0.0).all() and (upper - lower)[:2].min() > 500.0)
    return around and bool(lower[2] <= _MAGNET[0] and _MAGNET[1] <= upper[2] <= FURTHEST)


def _check_strength(path: Path, z: NDArray[np.float64], by: NDArray[np.float32]) -> None:
    """Check By on the axis (n,), T, at z (n,), mm: its sign, its peak and its integral."""
    mean, peak = float(by.mean()), float(np.abs(by).max())
    what, (low, high) = f"{path}: By on the axis", ON_AXIS
    if mean > 0.0:
        raise ParkfError(
            f"{what} is {mean:.3g} T on average, expected that of MagDown, By < 0; turn the sign"
        )
    if not low <= peak <= high:
        expected = f"expected {low:g} to {high:g}, LHCb's reaches 1.04; convert it to T"
        raise ParkfError(f"{what} reaches {peak:.3g} T, {expected}")
    integral = 1e-3 * abs(float(np.trapezoid(by, z)))
    low, high = INTEGRAL
    if not low <= integral <= high:
        expected = (
            f"expected {low:g} to {high:g} T m, LHCb's is about 4; convert the field to T, lengths to mm"
        )
        raise ParkfError(f"{what} has the integral {integral:.3g} T m, {expected}")
