"""Alignment as LHCb's conditions hold it: ``name: !alignment {position: [x, y, z], rotation: [a, b, c]}``.

The name is the element's path. Numbers may have a unit, ``0.12*mm`` or ``-0.3*mrad``; without one they are in
mm and rad. An element rotates about LHCb's x, y and z, in this order, through its own centre, which ``pivot``
may move. The elements mounted on it move with it. This project's alignment has no entries for the SciFi, a
station or a module; their motion is added to their parts. Elements unknown to the geometry are reported.
"""

import math
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from pydantic import ValidationError

from parkf.detector.alignment import SECTIONS, Alignment, Displacement, Floats, Motion, chained
from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, VELO_PLANES, Geometry
from parkf.io.documents.document import read_text
from parkf.io.documents.position import DocumentError
from parkf.io.documents.yaml_text import check_depth
from parkf.io.errors import ParkfError
from parkf.io.files import replacing
from parkf.io.planes import MATS_PER_LAYER, SENSORS_PER_MODULE, UT_FIRST_SECTOR

Element = tuple[Any, ...]
"""Names from the detector down through its parts to the element; None for levels without a name."""
Condition = dict[str, Floats]
"""Motion of an element, (3,) each: `position` in mm, `rotation` in rad about its centre moved by `pivot`."""

_LENGTHS = {"nm": 1e-6, "um": 1e-3, "micrometer": 1e-3, "mm": 1.0, "cm": 10.0, "m": 1000.0}
_ANGLES = {"urad": 1e-6, "mrad": 1e-3, "rad": 1.0, "deg": math.pi / 180.0, "degree": math.pi / 180.0}
_UNITS = {"position": _LENGTHS, "rotation": _ANGLES, "pivot": _LENGTHS}
_LARGEST = {"position": 30.0, "rotation": 0.1}  # mm and rad, as for an alignment of this project
_NUMBER = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(?:\*\s*([A-Za-z]+))?")
_TAG = "!alignment"
_UT = ("UTaX", "UTaU", "UTbV", "UTbX")
_SCIFI = ("X1", "U", "V", "X2")
# Sections of an alignment file for modules and layers and for their pieces, with their planes.
_LAYERS = {"velo_modules": VELO_PLANES, "ut_layers": UT_PLANES, "scifi_layers": SCIFI_PLANES}
_PIECES = {"velo_sensors": VELO_PLANES, "ut_sectors": UT_PLANES, "scifi_mats": SCIFI_PLANES}
_ABOVE = re.compile(r"^(?:/?(?:world|LHCb|BeforeMagnetRegion|AfterMagnetRegion|T)/)+")
"""Beginnings of the paths of elements that are never aligned."""
_VELO_PATH = re.compile(
    r"(?:VP(?:System)?/)?(?:VP(?:System)?|(?:VP(Left|Right)/?)?(?:Module(\d+)(?:WithSupport)?)?"
    r"(?:/Module\d+)?(?:/(?:Ladder|Sensor)_?(\d))?)"
)
_UT_PATH = re.compile(r"(?:UT|(?:UT/)?(UTaX|UTaU|UTbV|UTbX)(?:Layer)?(?:/Sector_?(\d+))?)")
_FT_PATH = re.compile(
    r"FT(?:/T([123])(?:/L?(X1|U|V|X2)(?:/HL([01]))?(?:/Q([0-3]))?(?:/M([0-5]))?(?:/Mat_?([0-3]))?)?)?"
)


def read_conditions(path: Path) -> dict[str, Condition]:
    """Read the elements of a YAML file; messages have the line of an element that is wrong."""
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
    return numbers


def _number(node: yaml.Node, name: str, where: str) -> float:
    text = str(node.value).strip()
    match = _NUMBER.fullmatch(text)
    if match is None or not math.isfinite(float(match[1])):
        raise ParkfError(f"{where}: {name}: '{text}' is no number, alone or with a unit")
    units = _UNITS[name]
    if match[2] is not None and match[2] not in units:
        raise ParkfError(f"{where}: {name}: unit of '{text}' is none of {', '.join(units)}")
    unit = "rad" if units is _ANGLES else "mm"
    value = float(match[1]) * units[match[2] or unit]
    if abs(value) > _LARGEST.get(name, math.inf):
        what = f"{value:g} {unit}, expected up to {_LARGEST[name]:g}; is it another unit?"
        raise ParkfError(f"{where}: {name}: '{text}' is {what}")
    return value


def element_of(name: str) -> Element | None:
    """Return the element that a path names; None if the element is unknown."""
    path = _ABOVE.sub("", name)
    if match := _FT_PATH.fullmatch(path):
        station, layer, *below = match.groups()
        half, quarter, module, mat = (None if number is None else int(number) for number in below)
        if quarter is not None:
            if half not in (None, quarter % 2):
                return None
            half = quarter % 2
        if (module is not None and half is None) or (mat is not None and None in (module, quarter)):
            return None
        return ("FT", station and int(station), layer and _SCIFI.index(layer), half, quarter, module, mat)
    if match := _UT_PATH.fullmatch(path):
        layer, sector = match.groups()
        return ("UT", layer and _UT.index(layer), sector and int(sector))
    if path and (match := _VELO_PATH.fullmatch(path)):
        side, number, sensor = match.groups()
        if number is None:
            return None if sensor is not None else ("VELO", side and side.lower(), None)
        return ("VELO", int(number), sensor and int(sensor))
    return None


