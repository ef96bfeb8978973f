"""The binary form of a set: all of it as one run of bytes, whose SHA-256 is the digest of the set.

``parkf params export --format binary`` writes it as a file. The C++ header reads nothing else. All numbers
are little-endian; a *text* and a *list* begin with their length in bytes or in numbers, uint32.

==============  ========================================================================================
``PARKFSET``    8 bytes
format          uint32, :data:`FORMAT`
texts           version (empty before publication), forms, fingerprint of the formulas
layout          uint32
constants       list of float64: velo_sigma, beam_x, beam_y (mm), velo_loss (MeV)
sections        uint32, how many; each has a text, its name; uint32, the version of its formulas; a list of
                float64; and a list of float32, the bytes of the file of this name
manifest        text, the bytes of manifest.json
==============  ========================================================================================

The sections are the files of numbers in the order below, as far as the set has them, and then ``electron``,
whose numbers are all float64. Only ``slices.f32`` has both: its float64 are z of the first and the last
slice, edges in x and in y, losses before the UT and before the SciFi, nodes in x and in y, number of slices,
bend in the centre of each, and z, angle and opening of each scatterer.

The form of a published set never changes, because its digest would change.
"""

import hashlib
import struct
from collections.abc import Callable, Iterator, Sequence

from parkf.params.manifest import Manifest, Slices, numbers_in

MAGIC, FORMAT = b"PARKFSET", 1
CONSTANT_FILE, TABLE_FILE, SCORE_FILE = "constant.f32", "global.f32", "ghosts.f32"
RICH_FILE, SLICES_FILE, MANIFEST_FILE = "rich.f32", "slices.f32", "manifest.json"
ELECTRON = "electron"

Section = tuple[str, int, Sequence[float]]


def binary_form(manifest: Manifest, read: Callable[[str], bytes]) -> bytes:
    """Put a set together; `read` returns the bytes of a file of the set by its name."""
    constants = manifest.constants
    sections = list(_sections(manifest))
    parts = [
        MAGIC,
        _integer(FORMAT),
        *(_text(one.encode()) for one in (manifest.version or "", manifest.forms, manifest.formulas)),
        _integer(manifest.layout_version),
        _doubles((constants.velo_sigma, constants.beam_x, constants.beam_y, constants.velo_loss)),
        _integer(len(sections)),
    ]
    for name, version, numbers in sections:
        blob = b"" if name == ELECTRON else read(name)
        parts += [_text(name.encode()), _integer(version), _doubles(numbers), _integer(len(blob) // 4), blob]
    return b"".join([*parts, _text(read(MANIFEST_FILE))])


def digest(form: bytes) -> str:
    """Return the digest of a set from its binary form, 64 hexadecimal digits."""
    return hashlib.sha256(form).hexdigest()


def _sections(manifest: Manifest) -> Iterator[Section]:
    yield CONSTANT_FILE, 0, ()
    yield TABLE_FILE, 0, ()
    if manifest.ghost_score is not None:
        yield SCORE_FILE, manifest.ghost_score.version, ()
    if manifest.rich is not None:
        yield RICH_FILE, 0, ()
    if manifest.slices is not None:
        yield SLICES_FILE, manifest.slices.version, _of_slices(manifest.slices)
    if manifest.electron is not None:
        yield ELECTRON, manifest.electron.version, [n.value for *_, n in numbers_in(manifest.electron.layout)]


def _of_slices(slices: Slices) -> list[float]:
    return [
        *(slices.z_first, slices.z_last, slices.edge_x, slices.edge_y),
        *(slices.loss_before_ut, slices.loss_before_scifi),
        *(slices.nodes_x, slices.nodes_y, len(slices.centre), *slices.centre),
        *(number for one in slices.scatterers for number in (one.z, one.angle, one.opening)),
    ]


def _integer(value: int) -> bytes:
    return struct.pack("<I", value)


def _text(content: bytes) -> bytes:
    return _integer(len(content)) + content


def _doubles(numbers: Sequence[float]) -> bytes:
    return _integer(len(numbers)) + struct.pack(f"<{len(numbers)}d", *numbers)
