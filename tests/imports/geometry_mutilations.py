"""Files of a geometry or an alignment that are damaged, mistaken for others, or in other units.

`python tests/imports/geometry_mutilations.py` writes the message for each to
the table beside this file. A test compares that table with what happens.
"""

import struct
import sys
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
    """Yield (change, name of the dump, its bytes)."""
    found = dump_writers.detector()
    velo, ut, scifi = (
        dump_writers.velo_bytes(found),
        dump_writers.ut_bytes(found),
        dump_writers.scifi_bytes(found),
    )
    beam, new_beam = dump_writers.beam_bytes(), dump_writers.beam_bytes(new=True)
    nan = [float("nan")]
    yield "empty", "velo_geometry.bin", b""
    yield "ends early", "velo_geometry.bin", velo[:8000]
    yield "ends within a count", "velo_geometry.bin", velo[: _VELO_X - 5]
    yield "bytes in the other order", "velo_geometry.bin", struct.pack(">Q", 52) + velo[8:]
    yield "the UT's dump", "velo_geometry.bin", ut
    yield "the SciFi's dump", "velo_geometry.bin", scifi
    yield "a text file", "velo_geometry.bin", b"# geometry\n" * 40
    yield "51 modules", "velo_geometry.bin", struct.pack("<Q", 51) + velo[8:]
    yield "a NaN among the places", "velo_geometry.bin", _floats(velo, _VELO_ROWS + 400, nan)
    yield "an infinite z", "velo_geometry.bin", _floats(velo, _VELO_Z + 40, [float("inf")])
    yield "two modules swapped", "velo_geometry.bin", _floats(velo, _VELO_Z, [-275.0, -287.5])
    yield "in m", "velo_geometry.bin", _places_scaled(velo, 1e-3)
    yield "in cm", "velo_geometry.bin", _places_scaled(velo, 0.1)
    yield "rotations that stretch", "velo_geometry.bin", _mirrored(velo)
    yield "20 bytes more", "velo_geometry.bin", velo + bytes(20)
    yield "ends early", "ut_geometry.bin", ut[:30000]
    yield "bytes in the other order", "ut_geometry.bin", _swapped(ut)
    yield "the VELO's dump", "ut_geometry.bin", velo
    yield "1047 sectors", "ut_geometry.bin", struct.pack("<I", 1047) + ut[4:]
    yield "a version to come", "ut_geometry.bin", struct.pack("<I", 1048 + (9 << 16)) + ut[4:]
    yield "version 1 without its array", "ut_geometry.bin", struct.pack("<I", 1048 + (1 << 16)) + ut[4:]
    yield "a NaN in x", "ut_geometry.bin", _floats(ut, _UT_ARRAYS + 4 * (5 * 1048 + 17), nan)
    yield "z in cm", "ut_geometry.bin", _scaled(ut, _UT_ARRAYS + 4 * 7 * 1048, 1048, 0.1)
    yield "pitch in µm", "ut_geometry.bin", _scaled(ut, _UT_ARRAYS, 1048, 1e3)
    yield "strips a tenth of a pitch apart", "ut_geometry.bin", _scaled(ut, _UT_ARRAYS + 8 * 1048, 1048, 0.1)
    yield "x in µm", "ut_geometry.bin", _scaled(ut, _UT_ARRAYS + 20 * 1048, 1048, 1e3)
    yield (
        "layers swapped",
        "ut_geometry.bin",
        _floats(ut, _UT_ARRAYS + 28 * 1048, np.frombuffer(ut, "<f4", 1048, _UT_ARRAYS + 28 * 1048)[::-1]),
    )
    yield "ends early", "scifi_geometry.bin", scifi[:-4]
    yield "bytes in the other order", "scifi_geometry.bin", _swapped(scifi)
    yield "ten layers", "scifi_geometry.bin", scifi[:8] + struct.pack("<I", 10) + scifi[12:]
    yield "the UT's dump", "scifi_geometry.bin", ut
    yield "1020 mats", "scifi_geometry.bin", scifi[: 4 * 54] + struct.pack("<I", 1020) + scifi[4 * 55 :]
    yield "a mat without a place", "scifi_geometry.bin", _floats(scifi, _SCIFI_ARRAYS + 4 * 9 * 1536, [0.0])
    yield "a NaN in z", "scifi_geometry.bin", _floats(scifi, _SCIFI_ARRAYS + 4 * (2 * 1536 + 5), nan)
    yield "in cm", "scifi_geometry.bin", _scaled(scifi, _SCIFI_ARRAYS, 3 * 1536, 0.1)
    yield "directions twice as long", "scifi_geometry.bin", _scaled(scifi, _SCIFI_ARRAYS + 12 * 1536, 4608, 2)
    yield "4 bytes long", "beamline.bin", beam[:4]
    yield "a NaN", "beamline.bin", struct.pack("<2f", 0.7, float("nan"))
    yield "in µm", "beamline.bin", struct.pack("<2f", 700.0, -200.0)
    yield "a version that is none", "beamline.bin", struct.pack("<f", 0.7) + new_beam[4:]
    yield "a name that is none", "geometry.bin", velo


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


