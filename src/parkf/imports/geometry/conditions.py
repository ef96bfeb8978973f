"""Alignment as LHCb's conditions hold it: ``name: !alignment {position: [x, y, z], rotation: [a, b, c]}``.

The name is the element's path. Numbers may have a unit, ``0.12*mm`` or ``-0.3*mrad``; without one they are in
mm and rad. An element rotates about its own centre, moved by ``pivot`` where there is one, about LHCb's x, y
and z in this order. The elements mounted on it move with it. This project's alignment has no entries for the
SciFi, a station or a module: these move their parts. Elements that the geometry does not have are reported.
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray
from pydantic import ValidationError

from parkf.detector.alignment import Alignment, Displacement, Motion, chained
from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, VELO_PLANES, Geometry
from parkf.io.documents.document import read_text
from parkf.io.documents.position import DocumentError
from parkf.io.documents.yaml_text import check_depth
from parkf.io.errors import ParkfError
from parkf.io.files import replacing
from parkf.io.planes import MATS_PER_LAYER, SENSORS_PER_MODULE, UT_FIRST_SECTOR

Floats = NDArray[np.float64]
Element = tuple[str | int | None, ...]
"""Detector, a part of it, a part of that, down to the named one; None for levels that are not named."""

_LENGTHS = {"nm": 1e-6, "um": 1e-3, "micrometer": 1e-3, "mm": 1.0, "cm": 10.0, "m": 1000.0}
_ANGLES = {"urad": 1e-6, "mrad": 1e-3, "rad": 1.0, "deg": math.pi / 180.0, "degree": math.pi / 180.0}
_UNITS = {"position": _LENGTHS, "rotation": _ANGLES, "pivot": _LENGTHS}
_LARGEST = {"position": 30.0, "rotation": 0.1}  # mm and rad, as for an alignment of this project
_NUMBER = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(?:\*\s*([A-Za-z]+))?")
_TAG = "!alignment"
_DIGITS = 12  # of mm and rad
_UT = ("UTaX", "UTaU", "UTbV", "UTbX")
_SCIFI = ("X1", "U", "V", "X2")
_ABOVE = re.compile(r"^(?:/?(?:world|LHCb|BeforeMagnetRegion|AfterMagnetRegion|T)/)+")
"""Beginnings of paths that nobody aligns."""
_VELO_PATH = re.compile(
    r"(?:VP(?:System)?/)?(?:VP(?:System)?|(?:VP(Left|Right)/?)?(?:Module(\d+)(?:WithSupport)?)?"
    r"(?:/Module\d+)?(?:/(?:Ladder|Sensor)_?(\d))?)"
)
_UT_PATH = re.compile(r"(?:UT|(?:UT/)?(UTaX|UTaU|UTbV|UTbX)(?:Layer)?(?:/Sector_?(\d+))?)")
_FT_PATH = re.compile(
    r"FT(?:/T([123])(?:/L?(X1|U|V|X2)(?:/HL([01]))?(?:/Q([0-3]))?(?:/M([0-5]))?(?:/Mat_?([0-3]))?)?)?"
)


@dataclass(frozen=True)
class Imported:
    """Content of the alignment file; names of the elements used, and of those that the geometry lacks."""

    alignment: dict[str, Any]
    taken: list[str]
    lacking: list[str]


@dataclass(frozen=True)
class Condition:
    """Alignment of one element: shifts in mm and rotations in rad, about its centre moved by `pivot` (mm)."""

    position: Floats
    rotation: Floats
    pivot: Floats

    def motion(self, centre: Floats) -> Motion:
        """Motion of the element whose centre (3,) is there, mm."""
        numbers = (*self.position.tolist(), *self.rotation.tolist())
        names = dict(zip(Displacement.model_fields, numbers, strict=True))
        return Motion.of(Displacement(**names), centre + self.pivot)


def read_conditions(path: Path) -> dict[str, Condition]:
    """Read the elements of a YAML file.

    Raises
    ------
    ParkfError
        When it is missing or no YAML; with the line of another tag, text for a number, an angle where a
        length should be, more or less than three numbers, or an element that is there twice.
    """
    try:
        text = read_text(path)
        check_depth(text, yaml.SafeLoader)
        root = yaml.compose(text, yaml.SafeLoader)
    except (yaml.YAMLError, DocumentError) as error:
        reason = " ".join(str(error).split())
        raise ParkfError(f"{path}: not a YAML file: {reason}") from error
    if not isinstance(root, yaml.MappingNode):
        raise ParkfError(f"{path}: expected elements, `name: {_TAG} {{position: …, rotation: …}}`")
    found: dict[str, Condition] = {}
    for key, value in root.value:
        name, where = str(key.value), f"{path}: line {key.start_mark.line + 1}: {key.value}"
        if name in found:
            raise ParkfError(f"{where}: occurs twice")
        if value.tag != _TAG or not isinstance(value, yaml.MappingNode):
            raise ParkfError(f"{where}: expected {_TAG} with position and rotation")
        found[name] = _condition(value, where)
    if not found:
        raise ParkfError(f"{path}: has no elements")
    return found


def _condition(node: yaml.MappingNode, where: str) -> Condition:
    numbers = {name: np.zeros(3) for name in _UNITS}
    for key, value in node.value:
        name = str(key.value)
        if name not in _UNITS:
            raise ParkfError(f"{where}: '{name}' is unknown, expected {', '.join(_UNITS)}")
        if not isinstance(value, yaml.SequenceNode) or len(value.value) != 3:
            raise ParkfError(f"{where}: {name}: expected three numbers")
        numbers[name] = np.array([_number(entry, name, where) for entry in value.value])
    return Condition(**numbers)


def _number(node: yaml.Node, name: str, where: str) -> float:
    text = str(node.value).strip()
    match = _NUMBER.fullmatch(text)
    if match is None or not math.isfinite(float(match[1])):
        raise ParkfError(f"{where}: {name}: '{text}' is no number, alone or with a unit")
    units = _UNITS[name]
    if match[2] is not None and match[2] not in units:
        raise ParkfError(f"{where}: {name}: unit of '{text}' is none of {', '.join(units)}")
    value = float(match[1]) * units[match[2] or ("rad" if units is _ANGLES else "mm")]
    if abs(value) > _LARGEST.get(name, math.inf):
        unit = "rad" if units is _ANGLES else "mm"
        what = f"{value:g} {unit}, expected up to {_LARGEST[name]:g}; is it another unit?"
        raise ParkfError(f"{where}: {name}: '{text}' is {what}")
    return value


def element_of(name: str) -> Element | None:
    """Return the element that a path names; None where it is unknown here."""
    path = _ABOVE.sub("", name)
    if match := _FT_PATH.fullmatch(path):
        station, layer, half, quarter, module, mat = match.groups()
        if mat is not None and (module is None or quarter is None):
            return None
        if module is not None and half is quarter is None:
            return None
        if quarter is not None:
            if half is not None and int(half) != int(quarter) % 2:
                return None
            half = str(int(quarter) % 2)
        parts = (station, layer and str(_SCIFI.index(layer)), half, quarter, module, mat)
        return ("FT", *(None if part is None else int(part) for part in parts))
    if match := _UT_PATH.fullmatch(path):
        layer, sector = match.groups()
        return ("UT", layer and _UT.index(layer), sector and int(sector))
    if path and (match := _VELO_PATH.fullmatch(path)):
        side, module, sensor = match.groups()
        if module is None:
            return None if sensor is not None else ("VELO", side and side.lower(), None)
        return ("VELO", int(module), sensor and int(sensor))
    return None


def import_alignment(conditions: Mapping[str, Condition], geometry: Geometry, *, tag: str) -> Imported:
    """Convert conditions to this project's alignment of that tag, for a geometry without an alignment.

    Raises
    ------
    ParkfError
        When two names are the same element, or the geometry has none of them.
    """
    centres = _centres(geometry)
    of: dict[Element, tuple[str, Motion]] = {}
    lacking: list[str] = []
    for name, condition in conditions.items():
        element = element_of(name)
        if element is None or element not in centres:
            lacking.append(name)
        elif element in of:
            raise ParkfError(f"alignment: {of[element][0]} and {name} are the same element")
        else:
            of[element] = (name, condition.motion(centres[element]))
    if not of:
        raise ParkfError(f"alignment: the geometry has none of its elements, such as {lacking[0]}")
    document: dict[str, Any] = {"tag": tag}
    document |= {name: {} for name in Alignment.model_fields if name != "tag"}
    for target, key, chain in _targets(geometry):
        motions = [of[element][1] for element in chain if element in of]
        if motions:
            try:
                displacement = chained(motions).about(centres[chain[-1]])
            except ValidationError as error:
                reason = "; ".join(f"{one['loc'][0]}: {one['msg']}" for one in error.errors())
                raise ParkfError(
                    f"alignment: {target} {key}: too much with its parents': {reason}"
                ) from error
            numbers = displacement.rounded(_DIGITS, _DIGITS)
            document[target] |= {key: numbers} if numbers else {}
    return Imported(document, [name for name, _ in of.values()], lacking)


def _centres(geometry: Geometry) -> dict[Element, Floats]:
    """Centres (3,) of all elements that the geometry has, mm."""
    frames, velo = geometry.frames, geometry.velo_centre
    centres: dict[Element, Floats] = {("VELO", side, None): velo for side in (None, "left", "right")}
    centres |= {("VELO", module, None): frames[module].origin for module in VELO_PLANES}
    layers = {("UT", layer, None): frames[plane].origin for layer, plane in enumerate(UT_PLANES)}
    centres |= layers | {("UT", None, None): np.mean(list(layers.values()), axis=0)}
    parts: dict[Element, list[Floats]] = {}
    for layer, plane in enumerate(SCIFI_PLANES):
        for element in _above(layer):
            parts.setdefault(element, []).append(frames[plane].origin)
    for plane, pieces in geometry.pieces.items():
        for number, origin in zip(pieces.numbers.tolist(), pieces.origin, strict=True):
            for element in _chain_of_piece(number, plane):
                parts.setdefault(element, []).append(origin)
    return centres | {element: np.mean(origins, axis=0) for element, origins in parts.items()}


def _targets(geometry: Geometry) -> Iterator[tuple[str, int | str, list[Element]]]:
    """Yield entries of an alignment file: section, key, and the elements that move it, the largest first."""
    whole: Element = ("VELO", None, None)
    for side in ("left", "right"):
        yield "velo_halves", side, [whole, ("VELO", side, None)]
    for module in VELO_PLANES:
        yield "velo_modules", module, [("VELO", module, None)]
    for layer in range(len(UT_PLANES)):
        yield "ut_layers", layer, [("UT", None, None), ("UT", layer, None)]
    for layer in range(len(SCIFI_PLANES)):
        yield "scifi_layers", layer, _above(layer)
    for plane, pieces in sorted(geometry.pieces.items()):
        for number in pieces.numbers.tolist():
            yield _key(plane), number, _chain_of_piece(number, plane)


def _key(plane: int) -> str:
    if plane in VELO_PLANES:
        return "velo_sensors"
    return "ut_sectors" if plane in UT_PLANES else "scifi_mats"


def _above(layer: int) -> list[Element]:
    """SciFi, station and layer."""
    station, place = divmod(layer, len(_SCIFI))
    return [
        ("FT", *parts, *(None,) * (6 - len(parts))) for parts in ((), (station + 1,), (station + 1, place))
    ]


def _chain_of_piece(number: int, plane: int) -> list[Element]:
    """Elements that move a piece below its module or layer, the largest first, itself last."""
    if plane in VELO_PLANES:
        return [("VELO", *divmod(number, SENSORS_PER_MODULE))]
    if plane in UT_PLANES:
        return [("UT", plane - UT_PLANES.start, number - _first_sector(number))]
    layer, rest = divmod(number, MATS_PER_LAYER)
    quarter, rest = divmod(rest, 32)
    module, mat = divmod(rest, 4)
    top: Element = ("FT", layer // 4 + 1, layer % 4, quarter % 2)
    below: list[tuple[int | None, ...]] = [
        *((None, None, None), (quarter, None, None), (None, module, None)),
        *((quarter, module, None), (quarter, module, mat)),
    ]
    return [(*top, *parts) for parts in below]


def _first_sector(number: int) -> int:
    return max(first for first in UT_FIRST_SECTOR if first <= number)


def export_alignment(alignment: Alignment, path: Path) -> None:
    """Write an alignment as LHCb's conditions, a YAML file in mm and mrad."""
    lines = [f"# Alignment {alignment.tag}; mm and mrad about the elements' centres, along LHCb's axes."]
    for target, of in alignment:
        for key, displacement in () if target == "tag" else sorted(of.items()):
            shift = ", ".join(f"{value!r}*mm" for value in displacement.shift.tolist())
            angles = [displacement.rx, displacement.ry, displacement.rz]
            turn = ", ".join(f"{float(f'{1e3 * angle:.12g}')!r}*mrad" for angle in angles)
            lines.append(f"{_name(target, key)}: {_TAG} {{position: [{shift}], rotation: [{turn}]}}")
    with replacing(path) as temporary:
        temporary.write_text("\n".join(lines) + "\n")


def _name(target: str, key: int | str) -> str:
    """Path of an entry of an alignment file."""
    if target == "velo_halves":
        return f"VP{str(key).capitalize()}"
    number, sensor = int(key), None
    if target == "ut_layers":
        return _UT[number]
    if target == "ut_sectors":
        first = _first_sector(number)
        return f"{_UT[UT_FIRST_SECTOR.index(first)]}/Sector{number - first}"
    if target.startswith("velo"):
        if target == "velo_sensors":
            number, sensor = divmod(number, SENSORS_PER_MODULE)
        return f"Module{number:02d}WithSupport" + ("" if sensor is None else f"/Sensor{sensor}")
    _, station, layer, half, quarter, module, mat = (
        _above(number)[-1] if target == "scifi_layers" else _chain_of_piece(number, SCIFI_PLANES.start)[-1]
    )
    path = f"FT/T{station}/L{_SCIFI[int(layer or 0)]}"
    return path if half is None else f"{path}/HL{half}/Q{quarter}/M{module}/Mat{mat}"
