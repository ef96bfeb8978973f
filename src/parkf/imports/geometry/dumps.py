"""The geometry dumps that Allen reads: packed little-endian numbers without names.

A dump does not name its content. Therefore this module checks everything that can be checked: counts and
length, that numbers are finite, and that positions are possible for the detector.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkf.detector.alignment import Floats
from parkf.detector.description import TWELVE
from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, VELO_PLANES
from parkf.io import planes
from parkf.io.errors import ParkfError
from parkf.io.files import existing

FILES = {
    "VELO": "velo_geometry.bin",
    "UT": "ut_geometry.bin",
    "SciFi": "scifi_geometry.bin",
    "beam line": "beamline.bin",
}
"""Names that Allen gives to the dumps."""

_U32, _U64, _F32 = np.dtype("<u4"), np.dtype("<u8"), np.dtype("<f4")
_COLUMNS = 768  # columns of pixels along a VELO sensor
_QUARTERS = 4 * planes.SCIFI_LAYERS
_ORTHOGONAL = 1e-4
# Corners of an element: on the last or first strip, at its end or begin.
_CORNERS = ((0, 0), (1, 0), (1, 1), (0, 1))


@dataclass(frozen=True, kw_only=True)
class Elements:
    """Elements of one detector, by four corners each: for strips, the ends of the first and last strip."""

    number: NDArray[np.int64]  # (n,), as LHCb counts them
    plane: NDArray[np.int64]  # (n,) number of the plane that they belong to
    # (n, 4, 3) mm: begin of the first and of the last strip, end of the last and of the first one.
    corners: Floats
    lean: float = 0.0  # median dz/dy of the strips

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


@dataclass(frozen=True, kw_only=True)
class Sensors(Elements):
    """Sensors of the VELO."""

    module_z: Floats  # (52,) mm
    length: float  # of a sensor's pixels, mm
    width: float


class _Reader:
    """Reads numbers from a dump, one array after another."""

    def __init__(self, path: Path, detector: str) -> None:
        self.path, self.detector = path, detector
        self.content = existing(path).read_bytes()
        self.position = 0
        if not self.content:
            raise ParkfError(f"{path}: is empty, expected {detector}'s dump")

    @property
    def left(self) -> int:
        return len(self.content) - self.position

    def take(self, kind: np.dtype, count: int, what: str) -> NDArray[Any]:
        size = count * kind.itemsize
        if size > self.left:
            least = f"{len(self.content)} bytes, at least {self.position + size} expected"
            raise ParkfError(f"{self.path}: ends within {what}: {least}")
        values = np.frombuffer(self.content, kind, count, self.position)
        self.position += size
        return values

    def floats(self, count: int, what: str) -> Floats:
        values = self.take(_F32, count, what).astype(np.float64)
        self.require(np.isfinite(values), f"{what} must be finite", values)
        return values

    def count(self, kind: np.dtype, expected: int, what: str, why: str = "") -> int:
        value = int(self.take(kind, 1, f"the number of {what}")[0])
        if value != expected:
            if int(np.array(value, kind).byteswap()) == expected:
                raise ParkfError(f"{self.path}: its bytes are in the other order; dumps are little-endian")
            other = _recognised(self.content)
            if other not in ("", self.detector):
                raise ParkfError(f"{self.path}: is {other}'s dump by its content, expected {self.detector}'s")
            reason = f": {why}" if why else ""
            raise ParkfError(f"{self.path}: {value} {what}, expected {expected}{reason}")
        return value

    def finish(self) -> None:
        if self.left:
            raise ParkfError(f"{self.path}: {self.left} bytes more than {self.detector}'s dump has")

    def require(self, fits: NDArray[np.bool_], what: str, values: Floats) -> None:
        """Refuse numbers that do not satisfy `fits`, because no such detector has them."""
        if not fits.all():
            first = int(np.argmin(fits))
            raise ParkfError(f"{self.path}: {what}; number {first} is {values[first]:g}")


def _recognised(content: bytes) -> str:
    """Name the detector of a dump by its first numbers; "" if they do not identify it."""
    words = np.frombuffer(content[: 8 * (len(content) // 8)], _U32, min(len(content) // 8 * 2, 5))
    if len(words) >= 2 and tuple(words[:2]) == (planes.VELO_MODULES, 0):
        return "VELO"
    if len(words) >= 5 and words[2] == planes.SCIFI_LAYERS and words[4] == _QUARTERS:
        return "SciFi"
    return "UT" if len(words) and words[0] & 0xFFFF == planes.UT_SECTORS else ""


def read_velo(path: Path) -> Sensors:
    """Read ``velo_geometry.bin``; newer ones end with a mask, which is not needed."""
    dump = _Reader(path, "VELO")
    z = dump.floats(dump.count(_U64, planes.VELO_MODULES, "modules"), "z of the modules")
    x = dump.floats(dump.count(_U64, _COLUMNS, "pixel columns"), "x of the pixel columns")
    pitch = dump.floats(dump.count(_U64, _COLUMNS, "pixel widths"), "the pixels' widths")
    sensors = dump.count(_U64, planes.VELO_SENSORS, "sensors")
    numbers = dump.count(_U64, 12, "numbers a sensor")
    rows = dump.floats(sensors * numbers, "the sensors' places").reshape(sensors, numbers)
    if dump.left == _U32.itemsize:
        dump.take(_U32, 1, "the mask")
    dump.finish()
    # Transform from a sensor's coordinates, whose origin is a corner, to LHCb's.
    rotation, translation = rows[:, :9].reshape(-1, 3, 3), rows[:, 9:]
    dump.require(np.diff(z, prepend=-np.inf) > 0, "z of the modules must ascend", z)
    span = np.full(1, z[-1] - z[0])
    dump.require((span > 300) & (span < 3000), "modules must span 300 to 3000 mm in z", span)
    dump.require((pitch > 0.01) & (pitch < 1.0), "pixels must be 0.01 to 1 mm wide", pitch)
    dump.require(np.diff(x, prepend=-np.inf) > 0, "x of the pixel columns must ascend", x)
    square = np.abs(rotation @ np.transpose(rotation, (0, 2, 1)) - np.eye(3)).max((1, 2))
    dump.require(square < _ORTHOGONAL, "the sensors' rotations must be rotations", square)
    away = np.abs(translation[:, 2] - np.repeat(z, planes.SENSORS_PER_MODULE))
    dump.require(away < 10.0, "sensors must lie within 10 mm of their module in z", away)
    far = np.hypot(translation[:, 0], translation[:, 1])
    dump.require((far > 1.0) & (far < 200.0), "sensors must lie 1 to 200 mm from the beam", far)
    length, width = float(x[-1] + 0.5 * pitch[-1]), float(256 * pitch.min())
    local = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]) * [length, width]
    corners = np.einsum("nij,cj->nci", rotation[..., :2], local) + translation[:, None]
    number = np.arange(sensors)
    plane = VELO_PLANES.start + number // planes.SENSORS_PER_MODULE
    return Sensors(number=number, plane=plane, corners=corners, module_z=z, length=length, width=width)


def read_ut(path: Path) -> Elements:
    """Read the sectors of ``ut_geometry.bin``, version 0 or 1; they lack dz/dy of strips: it is set to 0."""
    dump = _Reader(path, "UT")
    head = int(dump.take(_U32, 1, "the number of sectors")[0])
    version = head >> 16
    if head & 0xFFFF != planes.UT_SECTORS:
        dump.position = 0
        dump.count(_U32, planes.UT_SECTORS, "sectors")
    elif version > 1:
        raise ParkfError(f"{path}: version {version}, expected 0 or 1")
    dump.take(_U32, planes.UT_SECTORS, "the first strips")
    # Pitch and length in y of the strips; the step from one strip to the next, whose x is at y = 0; and the
    # first strip: x at y = 0, y of the lower end, z.
    names = ("pitch", "dy", "dxdi", "dydi", "dzdi", "x0", "y0", "z0", "cos")
    columns = [dump.floats(planes.UT_SECTORS, f"{name} of the sectors") for name in names]
    pitch, dy, dxdi, dydi, dzdi, x0, y0, z0, _ = columns
    # The step from strip to strip is perpendicular to the strips, and therefore determines their slope.
    straight = np.abs(dydi) < 1e-9 * np.abs(dxdi)
    safe = np.where(straight, 1.0, dydi)
    root = np.sqrt(np.maximum(dxdi**2 - 4.0 * safe**2, 0.0))
    dxdy = np.where(straight, 0.0, (-dxdi + np.sign(dxdi) * root) / (2.0 * safe))
    if version == 1:
        dxdy = dump.floats(planes.UT_SECTORS, "dx/dy of the sectors")
    dump.finish()
    z0 = np.abs(z0)  # a negative one marks strips that are counted the other way
    dump.require((pitch > 0.01) & (pitch < 1.0), "pitches must be 0.01 to 1 mm", pitch)
    dump.require((z0 > 1000) & (z0 < 5000), "sectors must lie 1000 to 5000 mm behind the origin", z0)
    dump.require((dy > 5) & (dy < 300), "strips must be 5 to 300 mm long", dy)
    far = np.maximum(np.abs(x0), np.abs(y0))
    dump.require(far < 2000, "strips must begin within 2000 mm of the beam", far)
    apart = np.abs(dxdi) / pitch
    dump.require(np.abs(apart - 1.0) < 0.1, "strips must be a pitch apart", apart)
    dump.require(np.abs(dxdy) < 0.5, "strips must be within 0.5 of the vertical", dxdy)
    number = np.arange(planes.UT_SECTORS)
    # Sectors have 512 strips, or 1024 strips of half the width.
    last = np.where(pitch < 0.7 * pitch.max(), 1024, 512) - 1.0
    corners = np.empty((len(number), 4, 3))
    for index, (strip, end) in enumerate(_CORNERS):
        y = y0 + strip * last * dydi + end * dy
        x = x0 + strip * last * dxdi + dxdy * y
        corners[:, index] = np.column_stack([x, y, z0 + strip * last * dzdi])
    plane = UT_PLANES.start + np.searchsorted(planes.UT_FIRST_SECTOR, number, "right") - 1
    return Elements(number=number, plane=plane, corners=_from_left(corners))


def read_scifi(path: Path) -> Elements:
    """Read the mats of ``scifi_geometry.bin``, between the centres of their outer channels.

    The banks may be from older and newer writers. The number of a mat is 128 · layer + 32 · quarter +
    4 · module + mat; numbers without a mat are left out.
    """
    dump = _Reader(path, "SciFi")
    dump.count(_U32, 3, "stations")
    dump.count(_U32, 4, "layers a station")
    dump.count(_U32, planes.SCIFI_LAYERS, "layers", TWELVE)
    dump.count(_U32, 4, "quarters a layer")
    quarters = dump.count(_U32, _QUARTERS, "quarters")
    modules = dump.take(_U32, quarters, "the modules of the quarters")
    dump.require(modules <= 8, "quarters must have up to 8 modules", modules.astype(np.float64))
    dump.count(_U32, 4, "mats a module")
    mats = dump.count(_U32, 4 * int(modules.sum()), "mats")
    _skip_banks(dump)
    most = dump.count(_U32, planes.SCIFI_MATS, "numbers for mats")
    # For each mat: a point on its mirror, the direction from fibre to fibre, distances in mm across fibres,
    # slopes of the fibres, and their length in y from the mirror, negative below the beam.
    names = (
        *("mirror x", "mirror y", "mirror z", "across x", "across y", "across z"),
        *("u_begin", "half_pitch", "die_gap", "sipm_pitch", "dxdy", "dzdy", "dy"),
    )
    of = {name: dump.floats(most, f"{name} of the mats") for name in names}
    dump.finish()
    # Numbers without a mat are marked by a pitch of 0.
    number = np.flatnonzero(of["sipm_pitch"] != 0.0)
    if len(number) != mats:
        raise ParkfError(f"{path}: {len(number)} mats have a place, expected {mats}")
    expected = np.concatenate([32 * q + np.arange(4 * n) for q, n in enumerate(modules.tolist())])
    dump.require(number == expected, "mats must be numbered by quarter and module", number.astype(float))
    rows = {name: values[number] for name, values in of.items()}
    mirror, across = (
        np.column_stack([rows[f"{what} {axis}"] for axis in "xyz"]) for what in ("mirror", "across")
    )
    length = np.linalg.norm(across, axis=1)
    dump.require(np.abs(length - 1) < _ORTHOGONAL, "directions across fibres must be of length 1", length)
    z = mirror[:, 2]
    dump.require((z > 5000) & (z < 12000), "mats must lie 5000 to 12000 mm behind the origin", z)
    far = np.abs(mirror[:, :2]).max(axis=1)
    dump.require(far < 5000, "mirrors must be within 5000 mm of the beam", far)
    for name, least, most in (("u_begin", -200, 0), ("die_gap", 0, 2), ("sipm_pitch", 5, 100)):
        fits = (rows[name] >= least) & (rows[name] <= most)
        dump.require(fits, f"{name} must be {least} to {most} mm", rows[name])
    dxdy, dzdy, dy, half = (rows[name] for name in ("dxdy", "dzdy", "dy", "half_pitch"))
    dump.require(np.abs(dzdy) < 0.1, "fibres must be within 0.1 of the vertical in z", dzdy)
    dump.require(np.abs(dxdy) < 0.5, "fibres must be within 0.5 of the vertical in x", dxdy)
    dump.require((half > 0.01) & (half < 1.0), "half a channel must be 0.01 to 1 mm wide", half)
    dump.require((np.abs(dy) > 100) & (np.abs(dy) < 5000), "fibres must be 100 to 5000 mm long", dy)
    first = rows["u_begin"] + half
    # A mat has four SiPMs of 128 channels.
    last = first + 2 * (128 - 1) * half + rows["die_gap"] + (4 - 1) * rows["sipm_pitch"]
    along = np.column_stack([dxdy, np.ones(mats), dzdy]) * dy[:, None]
    corners = np.empty((mats, 4, 3))
    for index, (strip, end) in enumerate(_CORNERS):
        corners[:, index] = mirror + (last if strip else first)[:, None] * across + end * along
    # Order corners so that strips begin at their lower end.
    down = corners[:, 3, 1] < corners[:, 0, 1]
    corners = _from_left(np.where(down[:, None, None], corners[:, [3, 2, 1, 0]], corners))
    plane = SCIFI_PLANES.start + number // planes.MATS_PER_LAYER
    return Elements(number=number, plane=plane, corners=corners, lean=float(np.median(dzdy)))


def _from_left(corners: Floats) -> Floats:
    """Order corners so that strips are counted towards +x."""
    back = corners[:, 1, 0] < corners[:, 0, 0]
    return np.where(back[:, None, None], corners[:, [1, 0, 3, 2]], corners)


def _skip_banks(dump: _Reader) -> None:
    """Skip the banks of the read-out: the next number after them must be the number of mats."""
    banks = int(dump.take(_U32, 1, "the number of banks")[0])
    ahead = np.frombuffer(dump.content, _U32, dump.left // _U32.itemsize, dump.position)
    version = int(ahead[0]) if len(ahead) else 0
    # Each bank has a number, and in versions 1 and 3 also its 24 links. The oldest dumps have no version.
    with_links = 1 + banks * (1 + 24)
    lengths = {0: 1 + banks, 1: with_links, 2: 1 + banks, 3: with_links}
    for length in (banks, lengths.get(version, banks)):
        if length < len(ahead) and ahead[length] == planes.SCIFI_MATS:
            dump.take(_U32, length, "the banks")
            return
    missing = f"{planes.SCIFI_MATS} numbers for mats are expected behind {banks} banks, and not there"
    raise ParkfError(f"{dump.path}: {missing}")


def read_beam_line(path: Path) -> tuple[Floats, Floats | None]:
    """Read ``beamline.bin``: x and y, or version, position and spread.

    Return the position (3,) in mm, and the covariance xx, xy, yy, xz, yz, zz in mm² if the dump has it.
    """
    dump = _Reader(path, "the beam line")
    spread = None
    if len(dump.content) == 2 * _F32.itemsize:
        position = np.append(dump.floats(2, "x and y"), 0.0)
    elif len(dump.content) == 10 * _F32.itemsize:
        version = int(dump.take(_U32, 1, "the version")[0])
        if not 0 < version < 100:
            raise ParkfError(f"{path}: version {version}, expected a small number")
        position, spread = dump.floats(3, "the position"), dump.floats(6, "the spread")
    else:
        raise ParkfError(f"{path}: {len(dump.content)} bytes, expected 8, or 40 of newer writers")
    dump.require(np.abs(position) < [10, 10, 500], "the beam must be within 10 mm of z's axis", position)
    return position, spread