def geometry_cases():
    """Yield (change, content of a geometry file)."""
    original = yaml.safe_load(BASE.read_text())

    def changed(change):
        content = yaml.safe_load(yaml.safe_dump(original))
        change(content)
        return content

    yield "SciFi of ten layers", changed(lambda c: c["scifi"].update(layers=c["scifi"]["layers"][:10]))
    yield "UT of three layers", changed(lambda c: c["ut"]["layers"].pop())
    yield (
        "UT at 2.3 m in cm",
        changed(lambda c: [layer.update(z=0.1 * layer["z"]) for layer in c["ut"]["layers"]]),
    )
    yield "a sector twice", changed(lambda c: c["ut"]["layers"][0].update(pieces=[_PIECE, _PIECE]))
    yield (
        "a sector that LHCb does not have",
        changed(lambda c: c["ut"]["layers"][0].update(pieces=[_PIECE | {"number": 1048}])),
    )

    yield (
        "half the acceptance",
        changed(lambda c: [x.update(half_width=1300.0) for x in c["scifi"]["layers"]]),
    )
    yield "stereo layers without a slope", changed(lambda c: [x.update(dxdy=0.0) for x in c["ut"]["layers"]])
    yield "halves of the VELO swapped", changed(lambda c: c["velo"].update(left=_left(c), right=_right(c)))
    yield "material ten times too thick", changed(lambda c: c["scifi"].update(thickness=49.0))


def _left(content):
    return content["velo"]["left"] | {"sensors": content["velo"]["right"]["sensors"]}


def _right(content):
    return content["velo"]["right"] | {"sensors": content["velo"]["left"]["sensors"]}


_PIECE = {"number": 3, "x": 0.0, "y": 0.0, "half_width": 48.0, "half_height": 48.0}


def outcomes():
    """Yield rows of the table: entry point, change, verdict, message."""
    # Errors other than ParkfError are not caught, and fail the test.
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        out = {"geometry": folder / "g.yaml", "alignment": folder / "a.yaml"}
        for what, dump, content in dump_cases():
            (folder / dump).write_bytes(content)
            yield (
                f"geometry, `{dump}`",
                what,
                *_told(lambda d=dump: import_dumps([folder / d], base=BASE, **out), folder),
            )
            (folder / dump).unlink()
        yield (
            "geometry",
            "a folder without dumps",
            *_told(lambda: import_dumps([folder], base=BASE, **out), folder),
        )
        path = folder / "conditions.yaml"
        for what, content in CONDITIONS:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
            told = _told(
                lambda: import_conditions([path], folder / "a.yaml", geometry=BASE, tag=None), folder
            )
            yield "alignment", what, *told
        path = folder / "geometry.yaml"
        for what, content in geometry_cases():
            path.write_text(yaml.safe_dump(content))
            yield "geometry check", what, *_told(lambda: doubts(load_geometry(path)), folder)


def _told(act, folder):
    try:
        doubted = act()
    except ParkfError as error:
        return "refused", str(error).replace(f"{folder}/", "").replace(str(folder), "FOLDER").replace(
            "\n", "; "
        )
    return ("doubtful", "; ".join(doubted[:2])) if isinstance(doubted, list) and doubted else ("ok", "")


def page():
    """Return the text of the page."""
    rows = (" | ".join(cell.replace("|", "\\|") for cell in row) for row in outcomes())
    return HEAD + "".join(f"| {row} |\n" for row in rows)


if __name__ == "__main__":
    TABLE.write_text(page())
    sys.stdout.write(TABLE.read_text())
