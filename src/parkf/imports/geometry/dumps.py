"""The geometry dumps that Allen reads: packed little-endian numbers without names.

A dump does not name its content. Everything that can be checked of its numbers is therefore checked here:
counts, length, finite numbers, and positions where such a detector can be.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkf.detector.description import TWELVE
from parkf.io.errors import ParkfError
from parkf.io.files import existing
from parkf.io.planes import (
    SCIFI_LAYERS,
    SCIFI_MATS,
    SENSORS_PER_MODULE,
    UT_SECTORS,
    VELO_MODULES,
    VELO_SENSORS,
)

Floats = NDArray[np.float64]

FILES = {
    "VELO": "velo_geometry.bin",
    "UT": "ut_geometry.bin",
    "SciFi": "scifi_geometry.bin",
    "beam line": "beamline.bin",
}
"""Names that Allen gives to the dumps."""

_U32, _U64, _F32 = np.dtype("<u4"), np.dtype("<u8"), np.dtype("<f4")
_COLUMNS = 768  # columns of pixels along a VELO sensor
_QUARTERS = 4 * SCIFI_LAYERS
_LINKS = 24  # links of a SciFi bank, in newer dumps
_NO_MAT = 0.0  # SiPM pitch that marks mat numbers without a mat
_ORTHOGONAL = 1e-4
_VERSIONS_OF_FIRST_CHANNELS, _VERSIONS_OF_LINKS = (0, 2), (1, 3)


@dataclass(frozen=True)
class VeloDump:
    """Content of ``velo_geometry.bin``, mm.

    Attributes
    ----------
    module_z : (52,) float64
    length, width : float
        Of a sensor's pixels.
    rotation, translation : (208, 3, 3) and (208, 3) float64
        From a sensor's coordinates, whose origin is a corner, to LHCb's.
    """

    module_z: Floats
    length: float
    width: float
    rotation: Floats
    translation: Floats


@dataclass(frozen=True)
class UtDump:
    """Content of ``ut_geometry.bin``, all arrays (1048,), mm.

    Attributes
    ----------
    pitch, dy : float64
        Distance of strips, and their length in y.
    dxdi, dydi, dzdi : float64
        From one strip to the next, at y = 0 in x.
    x0, y0, z0 : float64
        The first strip: x at y = 0, the lower end's y, z.
    dxdy : float64
        Slope of the strips.
    """

    pitch: Floats
    dy: Floats
    dxdi: Floats
    dydi: Floats
    dzdi: Floats
    x0: Floats
    y0: Floats
    z0: Floats
    dxdy: Floats


@dataclass(frozen=True)
class SciFiDump:
    """Content of ``scifi_geometry.bin`` for the mats that exist, all arrays (n,) or (n, 3), mm.

    Attributes
    ----------
    number : int64
        Of the mat: 128 · layer + 32 · quarter + 4 · module + mat.
    mirror : (n, 3) float64
        A point on the mat's mirror.
    across : (n, 3) float64
        Direction from fibre to fibre.
    u_begin, half_pitch, die_gap, sipm_pitch : float64
    dxdy, dzdy : float64
        Slopes of the fibres.
    dy : float64
        Length in y from the mirror, negative below the beam.
    """

    number: NDArray[np.int64]
    mirror: Floats
    across: Floats
    u_begin: Floats
    half_pitch: Floats
    die_gap: Floats
    sipm_pitch: Floats
    dxdy: Floats
    dzdy: Floats
    dy: Floats


@dataclass(frozen=True)
class BeamDump:
    """Content of ``beamline.bin``, mm.

    Attributes
    ----------
    position : (3,) float64
    spread : (6,) float64 or None
        Covariance xx, xy, yy, xz, yz, zz, where the dump has it.
    """

    position: Floats
    spread: Floats | None


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
        bad = np.flatnonzero(~np.isfinite(values))
        if len(bad):
            raise ParkfError(f"{self.path}: {what}: number {bad[0]} is {values[bad[0]]:g}, expected finite")
        return values

    def count(self, kind: np.dtype, expected: int, what: str, why: str = "") -> int:
        value = int(self.take(kind, 1, f"the number of {what}")[0])
        if value != expected:
            swapped = int(np.array(value, kind).byteswap())
            if swapped == expected:
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
        """Refuse numbers that no such detector has: those that do not fit."""
        bad = np.flatnonzero(~fits)
        if len(bad):
            raise ParkfError(f"{self.path}: {what}; number {bad[0]} is {values[bad[0]]:g}")


def _recognised(content: bytes) -> str:
    """Detector of a dump by its first numbers; "" where they do not show it."""
    words = np.frombuffer(content[: 8 * (len(content) // 8)], _U32, min(len(content) // 8 * 2, 5))
    if len(words) >= 2 and tuple(words[:2]) == (VELO_MODULES, 0):
        return "VELO"
    if len(words) >= 5 and words[2] == SCIFI_LAYERS and words[4] == _QUARTERS:
        return "SciFi"
    if len(words) and words[0] & 0xFFFF == UT_SECTORS:
        return "UT"
    return ""


def read_velo(path: Path) -> VeloDump:
    """Read ``velo_geometry.bin``; newer ones end with a mask, which is not needed.

    Raises
    ------
    ParkfError
        When it is missing, cut off, another detector's, or has numbers that no VELO has.
    """
    dump = _Reader(path, "VELO")
    z = dump.floats(dump.count(_U64, VELO_MODULES, "modules"), "z of the modules")
    x = dump.floats(dump.count(_U64, _COLUMNS, "pixel columns"), "x of the pixel columns")
    pitch = dump.floats(dump.count(_U64, _COLUMNS, "pixel widths"), "the pixels' widths")
    sensors = dump.count(_U64, VELO_SENSORS, "sensors")
    numbers = dump.count(_U64, 12, "numbers a sensor")
    rows = dump.floats(sensors * numbers, "the sensors' places").reshape(sensors, numbers)
    if dump.left == _U32.itemsize:
        dump.take(_U32, 1, "the mask")
    dump.finish()
    rotation, translation = rows[:, :9].reshape(-1, 3, 3), rows[:, 9:]
    dump.require(np.diff(z, prepend=-np.inf) > 0, "z of the modules must ascend", z)
    span = np.full(1, z[-1] - z[0])
    dump.require((span > 300) & (span < 3000), "modules must span 300 to 3000 mm in z", span)
    dump.require((pitch > 0.01) & (pitch < 1.0), "pixels must be 0.01 to 1 mm wide", pitch)
    dump.require(np.diff(x, prepend=-np.inf) > 0, "x of the pixel columns must ascend", x)
    square = np.abs(rotation @ np.transpose(rotation, (0, 2, 1)) - np.eye(3)).max((1, 2))
    dump.require(square < _ORTHOGONAL, "the sensors' rotations must be rotations", square)
    away = np.abs(translation[:, 2] - np.repeat(z, SENSORS_PER_MODULE))
    dump.require(away < 10.0, "sensors must lie within 10 mm of their module in z", away)
    far = np.hypot(translation[:, 0], translation[:, 1])
    dump.require((far > 1.0) & (far < 200.0), "sensors must lie 1 to 200 mm from the beam", far)
    return VeloDump(
        z, float(x[-1] + 0.5 * pitch[-1]), float(256 * pitch.min()), rotation.copy(), translation.copy()
    )


def read_ut(path: Path) -> UtDump:
    """Read ``ut_geometry.bin``, of versions 0 and 1; errors as of :func:`read_velo`."""
    dump = _Reader(path, "UT")
    head = int(dump.take(_U32, 1, "the number of sectors")[0])
    version, dump.position = head >> 16, 0
    if head & 0xFFFF == UT_SECTORS and version > 1:
        raise ParkfError(f"{path}: version {version}, expected 0 or 1")
    known = head & 0xFFFF == UT_SECTORS
    sectors = dump.count(_U32, head if known else UT_SECTORS, "sectors") & 0xFFFF
    dump.take(_U32, sectors, "the first strips")
    names = ("pitch", "dy", "dxdi", "dydi", "dzdi", "x0", "y0", "z0", "cos")
    of = {name: dump.floats(sectors, f"{name} of the sectors") for name in names}
    # The step from strip to strip is perpendicular to the strips, and so determines their slope.
    step, turn = of["dxdi"], of["dydi"]
    straight = np.abs(turn) < 1e-9 * np.abs(step)
    safe = np.where(straight, 1.0, turn)
    root = np.sqrt(np.maximum(step**2 - 4.0 * safe**2, 0.0))
    dxdy = np.where(straight, 0.0, (-step + np.sign(step) * root) / (2.0 * safe))
    if version == 1:
        dxdy = dump.floats(sectors, "dx/dy of the sectors")
    dump.finish()
    z = np.abs(of["z0"])  # a negative one marks strips that are counted the other way
    dump.require((of["pitch"] > 0.01) & (of["pitch"] < 1.0), "pitches must be 0.01 to 1 mm", of["pitch"])
    dump.require((z > 1000) & (z < 5000), "sectors must lie 1000 to 5000 mm behind the origin", z)
    dump.require((of["dy"] > 5) & (of["dy"] < 300), "strips must be 5 to 300 mm long", of["dy"])
    far = np.maximum(np.abs(of["x0"]), np.abs(of["y0"]))
    dump.require(far < 2000, "strips must begin within 2000 mm of the beam", far)
    apart = np.abs(step) / of["pitch"]
    dump.require(np.abs(apart - 1.0) < 0.1, "strips must be a pitch apart", apart)
    dump.require(np.abs(dxdy) < 0.5, "strips must be within 0.5 of the vertical", dxdy)
    kept = {name: of[name] for name in names if name not in ("z0", "cos")}
    return UtDump(**kept, z0=z, dxdy=dxdy)


def read_scifi(path: Path) -> SciFiDump:
    """Read ``scifi_geometry.bin``, with banks of older and newer writers; errors as of :func:`read_velo`."""
    dump = _Reader(path, "SciFi")
    dump.count(_U32, 3, "stations")
    dump.count(_U32, 4, "layers a station")
    dump.count(_U32, SCIFI_LAYERS, "layers", TWELVE)
    dump.count(_U32, 4, "quarters a layer")
    quarters = dump.count(_U32, _QUARTERS, "quarters")
    modules = dump.take(_U32, quarters, "the modules of the quarters")
    dump.require(modules <= 8, "quarters must have up to 8 modules", modules.astype(np.float64))
    dump.count(_U32, 4, "mats a module")
    mats = dump.count(_U32, 4 * int(modules.sum()), "mats")
    _skip_banks(dump)
    most = dump.count(_U32, SCIFI_MATS, "numbers for mats")
    names = (
        *("mirror x", "mirror y", "mirror z", "across x", "across y", "across z"),
        *("u_begin", "half_pitch", "die_gap", "sipm_pitch", "dxdy", "dzdy", "dy"),
    )
    of = {name: dump.floats(most, f"{name} of the mats") for name in names}
    dump.finish()
    number = np.flatnonzero(of["sipm_pitch"] != _NO_MAT)
    if len(number) != mats:
        raise ParkfError(f"{path}: {len(number)} mats have a place, expected {mats}")
    expected = np.concatenate([32 * q + np.arange(4 * n) for q, n in enumerate(modules.tolist())])
    dump.require(number == expected, "mats must be numbered by quarter and module", number.astype(float))
    rows = {name: values[number] for name, values in of.items()}
    mirror = np.column_stack([rows[f"mirror {axis}"] for axis in "xyz"])
    across = np.column_stack([rows[f"across {axis}"] for axis in "xyz"])
    length = np.linalg.norm(across, axis=1)
    dump.require(np.abs(length - 1) < _ORTHOGONAL, "directions across fibres must be of length 1", length)
    z = mirror[:, 2]
    dump.require((z > 5000) & (z < 12000), "mats must lie 5000 to 12000 mm behind the origin", z)
    far = np.abs(mirror[:, :2]).max(axis=1)
    dump.require(far < 5000, "mirrors must be within 5000 mm of the beam", far)
    for name, least, most in (("u_begin", -200, 0), ("die_gap", 0, 2), ("sipm_pitch", 5, 100)):
        fits = (rows[name] >= least) & (rows[name] <= most)
        dump.require(fits, f"{name} must be {least} to {most} mm", rows[name])
    dump.require(np.abs(rows["dzdy"]) < 0.1, "fibres must be within 0.1 of the vertical in z", rows["dzdy"])
    dump.require(np.abs(rows["dxdy"]) < 0.5, "fibres must be within 0.5 of the vertical in x", rows["dxdy"])
    half = rows["half_pitch"]
    dump.require((half > 0.01) & (half < 1.0), "half a channel must be 0.01 to 1 mm wide", half)
    dy = rows["dy"]
    dump.require((np.abs(dy) > 100) & (np.abs(dy) < 5000), "fibres must be 100 to 5000 mm long", dy)
    lengths = {name: rows[name] for name in names[6:]}
    return SciFiDump(number=number, mirror=mirror, across=across, **lengths)


def _skip_banks(dump: _Reader) -> None:
    """Skip the banks of the read-out: the next number after them must be that of the mats."""
    banks = int(dump.take(_U32, 1, "the number of banks")[0])
    ahead = np.frombuffer(dump.content, _U32, dump.left // _U32.itemsize, dump.position)
    version = int(ahead[0]) if len(ahead) else 0
    lengths = [banks]  # length in dumps from before there were versions
    if version in _VERSIONS_OF_FIRST_CHANNELS:
        lengths.append(1 + banks)
    if version in _VERSIONS_OF_LINKS:
        lengths.append(1 + banks * (1 + _LINKS))
    for length in lengths:
        if length < len(ahead) and ahead[length] == SCIFI_MATS:
            dump.take(_U32, length, "the banks")
            return
    raise ParkfError(
        f"{dump.path}: {SCIFI_MATS} numbers for mats are expected behind {banks} banks, and not there"
    )


def read_beam_line(path: Path) -> BeamDump:
    """Read ``beamline.bin``: x and y, or version, position and spread; errors as of :func:`read_velo`."""
    dump = _Reader(path, "the beam line")
    if len(dump.content) == 2 * _F32.itemsize:
        position, spread = np.append(dump.floats(2, "x and y"), 0.0), None
    elif len(dump.content) == 10 * _F32.itemsize:
        version = int(dump.take(_U32, 1, "the version")[0])
        if not 0 < version < 100:
            raise ParkfError(f"{path}: version {version}, expected a small number")
        position, spread = dump.floats(3, "the position"), dump.floats(6, "the spread")
    else:
        raise ParkfError(f"{path}: {len(dump.content)} bytes, expected 8, or 40 of newer writers")
    dump.require(np.abs(position) < [10, 10, 500], "the beam must be within 10 mm of z's axis", position)
    return BeamDump(position, spread)
