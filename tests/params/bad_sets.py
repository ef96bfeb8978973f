"""The collection of sets that every reader must refuse, each with the reason for the refusal.

A case is a change to a whole set, and the text of the message behind the folder's path. For text that is not
JSON, each reader adds in its own way where the fault is.
"""

import hashlib
import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np

from parkf.params.parameter_set import ParameterSet

Spoil = Callable[[Path], object]


def make(parameters: ParameterSet, folder: Path) -> dict[Path, str]:
    """Write all bad sets below `folder`; reasons by path."""
    reasons = {}
    for name, (spoil, reason) in CASES.items():
        path = folder / name.replace(" ", "-")
        parameters.save(path)
        spoil(path)
        reasons[path] = reason
    return reasons


def renewed(text: bytes) -> bytes:
    """Put the checksum of a manifest's text into it, if it has a place for one."""
    found = re.search(rb'"checksum": ?"([0-9a-f]{64})"', text)
    if found is None:
        return text
    begin, end = found.span(1)
    checksum = hashlib.sha256(text[:begin] + b"0" * 64 + text[end:]).hexdigest().encode()
    return text[:begin] + checksum + text[end:]


def edit(change: Callable[[dict], object]) -> Spoil:
    """Change the manifest, and its checksum with it."""

    def spoil(folder: Path) -> None:
        path = folder / "manifest.json"
        content = json.loads(path.read_text())
        change(content)
        path.write_bytes(renewed(json.dumps(content).encode()))

    return spoil


def _replace(old: str, new: str) -> Spoil:
    """Change the manifest's text once, and its checksum with it."""

    def spoil(folder: Path) -> None:
        path = folder / "manifest.json"
        text = path.read_text()
        assert old in text
        path.write_bytes(renewed(text.replace(old, new, 1).encode("utf-8", "surrogateescape")))

    return spoil


def _silently(old: bytes, new: bytes) -> Spoil:
    """Change the manifest's text once, as a disk fault would, without its checksum."""

    def spoil(folder: Path) -> None:
        path = folder / "manifest.json"
        content = path.read_bytes()
        assert old in content
        path.write_bytes(content.replace(old, new, 1))

    return spoil


def _text(text: str) -> Spoil:
    return lambda folder: (folder / "manifest.json").write_text(text)


def _blob(file: str, entry: str, change: Callable[[np.ndarray], np.ndarray]) -> Spoil:
    """Change a blob's numbers, and the checksum with them."""

    def spoil(folder: Path) -> None:
        path = folder / file
        content = change(np.fromfile(path, dtype="<f4")).tobytes()
        path.write_bytes(content)
        checksum = hashlib.sha256(content).hexdigest()
        edit(lambda manifest: manifest["blobs"][entry].update(sha256=checksum))(folder)

    return spoil


def _set(position: int, value: float) -> Callable[[np.ndarray], np.ndarray]:
    def change(numbers: np.ndarray) -> np.ndarray:
        numbers[position] = value
        return numbers

    return change


def _truncate(folder: Path) -> None:
    blob = folder / "constant.f32"
    blob.write_bytes(blob.read_bytes()[:-4])


def _lengthen(folder: Path) -> None:
    blob = folder / "global.f32"
    blob.write_bytes(blob.read_bytes() + bytes(4))


def _flip_a_bit(folder: Path) -> None:
    blob = folder / "global.f32"
    content = bytearray(blob.read_bytes())
    content[1000] ^= 1
    blob.write_bytes(bytes(content))


def _remove(name: str) -> Spoil:
    return lambda folder: (folder / name).unlink()


def _pipe(folder: Path) -> None:
    (folder / "global.f32").unlink()
    os.mkfifo(folder / "global.f32")


def _folder(folder: Path) -> None:
    (folder / "constant.f32").unlink()
    (folder / "constant.f32").mkdir()


def _pad(folder: Path) -> None:
    path = folder / "manifest.json"
    path.write_text(path.read_text() + " " * (4 << 20))


def _number(change: Callable[[dict], object]) -> Spoil:
    return edit(lambda c: change(c["layout"][0]["sets"][0]["numbers"][0]))


