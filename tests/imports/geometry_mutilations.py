"""Files of a geometry or an alignment that are damaged, mistaken for others, or in other units.

geometry_mistakes.txt has the message for each; test_mutilations.py compares it, and writes it.
"""

import struct
import tempfile
from pathlib import Path

import dump_writers
import numpy as np
import yaml

from parkf.detector.geometry import load_geometry
from parkf.detector.soundness import doubts
from parkf.imports.geometry.folder import import_conditions, import_dumps
from parkf.io.errors import ParkfError

ROOT = Path(__file__).parents[2]
BASE = ROOT / "data/geometry/run3.yaml"
TABLE = Path(__file__).with_name("geometry_mistakes.txt")
HEAD = "| door | what was done | verdict | message |\n|---|---|---|---|\n"

_VELO_Z, _VELO_X = 8, 8 + 4 * 52 + 8
_VELO_ROWS = _VELO_X + 4 * 768 + 8 + 4 * 768 + 16
_UT_ARRAYS = 4 + 4 * 1048
_SCIFI_ARRAYS = 4 * (56 + 1 + 240 + 1)


def _floats(content, begin, values):
    return content[:begin] + struct.pack(f"<{len(values)}f", *values) + content[begin + 4 * len(values) :]


def _scaled(content, begin, count, factor):
    return _floats(content, begin, factor * np.frombuffer(content, "<f4", count, begin))


def _swapped(content):
    return np.frombuffer(content, "<u4").byteswap().tobytes()


def _places_scaled(velo, factor):
    """Scale all lengths in the sensors' positions to another unit."""
    rows = np.frombuffer(velo, "<f4", 208 * 12, _VELO_ROWS).reshape(208, 12).copy()
    rows[:, 9:] *= factor
    return _floats(_scaled(velo, _VELO_Z, 52, factor), _VELO_ROWS, rows.ravel())


def _mirrored(velo):
    rows = np.frombuffer(velo, "<f4", 208 * 12, _VELO_ROWS).reshape(208, 12).copy()
    rows[:, :9] *= 1.001
    return _floats(velo, _VELO_ROWS, rows.ravel())


def dump_cases():
    """Return the changes of each dump, and its changed bytes."""
    found, pack, nan = dump_writers.detector(), struct.pack, [float("nan")]
    velo, ut, scifi = (getattr(dump_writers, f"{name}_bytes")(found) for name in ("velo", "ut", "scifi"))
    beam, new_beam = dump_writers.beam_bytes(), dump_writers.beam_bytes(new=True)
    ut_z = _UT_ARRAYS + 28 * 1048
    return {
        "velo_geometry.bin": {
            "empty": b"",
            "ends early": velo[:8000],
            "ends within a count": velo[: _VELO_X - 5],
            "bytes in the other order": pack(">Q", 52) + velo[8:],
            "the UT's dump": ut,
            "the SciFi's dump": scifi,
            "a text file": b"# geometry\n" * 40,
            "51 modules": pack("<Q", 51) + velo[8:],
            "a NaN among the places": _floats(velo, _VELO_ROWS + 400, nan),
            "an infinite z": _floats(velo, _VELO_Z + 40, [float("inf")]),
            "two modules swapped": _floats(velo, _VELO_Z, [-275.0, -287.5]),
            "in m": _places_scaled(velo, 1e-3),
            "in cm": _places_scaled(velo, 0.1),
            "rotations that stretch": _mirrored(velo),
            "20 bytes more": velo + bytes(20),
        },
        "ut_geometry.bin": {
            "ends early": ut[:30000],
            "bytes in the other order": _swapped(ut),
            "the VELO's dump": velo,
            "1047 sectors": pack("<I", 1047) + ut[4:],
            "a version to come": pack("<I", 1048 + (9 << 16)) + ut[4:],
            "version 1 without its array": pack("<I", 1048 + (1 << 16)) + ut[4:],
            "a NaN in x": _floats(ut, _UT_ARRAYS + 4 * (5 * 1048 + 17), nan),
            "z in cm": _scaled(ut, ut_z, 1048, 0.1),
            "pitch in µm": _scaled(ut, _UT_ARRAYS, 1048, 1e3),
            "strips a tenth of a pitch apart": _scaled(ut, _UT_ARRAYS + 8 * 1048, 1048, 0.1),
            "x in µm": _scaled(ut, _UT_ARRAYS + 20 * 1048, 1048, 1e3),
            "layers swapped": _floats(ut, ut_z, np.frombuffer(ut, "<f4", 1048, ut_z)[::-1]),
        },
        "scifi_geometry.bin": {
            "ends early": scifi[:-4],
            "bytes in the other order": _swapped(scifi),
            "ten layers": scifi[:8] + pack("<I", 10) + scifi[12:],
            "the UT's dump": ut,
            "1020 mats": scifi[: 4 * 54] + pack("<I", 1020) + scifi[4 * 55 :],
            "a mat without a place": _floats(scifi, _SCIFI_ARRAYS + 4 * 9 * 1536, [0.0]),
            "a NaN in z": _floats(scifi, _SCIFI_ARRAYS + 4 * (2 * 1536 + 5), nan),
            "in cm": _scaled(scifi, _SCIFI_ARRAYS, 3 * 1536, 0.1),
            "directions twice as long": _scaled(scifi, _SCIFI_ARRAYS + 12 * 1536, 4608, 2),
        },
        "beamline.bin": {
            "4 bytes long": beam[:4],
            "a NaN": pack("<2f", 0.7, float("nan")),
            "in µm": pack("<2f", 700.0, -200.0),
            "a version that is none": pack("<f", 0.7) + new_beam[4:],
        },
        "geometry.bin": {"a name that is none": velo},
    }


