"""A geometry and an alignment that put every sensor, strip and fibre where Allen's dumps have them.

The geometry file has the positions of modules, layers and their pieces. The alignment has what the file
cannot hold: how modules of one half differ from each other, and how pieces are turned. What neither holds is
measured.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkf.detector.alignment import Alignment, Displacement, Motion
from parkf.detector.description import Description
from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, VELO_PLANES, Geometry, geometry_of
from parkf.detector.pieces import Pieces
from parkf.imports.geometry.dumps import BeamDump, SciFiDump, UtDump, VeloDump
from parkf.io.planes import MATS_PER_LAYER, SENSORS_PER_MODULE, UT_FIRST_SECTOR

Floats = NDArray[np.float64]

_NEGLIGIBLE = 1e-3
"""mm: displacements that move no corner as far are not written; dumps have the SciFi's z to half of it."""
_LEAST_TILT = 3e-7  # rad; a micrometre at the edge of the SciFi
_BEHIND_UT = 22.5  # mm; distance of the plane before the magnet from the UT
_DIGITS = 6  # digits of mm and degrees in files
_ANGLE_DIGITS = 9  # of rad
_PIECE = ("x", "y", "z", "half_width", "half_height")


@dataclass(frozen=True)
class Elements:
    """Elements of one detector, by four corners each: of strips, the ends of the first and the last one.

    Attributes
    ----------
    number : (n,) int64
        As LHCb counts them.
    plane : (n,) int64
        Number of the plane that they belong to.
    corners : (n, 4, 3) float64
        mm: begin of the first and of the last strip, end of the last and of the first one.
    """

    number: NDArray[np.int64]
    plane: NDArray[np.int64]
    corners: Floats

    @property
    def centres(self) -> Floats:
        """(n, 3) mm."""
        return np.asarray(self.corners.mean(axis=1))

    @property
    def across(self) -> Floats:
        """(n, 3) mm, from the first strip to the last."""
        c = self.corners
        return np.asarray(0.5 * (c[:, 1] + c[:, 2] - c[:, 0] - c[:, 3]))

    @property
    def along(self) -> Floats:
        """(n, 3) mm, from the strips' lower ends to their upper ones."""
        c = self.corners
        return np.asarray(0.5 * (c[:, 2] + c[:, 3] - c[:, 0] - c[:, 1]))


@dataclass(frozen=True)
class Placed:
    """Contents of the geometry file and of the alignment file, and the geometry of both.

    Attributes
    ----------
    elements : mapping of str to Elements
        The dumps' elements by detector.
    beam_z : float
        z of the luminous region, mm, which a geometry assumes to be 0.
    """

    description: dict[str, Any]
    alignment: dict[str, Any]
    geometry: Geometry
    elements: Mapping[str, Elements]
    beam_z: float


