"""A geometry and an alignment that put every sensor, strip and fibre where Allen's dumps have them.

The geometry file has the positions of modules, layers and their pieces. The alignment has two properties that
the geometry file cannot hold: differences between modules of one half, and rotations of pieces. Deviations
that neither file can hold are measured.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from parkf.detector.alignment import SECTIONS, Alignment, Displacement, Floats, Motion
from parkf.detector.description import Description
from parkf.detector.frame import Pieces
from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, VELO_PLANES, Geometry, geometry_of
from parkf.imports.geometry.dumps import Elements, Sensors
from parkf.io.planes import SENSORS_PER_MODULE

Moves = dict[int, Displacement]  # by the number of a module, a layer or a piece

_LEAST_TILT = 3e-7  # rad; a micrometre at the edge of the SciFi
_DIGITS = 6  # digits of mm and degrees in files
# Detectors with strips: their planes, and the sections of an alignment for layers and for pieces.
_STRIPS = (
    ("UT", UT_PLANES, "ut_layers", "ut_sectors"),
    ("SciFi", SCIFI_PLANES, "scifi_layers", "scifi_mats"),
)


@dataclass(frozen=True)
class Placed:
    """Contents of the geometry file and of the alignment file, and the geometry of both."""

    description: dict[str, Any]
    alignment: dict[str, Any]
    geometry: Geometry
    elements: Mapping[str, Elements]  # of the dumps, by detector
    beam_z: float  # z of the luminous region, mm, which a geometry assumes to be 0


def place(
    base: Description, elements: Mapping[str, Elements], beam: tuple[Floats, Floats | None] | None, tag: str
) -> Placed:
    """Put the content of dumps into a geometry of that tag; everything else stays as in `base`.

    Material, errors, efficiencies, noise and holes are always those of `base`. Detectors are "VELO", "UT" and
    "SciFi". Position and covariance of the beam are from
    :func:`parkf.imports.geometry.dumps.read_beam_line`.
    """
    content = base.model_dump(mode="json", exclude_unset=True) | {"tag": tag}
    moved: dict[str, dict[Any, Displacement]] = {name: {} for name in SECTIONS}
    tilts: Moves = {}
    if beam is not None:
        content["beam"] |= _beam(*beam)
    velo = elements.get("VELO")
    if isinstance(velo, Sensors):
        content["velo"] |= _velo(velo)
    for detector, planes, _, _ in _STRIPS:
        if detector in elements:
            layers, found = _layers(elements[detector], planes)
            tilts |= found
            lean = {"dzdy": _rounded(elements[detector].lean)} if detector == "SciFi" else {}
            content[detector.lower()] |= lean | {"layers": layers}
    content["magnet"] |= _magnet(content)
    nominal = geometry_of(Description.model_validate(content))
    if velo is not None:
        moved["velo_modules"], moved["velo_sensors"] = _velo_moves(nominal, velo)
    for detector, planes, whole, parts in _STRIPS:
        for layer, plane in enumerate(planes if detector in elements else ()):
            tilt = tilts[plane]
            if tilt.rx or tilt.ry:
                moved[whole][layer] = tilt
            motion = Motion.of(tilt, nominal.frames[plane].origin)
            pieces, numbers = nominal.pieces[plane], elements[detector].number
            corners = elements[detector].corners[np.searchsorted(numbers, pieces.numbers)]
            moved[parts] |= _turns(pieces, motion.inverse(corners))
    document = {"tag": tag} | {
        name: {key: displacement.rounded(_DIGITS, 9) for key, displacement in sorted(of.items())}
        for name, of in moved.items()
    }
    geometry = nominal.align(Alignment.model_validate(document))
    return Placed(content, document, geometry, elements, 0.0 if beam is None else float(beam[0][2]))


def _rounded(value: float) -> float:
    return round(float(value), _DIGITS) + 0.0


def _beam(position: Floats, spread: Floats | None) -> dict[str, float]:
    found = {"x": _rounded(position[0]), "y": _rounded(position[1])}
    if spread is not None and min(spread[[0, 2, 5]]) > 0:
        widths = map(_rounded, np.sqrt(spread[[0, 2, 5]]))
        found |= dict(zip(("sigma_x", "sigma_y", "sigma_z"), widths, strict=True))
    return found


def _magnet(content: dict[str, Any]) -> dict[str, float]:
    """Planes of the magnet in mm: production's, or others if those do not fit between UT and SciFi."""
    z_in, z_out = content["magnet"]["z_in"], content["magnet"]["z_out"]
    last, first = content["ut"]["layers"][-1]["z"], content["scifi"]["layers"][0]["z"]
    moved = {} if 10.0 < z_in - last < 100.0 else {"z_in": last + 22.5}
    return moved if abs(z_out - first) < 1.0 else moved | {"z_out": first}


def _velo(sensors: Sensors) -> dict[str, Any]:
    """Modules and sensors, with the properties that the modules of one side have in common."""
    shape, module_z = (-1, SENSORS_PER_MODULE, 3), sensors.module_z
    offset = sensors.centres.reshape(shape) - np.array([0, 0, 1]) * module_z[:, None, None]
    edge = sensors.across.reshape(shape)
    left = offset[..., 0].mean(axis=1) > 0
    size = {"length": _rounded(sensors.length), "width": _rounded(sensors.width)}
    content: dict[str, Any] = {"sensor": size}
    for name, of in (("right", ~left), ("left", left)):
        places, edges = np.median(offset[of], axis=0), np.median(edge[of], axis=0)
        angles = np.degrees(np.arctan(edges[:, 1] / edges[:, 0]))
        content[name] = {
            "z": [_rounded(z) for z in module_z[of]],
            "sensors": [
                {"x": _rounded(x), "y": _rounded(y), "angle": _rounded(angle), "z": _rounded(z)}
                for (x, y, z), angle in zip(places, angles, strict=True)
            ],
        }
    return content