VERSION = "^[0-9]{4}-[a-z0-9][a-z0-9-]{0,40}-r[0-9]{3}$"
DAMAGED = "not a manifest as it was written: the content does not have the checksum that it says"
CASES: dict[str, tuple[Spoil, str]] = {
    "truncated": (_truncate, "constant.f32: 1860 bytes, expected 1864 (466 numbers of float32)"),
    "too long": (_lengthen, "global.f32: 960004 bytes, expected 960000 (240000 numbers of float32)"),
    "changed": (_flip_a_bit, "global.f32: sha256 "),
    "no blob": (_remove("constant.f32"), "constant.f32: no such file"),
    "blob is a folder": (_folder, "constant.f32: no such file"),
    "blob is a pipe": (_pipe, "global.f32: no such file"),
    "no manifest": (_remove("manifest.json"), "manifest.json: no such file"),
    "cut": (lambda f: os.truncate(f / "manifest.json", 5000), "manifest.json: not a JSON file"),
    "more after the end": (_replace("{", "{}{"), "manifest.json: not a JSON file"),
    "NaN": (_replace('"velo_sigma": 0.0125', '"velo_sigma": NaN'), "manifest.json: not a JSON file"),
    "no UTF-8": (_replace('"test"', '"\udcff"'), "manifest.json: byte 0xff is no UTF-8, expected text"),
    "half a character": (_replace('"test"', '"\\ud800"'), "manifest.json: not a JSON file"),
    "very deep": (_text("[" * 200_000), "manifest.json: not a JSON file"),
    "key twice": (
        _replace('"source": "test"', '"source": "test", "source": "x"'),
        "manifest.json: not a JSON file that can be read: key 'source' is there twice",
    ),
    "large": (_pad, "manifest.json: more than 4194304 bytes"),
    "newer format": (
        edit(lambda c: c.update(format_version=10, minimum_reader=10)),
        "manifest.json: minimum_reader: got 10, expected at most 9; read it with a newer version of parkf",
    ),
    "older format": (
        edit(lambda c: c.update(format_version=1)),
        "manifest.json: format_version: got 1, expected 2 or newer; make the set again",
    ),
    "other layout": (
        edit(lambda c: c.update(layout_version=9)),
        "manifest.json: layout_version: got 9, expected 1 of forms 'production'",
    ),
    "other forms": (
        edit(lambda c: c.update(forms="improved")),
        "manifest.json: layout_version: got 1, expected 3 or 2 of forms 'improved'",
    ),
    "unknown forms": (
        edit(lambda c: c.update(forms="best")),
        "manifest.json: forms: got the text 'best', expected 'improved' or 'production'",
    ),
    "unknown field": (edit(lambda c: c.update(extra=1)), "manifest.json: extra: unknown key 'extra'; known"),
    "infinite": (
        _replace('"velo_sigma": 0.0125', '"velo_sigma": 1e999'),
        "manifest.json: not a JSON file that can be read: constants.velo_sigma: got inf, expected a finite",
    ),
    "no resolution": (
        edit(lambda c: c["constants"].update(velo_sigma=0)),
        "manifest.json: constants.velo_sigma: got 0, expected more than 0",
    ),
    "other count": (
        edit(lambda c: c["blobs"]["table"].update(numbers=1)),
        "global.f32: the manifest says 1 numbers, expected 240000",
    ),
    "another number than was written": (_silently(b"0.0125", b"0.0135"), f"manifest.json: {DAMAGED}"),
    "another blank than was written": (_silently(b" ", b"\t"), f"manifest.json: {DAMAGED}"),
    "without its checksum": (edit(lambda c: c.pop("checksum")), "manifest.json: checksum: missing; expected"),
    "text for a checksum": (edit(lambda c: c.update(checksum="g" * 64)), f"manifest.json: {DAMAGED}"),
    "path for a version": (
        edit(lambda c: c.update(version="../../etc/2026-run3-r001")),
        f"manifest.json: version: got the text '../../etc/2026-run3-r001', expected text like '{VERSION}'",
    ),
    "duplicate block": (
        edit(lambda c: c["layout"][1].update(name="V")),
        "manifest.json: layout: got block, set and index ('V', 'forward', 0), expected ('VUT', 'forward', 0)",
    ),
    "block twice": (
        edit(lambda c: c["layout"].append(c["layout"][0])),
        "manifest.json: layout: got block, set and index ('V', 'forward', 0), expected None",
    ),
    "other value": (
        _number(lambda n: n.update(value=0.25)),
        "manifest.json: layout: block V, forward, index 0: got 0.25, expected ",
    ),
    "NaN in a block": (
        _blob("constant.f32", "constant", _set(30, np.nan)),
        "constant.f32: index 30: got nan, expected a number",
    ),
    "infinity in the last number": (
        _blob("constant.f32", "constant", _set(465, -np.inf)),
        "constant.f32: index 465: got -inf, expected a number",
    ),
    "infinity in the table": (
        _blob("global.f32", "table", _set((3 * 50 + 7) * 80 + 11, np.inf)),
        f"global.f32: index {(3 * 50 + 7) * 80 + 11}: got inf, expected a number",
    ),
    "other endianness": (
        _blob("constant.f32", "constant", lambda numbers: np.arange(466).astype(">f4").view("<f4")),
        "manifest.json: layout: block V, forward, index 0: got ",
    ),
}