def velo_elements(dump: VeloDump) -> Elements:
    """Sensors of the VELO."""
    corner = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]])
    local = corner * [dump.length, dump.width, 0.0]
    corners = np.einsum("nij,cj->nci", dump.rotation, local) + dump.translation[:, None]
    number = np.arange(len(corners))
    return Elements(number, VELO_PLANES.start + number // SENSORS_PER_MODULE, corners)


def ut_elements(dump: UtDump) -> Elements:
    """Sectors of the UT; dumps do not contain dz/dy, which is 0 here."""
    number = np.arange(len(dump.pitch))
    plane = UT_PLANES.start + np.searchsorted(UT_FIRST_SECTOR, number, "right") - 1
    # Sectors have 512 strips, and 1024 where these are half as wide.
    strips = np.where(dump.pitch < 0.7 * dump.pitch.max(), 1024, 512)
    corners = np.empty((len(number), 4, 3))
    for index, (strip, end) in enumerate(((0, 0), (1, 0), (1, 1), (0, 1))):
        i = strip * (strips - 1.0)
        y = dump.y0 + i * dump.dydi + end * dump.dy
        x = dump.x0 + i * dump.dxdi + dump.dxdy * y
        corners[:, index] = np.column_stack([x, y, dump.z0 + i * dump.dzdi])
    return Elements(number, plane, _from_left(corners))


def scifi_elements(dump: SciFiDump) -> Elements:
    """Mats of the SciFi, between the centres of their outer channels."""
    channels, sipms = 128, 4
    first = dump.u_begin + dump.half_pitch
    last = first + 2 * (channels - 1) * dump.half_pitch + dump.die_gap + (sipms - 1) * dump.sipm_pitch
    corners = np.empty((len(first), 4, 3))
    along = np.column_stack([dump.dxdy, np.ones(len(first)), dump.dzdy]) * dump.dy[:, None]
    for index, (u, end) in enumerate(((first, 0), (last, 0), (last, 1), (first, 1))):
        corners[:, index] = dump.mirror + u[:, None] * dump.across + end * along
    plane = SCIFI_PLANES.start + dump.number // MATS_PER_LAYER
    return Elements(dump.number, plane, _from_left(_from_below(corners)))


def _from_below(corners: Floats) -> Floats:
    """Order corners so that strips begin at their lower end."""
    down = corners[:, 3, 1] < corners[:, 0, 1]
    return np.where(down[:, None, None], corners[:, [3, 2, 1, 0]], corners)


def _from_left(corners: Floats) -> Floats:
    """Order corners so that strips are counted towards +x."""
    back = corners[:, 1, 0] < corners[:, 0, 0]
    return np.where(back[:, None, None], corners[:, [1, 0, 3, 2]], corners)


def place(
    base: Description,
    *,
    velo: VeloDump | None,
    ut: UtDump | None,
    scifi: SciFiDump | None,
    beam: BeamDump | None,
    tag: str,
) -> Placed:
    """Put the content of dumps into a geometry of that tag; everything else stays as in `base`.

    Material, errors, efficiencies, noise and holes are always those of `base`.
    """
    content = base.model_dump(mode="json", exclude_unset=True) | {"tag": tag}
    moved: dict[str, dict[Any, Displacement]] = {name: {} for name in Alignment.model_fields if name != "tag"}
    elements: dict[str, Elements] = {}
    tilts: dict[int, Displacement] = {}
    if beam is not None:
        content["beam"] = content["beam"] | _beam(beam)
    if velo is not None:
        elements["VELO"] = velo_elements(velo)
        content["velo"] = content["velo"] | _velo(velo, elements["VELO"])
    if ut is not None:
        elements["UT"] = ut_elements(ut)
        layers, tilts = _layers(elements["UT"], UT_PLANES, lean=0.0)
        content["ut"] = content["ut"] | {"layers": layers}
    if scifi is not None:
        elements["SciFi"] = scifi_elements(scifi)
        lean = float(np.median(scifi.dzdy))
        layers, more = _layers(elements["SciFi"], SCIFI_PLANES, lean=lean)
        tilts |= more
        content["scifi"] = content["scifi"] | {"dzdy": _rounded(lean), "layers": layers}
    content["magnet"] = content["magnet"] | _magnet(content)
    nominal = geometry_of(Description.model_validate(content))
    if velo is not None:
        moved["velo_modules"], moved["velo_sensors"] = _velo_moves(nominal, elements["VELO"])
    for detector, planes, whole, parts in (
        ("UT", UT_PLANES, "ut_layers", "ut_sectors"),
        ("SciFi", SCIFI_PLANES, "scifi_layers", "scifi_mats"),
    ):
        for layer, plane in enumerate(planes if detector in elements else ()):
            tilt = tilts[plane]
            if tilt.rx or tilt.ry:
                moved[whole][layer] = tilt
            motion = Motion.of(tilt, nominal.frames[plane].origin)
            moved[parts] |= _turns(nominal.pieces[plane], motion, elements[detector])
    document = {"tag": tag} | {
        name: {key: displacement.rounded(_DIGITS, _ANGLE_DIGITS) for key, displacement in sorted(of.items())}
        for name, of in moved.items()
    }
    geometry = nominal.align(Alignment.model_validate(document))
    beam_z = 0.0 if beam is None else float(beam.position[2])
    return Placed(content, document, geometry, elements, beam_z)


def _rounded(value: float) -> float:
    return round(float(value), _DIGITS) + 0.0


def _beam(beam: BeamDump) -> dict[str, float]:
    x, y, _ = map(_rounded, beam.position)
    said = {"x": x, "y": y}
    if beam.spread is not None and min(beam.spread[[0, 2, 5]]) > 0:
        widths = map(_rounded, np.sqrt(beam.spread[[0, 2, 5]]))
        said |= dict(zip(("sigma_x", "sigma_y", "sigma_z"), widths, strict=True))
    return said


def _magnet(content: dict[str, Any]) -> dict[str, float]:
    """Planes of the magnet: production's, or others where those do not fit between UT and SciFi."""
    z_in, z_out = content["magnet"]["z_in"], content["magnet"]["z_out"]
    last, first = content["ut"]["layers"][-1]["z"], content["scifi"]["layers"][0]["z"]
    moved = {} if 10.0 < z_in - last < 100.0 else {"z_in": last + _BEHIND_UT}
    return moved if abs(z_out - first) < 1.0 else moved | {"z_out": first}


def _velo(dump: VeloDump, elements: Elements) -> dict[str, Any]:
    """Modules and sensors: what the modules of one side have in common."""
    shape = (-1, SENSORS_PER_MODULE, 3)
    offset = elements.centres.reshape(shape) - np.array([0, 0, 1]) * dump.module_z[:, None, None]
    edge = elements.across.reshape(shape)
    left = offset[..., 0].mean(axis=1) > 0
    content: dict[str, Any] = {"sensor": {"length": _rounded(dump.length), "width": _rounded(dump.width)}}
    for name, of in (("right", ~left), ("left", left)):
        places, edges = np.median(offset[of], axis=0), np.median(edge[of], axis=0)
        angles = np.degrees(np.arctan(edges[:, 1] / edges[:, 0]))
        content[name] = {
            "z": [_rounded(z) for z in dump.module_z[of]],
            "sensors": [
                {"x": _rounded(x), "y": _rounded(y), "angle": _rounded(angle), "z": _rounded(z)}
                for (x, y, z), angle in zip(places, angles, strict=True)
            ],
        }
    return content


def _velo_moves(
    nominal: Geometry, elements: Elements
) -> tuple[dict[int, Displacement], dict[int, Displacement]]:
    """Displacements of modules, and of sensors in them, from what their side has in common."""
    modules: dict[int, Displacement] = {}
    sensors: dict[int, Displacement] = {}
    for plane in VELO_PLANES:
        pieces = nominal.pieces[plane]
        before = pieces.corners()
        after = _matched(before, elements.corners[elements.plane == plane])
        motion = Motion.between(before.reshape(-1, 3), after.reshape(-1, 3))
        if _moves(motion, before):
            modules[plane] = motion.about(nominal.frames[plane].origin)
        else:
            motion = Motion.still()
        for index, number in enumerate(pieces.numbers.tolist()):
            own = Motion.between(before[index], motion.inverse(after[index]))
            if _moves(own, before[index]):
                sensors[number] = own.about(pieces.origin[index])
    return modules, sensors


def _matched(before: Floats, after: Floats) -> Floats:
    """Order the corners (n, 4, 3) of rectangles like those of others, each next to its nearest."""
    distance = np.linalg.norm(before[:, :, None] - after[:, None], axis=-1)
    return np.take_along_axis(after, distance.argmin(axis=2)[..., None], axis=1)


def _moves(motion: Motion, points: Floats) -> bool:
    return bool(np.linalg.norm(motion(points) - points, axis=-1).max() > _NEGLIGIBLE)


def _layers(
    elements: Elements, planes: range, *, lean: float
) -> tuple[list[dict[str, Any]], dict[int, Displacement]]:
    """Layers with their pieces, and the tilts of the layers.

    A layer stands in the middle of its foremost and its hindmost piece. It has the median slope and tilt of
    its pieces; their positions do not show the tilt, because they are staggered.
    """
    layers, tilts = [], {}
    for plane in planes:
        of = elements.plane == plane
        z = _rounded(_middle(_on_axis(elements.centres[of], lean)))
        tilts[plane] = tilt = _tilt(elements.across[of], elements.along[of], lean)
        back = Motion.of(tilt, np.array([0.0, 0.0, z])).inverse
        flat = Elements(elements.number[of], elements.plane[of], back(elements.corners[of]))
        centre, along = flat.centres, flat.along
        slope = round(float(np.median(along[:, 0] / along[:, 1])), 9) + 0.0
        half_width, half_height = (0.5 * np.linalg.norm(edge, axis=1) for edge in (flat.across, flat.along))
        depth = _on_axis(centre, lean) - z
        layers.append(
            {
                "z": z,
                "dxdy": slope,
                "half_width": float(np.ceil(np.abs(flat.corners @ [1.0, -slope, 0.0]).max())),
                "half_height": float(np.ceil(np.abs(flat.corners[..., 1]).max())),
                "pieces": [
                    {"number": number}
                    | {name: _rounded(value) for name, value in zip(_PIECE, row, strict=True)}
                    for number, *row in zip(
                        flat.number.tolist(), *centre.T[:2], depth, half_width, half_height, strict=True
                    )
                ],
            }
        )
    return layers, tilts


def _on_axis(points: Floats, lean: float) -> Floats:
    """Z at y = 0 of planes that lean through points (n, 3), mm."""
    return np.asarray(points[:, 2] - lean * points[:, 1])


def _middle(values: Floats) -> float:
    return float(0.5 * (values.min() + values.max()))


def _tilt(across: Floats, along: Floats, lean: float) -> Displacement:
    """Tilt of most pieces, from the directions (n, 3) across their strips and along them."""
    normal = np.cross(across, along)
    dzdx, dzdy = (-float(np.median(normal[:, i] / normal[:, 2])) for i in (0, 1))
    rx, ry = np.arctan(dzdy) - np.arctan(lean), -np.arctan(dzdx)
    return Displacement(
        rx=float(rx) if abs(rx) > _LEAST_TILT else 0.0, ry=float(ry) if abs(ry) > _LEAST_TILT else 0.0
    )


def _turns(pieces: Pieces, motion: Motion, elements: Elements) -> dict[int, Displacement]:
    """Displacements of pieces on their layer, whose own motion comes on top."""
    turned = {}
    corners = pieces.corners()
    dumped = motion.inverse(elements.corners[np.searchsorted(elements.number, pieces.numbers)])
    for index, number in enumerate(pieces.numbers.tolist()):
        own = Motion.between(corners[index], dumped[index])
        if _moves(own, corners[index]):
            turned[number] = own.about(pieces.origin[index])
    return turned


def residuals(elements: Elements, geometry: Geometry) -> Floats:
    """Distances (n, 4) of elements' corners from a geometry's pieces, mm; else, in z, from its planes."""
    away = np.empty(elements.corners.shape[:2])
    for plane in np.unique(elements.plane).tolist():
        rows = np.flatnonzero(elements.plane == plane)
        corners = elements.corners[rows]
        pieces = geometry.pieces.get(plane)
        if pieces is None:
            z0, dzdx, dzdy = geometry.frames[plane].plane
            away[rows] = np.abs(z0 + dzdx * corners[..., 0] + dzdy * corners[..., 1] - corners[..., 2])
            continue
        index = {number: i for i, number in enumerate(pieces.numbers.tolist())}
        here = pieces.corners()[[index[number] for number in elements.number[rows].tolist()]]
        away[rows] = np.linalg.norm(_matched(corners, here) - corners, axis=-1)
    return away


def summary(away: Floats) -> tuple[float, float, float]:
    """Median, 95 % quantile and largest of the elements' worst corners, µm."""
    worst = 1e3 * away.max(axis=1)
    return float(np.median(worst)), float(np.quantile(worst, 0.95)), float(worst.max())