def import_alignment(
    conditions: Mapping[str, Condition], geometry: Geometry, *, tag: str
) -> tuple[dict[str, Any], list[str]]:
    """Convert conditions to the alignment file of that tag, for a geometry without an alignment.

    Return its content, and the names of elements unknown to the geometry; at least one must be known.
    """
    entries = [(target, key, _chain(target, key), origin) for target, key, origin in _entries(geometry)]
    origins: dict[Element, list[Floats]] = {}
    for _, _, chain, origin in entries:
        for element in chain:
            origins.setdefault(element, []).append(origin)
    centres = {element: np.mean(of, axis=0) for element, of in origins.items()}
    motions: dict[Element, tuple[str, Motion]] = {}
    lacking: list[str] = []
    for name, condition in conditions.items():
        named = element_of(name)
        if named is None or named not in centres:
            lacking.append(name)
        elif named in motions:
            raise ParkfError(f"alignment: {motions[named][0]} and {name} are the same element")
        else:
            numbers = [*condition["position"].tolist(), *condition["rotation"].tolist()]
            own = Displacement(**dict(zip(Displacement.model_fields, numbers, strict=True)))
            motions[named] = (name, Motion.of(own, centres[named] + condition["pivot"]))
    if not motions:
        raise ParkfError(f"alignment: the geometry has none of its elements, such as {lacking[0]}")
    document: dict[str, Any] = {"tag": tag}
    document |= {name: {} for name in SECTIONS}
    for target, key, chain, _ in entries:
        if above := [motions[element][1] for element in chain if element in motions]:
            try:
                displacement = chained(above).about(centres[chain[-1]])
            except ValidationError as error:
                reason = "; ".join(f"{one['loc'][0]}: {one['msg']}" for one in error.errors())
                raise ParkfError(
                    f"alignment: {target} {key}: too much with its parents': {reason}"
                ) from error
            if rounded := displacement.rounded(12, 12):
                document[target][key] = rounded
    return document, lacking


def _entries(geometry: Geometry) -> Iterator[tuple[str, int | str, Floats]]:
    """Yield the entries that an alignment file may have: section, key, and centre of the part (3,), mm."""
    for side in ("left", "right"):
        yield "velo_halves", side, geometry.velo_centre
    for section, planes in _LAYERS.items():
        for number, plane in enumerate(planes):
            yield section, number, geometry.frames[plane].origin
    for plane, pieces in sorted(geometry.pieces.items()):
        section = next(name for name, planes in _PIECES.items() if plane in planes)
        for number, origin in zip(pieces.numbers.tolist(), pieces.origin, strict=True):
            yield section, number, origin


def _chain(section: str, key: int | str) -> list[Element]:
    """Elements whose motions an entry of an alignment file contains, from the largest down to the entry's."""
    if section == "velo_halves":
        return [("VELO", None, None), ("VELO", key, None)]
    number = int(key)
    if section == "velo_modules":
        return [("VELO", number, None)]
    if section == "velo_sensors":
        return [("VELO", *divmod(number, SENSORS_PER_MODULE))]
    if section == "ut_layers":
        return [("UT", None, None), ("UT", number, None)]
    if section == "ut_sectors":
        layer = bisect_right(UT_FIRST_SECTOR, number) - 1
        return [("UT", layer, number - UT_FIRST_SECTOR[layer])]
    if section == "scifi_layers":
        station, layer = divmod(number, len(_SCIFI))
        named: list[Element] = [(), (station + 1,), (station + 1, layer)]
        return [("FT", *parts, *(None,) * (6 - len(parts))) for parts in named]
    layer, rest = divmod(number, MATS_PER_LAYER)
    quarter, rest = divmod(rest, 32)
    module, mat = divmod(rest, 4)
    below: list[Element] = [
        *((None, None, None), (quarter, None, None), (None, module, None)),
        *((quarter, module, None), (quarter, module, mat)),
    ]
    return [("FT", layer // 4 + 1, layer % 4, quarter % 2, *parts) for parts in below]


def export_alignment(alignment: Alignment, path: Path) -> None:
    """Write an alignment as LHCb's conditions, a YAML file in mm and mrad."""
    lines = [f"# Alignment {alignment.tag}; mm and mrad about the elements' centres, along LHCb's axes."]
    for section in SECTIONS:
        for key, displacement in sorted(getattr(alignment, section).items()):
            shift = ", ".join(f"{value!r}*mm" for value in displacement.shift.tolist())
            angles = [displacement.rx, displacement.ry, displacement.rz]
            turn = ", ".join(f"{float(f'{1e3 * angle:.12g}')!r}*mrad" for angle in angles)
            name = _path(_chain(section, key)[-1])
            lines.append(f"{name}: {_TAG} {{position: [{shift}], rotation: [{turn}]}}")
    with replacing(path) as temporary:
        temporary.write_text("\n".join(lines) + "\n", "utf-8")


def _path(element: Element) -> str:
    """LHCb's path of an element that can have an entry in an alignment file."""
    detector, *parts = element
    if detector == "VELO":
        module, sensor = parts
        if isinstance(module, str):
            return f"VP{module.capitalize()}"
        return f"Module{module:02d}WithSupport" + ("" if sensor is None else f"/Sensor{sensor}")
    if detector == "UT":
        layer, sector = parts
        return _UT[layer] + ("" if sector is None else f"/Sector{sector}")
    station, layer, half, quarter, module, mat = parts
    path = f"FT/T{station}/L{_SCIFI[layer]}"
    return path if half is None else f"{path}/HL{half}/Q{quarter}/M{module}/Mat{mat}"