CONDITIONS = (
    ("not YAML", "VPLeft: !alignment {position: [0, 0"),
    ("empty", ""),
    ("a list", "- VPLeft\n- VPRight\n"),
    ("another tag", "VPLeft: !python/object:os.system {position: [0, 0, 0]}"),
    ("no tag", "VPLeft: {position: [0, 0, 0], rotation: [0, 0, 0]}"),
    ("an expression", "VPLeft: !alignment {position: [2*3*mm, 0, 0], rotation: [0, 0, 0]}"),
    ("NaN", "VPLeft: !alignment {position: [.nan, 0, 0], rotation: [0, 0, 0]}"),
    ("an angle for a length", "VPLeft: !alignment {position: [0.1*mrad, 0, 0], rotation: [0, 0, 0]}"),
    ("a unit that is none", "VPLeft: !alignment {position: [0.1*inch, 0, 0], rotation: [0, 0, 0]}"),
    ("two numbers", "VPLeft: !alignment {position: [0.1*mm, 0], rotation: [0, 0, 0]}"),
    ("a key that is none", "VPLeft: !alignment {position: [0, 0, 0], rotations: [0, 0, 0]}"),
    ("mrad without their unit", "VPLeft: !alignment {position: [0, 0, 0], rotation: [0.3, 0, 0]}"),
    (
        "an element twice",
        "VPLeft: !alignment {position: [0, 0, 0]}\nVPLeft: !alignment {position: [1, 0, 0]}",
    ),
    ("one element by two names", "VPLeft: !alignment {position: [0, 0, 0]}\nVP/VPLeft: !alignment {}"),
    ("elements of the RICH alone", "Rich1/Mirror3: !alignment {position: [0, 0, 0], rotation: [0, 0, 0]}"),
    ("not UTF-8", b"VPLeft: !alignment {position: [0, 0, 0]} # \xff"),
)


_PIECE = {"number": 3, "x": 0.0, "y": 0.0, "half_width": 48.0, "half_height": 48.0}
# Changes of a geometry file.
GEOMETRIES = {
    "SciFi of ten layers": lambda c: c["scifi"].update(layers=c["scifi"]["layers"][:10]),
    "UT of three layers": lambda c: c["ut"]["layers"].pop(),
    "UT at 2.3 m in cm": lambda c: [layer.update(z=0.1 * layer["z"]) for layer in c["ut"]["layers"]],
    "a sector twice": lambda c: c["ut"]["layers"][0].update(pieces=[_PIECE, _PIECE]),
    "a sector that LHCb does not have": lambda c: c["ut"]["layers"][0].update(
        pieces=[_PIECE | {"number": 1048}]
    ),
    "half the acceptance": lambda c: [x.update(half_width=1300.0) for x in c["scifi"]["layers"]],
    "stereo layers without a slope": lambda c: [x.update(dxdy=0.0) for x in c["ut"]["layers"]],
    "halves of the VELO swapped": lambda c: _exchange(c["velo"]["left"], c["velo"]["right"]),
    "material ten times too thick": lambda c: c["scifi"].update(thickness=49.0),
}


def _exchange(left, right):
    left["sensors"], right["sensors"] = right["sensors"], left["sensors"]


def outcomes():
    """Yield rows of the table: entry point, change, verdict, message."""
    # Errors other than ParkfError are not caught, and fail the test.
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        out = {"geometry": folder / "g.yaml", "alignment": folder / "a.yaml"}

        def dumped(path):
            return _told(lambda: import_dumps([path], base=BASE, **out), folder)

        for dump, changes in dump_cases().items():
            for what, content in changes.items():
                (folder / dump).write_bytes(content)
                yield f"geometry, `{dump}`", what, *dumped(folder / dump)
            (folder / dump).unlink()
        yield "geometry", "a folder without dumps", *dumped(folder)
        path = folder / "conditions.yaml"
        for what, content in CONDITIONS:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
            told = _told(lambda: import_conditions([path], out["alignment"], geometry=BASE, tag=None), folder)
            yield "alignment", what, *told
        path = folder / "geometry.yaml"
        for what, change in GEOMETRIES.items():
            content = yaml.safe_load(BASE.read_text())
            change(content)
            path.write_text(yaml.safe_dump(content))
            yield "geometry check", what, *_told(lambda: doubts(load_geometry(path)), folder)


def _told(act, folder):
    try:
        doubted = act()
    except ParkfError as error:
        told = str(error).replace(f"{folder}/", "").replace(str(folder), "FOLDER")
        return "refused", told.replace("\n", "; ")
    return ("doubtful", "; ".join(doubted[:2])) if isinstance(doubted, list) and doubted else ("ok", "")


def page():
    """Return the text of the page."""
    rows = (" | ".join(cell.replace("|", "\\|") for cell in row) for row in outcomes())
    return HEAD + "".join(f"| {row} |\n" for row in rows)