def _velo_moves(nominal: Geometry, elements: Elements) -> tuple[Moves, Moves]:
    """Displacements of modules, and of sensors in them, from the common properties of their side."""
    modules: Moves = {}
    sensors: Moves = {}
    for plane in VELO_PLANES:
        pieces = nominal.pieces[plane]
        before = pieces.corners()
        after = _matched(before, elements.corners[elements.plane == plane])
        motion = Motion.between(before.reshape(-1, 3), after.reshape(-1, 3))
        if _moves(motion, before):
            modules[plane] = motion.about(nominal.frames[plane].origin)
            after = motion.inverse(after)
        sensors |= _turns(pieces, after)
    return modules, sensors


def _turns(pieces: Pieces, corners: Floats) -> Moves:
    """Displacements that move pieces to corners (n, 4, 3), without the motion of their module or layer."""
    turned = {}
    for index, (number, before) in enumerate(zip(pieces.numbers.tolist(), pieces.corners(), strict=True)):
        own = Motion.between(before, corners[index])
        if _moves(own, before):
            turned[number] = own.about(pieces.origin[index])
    return turned


def _matched(before: Floats, after: Floats) -> Floats:
    """Order the corners (n, 4, 3) of rectangles as in other rectangles, by the nearest corners."""
    distance = np.linalg.norm(before[:, :, None] - after[:, None], axis=-1)
    return np.take_along_axis(after, distance.argmin(axis=2)[..., None], axis=1)


def _moves(motion: Motion, points: Floats) -> bool:
    # Motions below a micrometre are not written, because dumps round the SciFi's z to half a micrometre.
    return bool(np.linalg.norm(motion(points) - points, axis=-1).max() > 1e-3)


def _layers(elements: Elements, planes: range) -> tuple[list[dict[str, Any]], Moves]:
    """Layers with their pieces, and the tilts of the layers.

    The z of a layer is midway between its first and its last piece. Slope and tilt are the medians of its
    pieces'; positions of pieces do not show the tilt, because the pieces are staggered.
    """
    layers, tilts, lean = [], {}, elements.lean
    for plane in planes:
        of = elements.plane == plane
        at_axis = _on_axis(elements.centres[of], lean)
        z = _rounded(0.5 * (at_axis.min() + at_axis.max()))
        tilts[plane] = tilt = _tilt(elements.across[of], elements.along[of], lean)
        back = Motion.of(tilt, np.array([0.0, 0.0, z])).inverse
        flat = Elements(
            number=elements.number[of], plane=elements.plane[of], corners=back(elements.corners[of])
        )
        slope = round(float(np.median(flat.along[:, 0] / flat.along[:, 1])), 9) + 0.0
        half_width, half_height = (0.5 * np.linalg.norm(edge, axis=1) for edge in (flat.across, flat.along))
        pieces = {
            **dict(zip("xy", flat.centres.T[:2], strict=True)),
            **{"z": _on_axis(flat.centres, lean) - z, "half_width": half_width, "half_height": half_height},
        }
        layers.append(
            {
                "z": z,
                "dxdy": slope,
                "half_width": float(np.ceil(np.abs(flat.corners @ [1.0, -slope, 0.0]).max())),
                "half_height": float(np.ceil(np.abs(flat.corners[..., 1]).max())),
                "pieces": [
                    {"number": number} | {name: _rounded(values[row]) for name, values in pieces.items()}
                    for row, number in enumerate(flat.number.tolist())
                ],
            }
        )
    return layers, tilts


def _on_axis(points: Floats, lean: float) -> Floats:
    """Z at y = 0 of planes that lean through points (n, 3), mm."""
    return np.asarray(points[:, 2] - lean * points[:, 1])


def _tilt(across: Floats, along: Floats, lean: float) -> Displacement:
    """Median tilt of the pieces, from the directions (n, 3) across and along their strips."""
    normal = np.cross(across, along)
    dzdx, dzdy = (-float(np.median(normal[:, i] / normal[:, 2])) for i in (0, 1))
    rx, ry = np.arctan(dzdy) - np.arctan(lean), -np.arctan(dzdx)
    return Displacement(
        rx=float(rx) if abs(rx) > _LEAST_TILT else 0.0, ry=float(ry) if abs(ry) > _LEAST_TILT else 0.0
    )


def residuals(elements: Elements, geometry: Geometry) -> Floats:
    """Distances (n, 4) in mm of elements' corners from a geometry's pieces or, without pieces, its planes."""
    away = np.empty(elements.corners.shape[:2])
    for plane in np.unique(elements.plane).tolist():
        pieces = geometry.pieces.get(plane)
        if pieces is None:
            own = elements.plane == plane
            x, y, z = np.moveaxis(elements.corners[own], -1, 0)
            z0, dzdx, dzdy = geometry.frames[plane].plane
            away[own] = np.abs(z0 + dzdx * x + dzdy * y - z)
        else:
            rows = np.searchsorted(elements.number, pieces.numbers)
            corners = elements.corners[rows]
            away[rows] = np.linalg.norm(_matched(corners, pieces.corners()) - corners, axis=-1)
    return away
