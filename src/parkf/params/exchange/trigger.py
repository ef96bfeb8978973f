"""Reading and writing of the trigger's two files, ``params.json`` and ``params_UTT_v0.tab``.

They have production's blocks without ``BEAM``. The trigger has this block and the constants for the RICH
planes in its code. The exporter writes them as a C++ header, ``constants.hpp``, with the trigger's names, and
to ``parkf.json``, so that a set survives the round trip. The trigger reads neither.

The numbers are converted where the trigger's arithmetic differs:

* V→UT: to first order the trigger subtracts the kick that :mod:`parkf.model.steps.velo_to_ut` adds; p5, p6,
  p7 change sign. A difference of second order, s″·kick², remains.
* UT: our backward sets begin at the first gap. The trigger's code of 2026 reads them in this order, for
  downstream tracks: row = 6 − (number of the gap from outside). Files before it begin at the last gap.
* UT: the trigger's ty' uses the new slope tx', a difference of second order in h; the numbers do not change.
* The table is multiplied with pol, as all blocks are. Older tables (v5r0) were not: see :mod:`.signs`.
* Slopes of the table are in units of 1e-3.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import create_model

from parkf.io.documents.models import Strict, load_document
from parkf.io.errors import ParkfError
from parkf.io.files import existing, replacing, sha256, write_json
from parkf.io.option_types import UtRows
from parkf.io.planes import RICH_PLANES
from parkf.model.layout import HEADER, TABLE_SHAPE
from parkf.params.blobs import refuse_non_finite
from parkf.params.description import shortest
from parkf.params.exchange.reading import number, rows_of
from parkf.params.exchange.signs import TRIGGER, check_layout, convert_blocks, convert_table
from parkf.params.imported import imported
from parkf.params.manifest import Constants
from parkf.params.parameter_set import ParameterSet
from parkf.params.rich import RichConstants, rich_blocks

F32 = NDArray[np.float32]

JSON_FILE, TABLE_FILE, REST_FILE = "params.json", "params_UTT_v0.tab", "parkf.json"
# Our blocks by the trigger's names, in its order.
BLOCKS = {
    **{"VParams": "V", "VUTParams": "VUT", "UTParams": "UT", "UTTFParams": "UTTF", "UTT_META": "UTT_META"},
    **{"TFTParams": "TFT", "TParams": "T", "TLayer": "TLayer", "UTLayer": "UTLayer"},
}
UT_ROWS: dict[UtRows, tuple[int, ...]] = {"2026": (0, 1, 2, 3, 4, 5), "older": (0, 1, 2, 5, 4, 3)}
"""Our sets of UT in the order of the trigger's rows."""
_UT_ROWS_KEY = "ut_rows"
# The kick from VELO to UT, which the trigger applies with the opposite sign.
_KICK = (5, 6, 7)
# Sets of the block BEAM, and its numbers, by the trigger's names.
_SCATTERING = ("VPHit2VPHit", "VPHit2ClosestToBeam")
_BEAM_NUMBERS = ("cms", "etaxx", "etaxtx", "Eloss")
# The table's second line begins with this number of the header.
_SECOND_LINE = HEADER.index("nbin_x")
# Factors for a bin's 80 coefficients: 1e3 for slopes, 1 for positions.
_UNITS = np.array(
    [1e3 if piece.component in ("tx", "ty") else 1.0 for piece in TRIGGER.pieces for _ in range(piece.degree)]
)


def export_trigger(parameters: ParameterSet, folder: Path, *, ut_rows: UtRows = "2026") -> None:
    """Write ``params.json``, ``params_UTT_v0.tab``, ``constants.hpp`` and ``parkf.json`` to a folder.

    Only a set of production's forms in layout 1 can be written; others raise a ParkfError. `ut_rows` is the
    order of UT's backward rows: the one that the trigger's code of 2026 reads, or that of older files. Fits
    of long tracks do not read these rows.
    """
    hints = (", which are the trigger's; train with `forms: production`", ", which the trigger reads")
    check_layout("parameter set", parameters.manifest, hints)
    blocks = {key: parameters.block(name) for key, name in BLOCKS.items()}
    blocks["VUTParams"] = _reversed_kick(blocks["VUTParams"])
    blocks["UTParams"] = blocks["UTParams"][list(UT_ROWS[ut_rows])]
    with replacing(folder / JSON_FILE) as temporary:
        lines = (f" {json.dumps(key)}: {json.dumps(_rows(values))}" for key, values in blocks.items())
        temporary.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
    with replacing(folder / TABLE_FILE) as temporary, temporary.open("w") as stream:
        header = [f"{shortest(value):.9g}" for value in parameters.block("UTT_META")[0]]
        stream.write(" ".join(header[:_SECOND_LINE]) + "\n" + " ".join(header[_SECOND_LINE:]) + "\n")
        # Nine digits distinguish every float32 from its neighbours, in either unit.
        scaled = parameters.table.reshape(-1, TABLE_SHAPE[2]).astype(np.float64) * _UNITS
        np.savetxt(stream, scaled, fmt="%.9g")
    in_code = {"BEAM": parameters.block("BEAM")}
    if parameters.rich is not None:
        in_code |= {name: parameters.rich.block_of_forms(name) for name in rich_blocks()}
    rows = {name: _rows(values) for name, values in in_code.items()}
    constants = parameters.manifest.constants.model_dump()
    write_json(folder / REST_FILE, {**constants, **rows, _UT_ROWS_KEY: ut_rows})
    if "RICH1" in in_code:
        # RICH1 has the form of VUT, whose kick the trigger subtracts.
        in_code["RICH1"] = _reversed_kick(in_code["RICH1"])
    with replacing(folder / "constants.hpp") as temporary:
        temporary.write_text(_header_text(in_code), "utf-8")


def import_trigger(
    folder: Path, *, rest: ParameterSet | None = None, ut_rows: UtRows | None = None
) -> ParameterSet:
    """Read the trigger's files in a folder as a set of production's forms.

    Without ``parkf.json``, `rest` is a set with the block ``BEAM`` and the constants, and `ut_rows` is the
    order of the backward rows of UT, as for :func:`export_trigger`: ``params.json`` itself does not show it.

    A ParkfError reports a wrong count of numbers, a number that is not finite, two files with different
    headers, blocks that bend in different directions, and a missing `rest` or `ut_rows`.
    """
    path, table_path, rest_path = (folder / name for name in (JSON_FILE, TABLE_FILE, REST_FILE))
    rows: dict[str, Any] = {key: rows_of(TRIGGER.block(name).shape) for key, name in BLOCKS.items()}
    content = load_document(path, create_model("Blocks", __base__=Strict, **rows))
    blocks = {name: np.array(getattr(content, key), np.float32) for key, name in BLOCKS.items()}
    blocks["VUT"] = _reversed_kick(blocks["VUT"])
    header, table = read_table(table_path)
    for name, a, b in zip(HEADER, blocks["UTT_META"][0], header, strict=True):
        if a != b:
            raise ParkfError(
                f"{table_path}: header, {name}: got {b:g}, expected {a:g} of UTT_META in {JSON_FILE}; "
                "the two files do not belong together"
            )
    blocks = convert_blocks(str(path), TRIGGER, blocks)
    header, table = convert_table(str(table_path), header, table)
    blocks["UTT_META"] = header[None]
    inputs = {name: sha256(folder / name) for name in (JSON_FILE, TABLE_FILE)}
    written: UtRows | None = None
    if rest_path.is_file():
        blocks["BEAM"], constants, rich, written = _read_rest(rest_path)
        inputs[REST_FILE] = sha256(rest_path)
    elif rest is not None:
        blocks["BEAM"], constants, rich = rest.block("BEAM"), rest.manifest.constants, rest.rich
        inputs["rest"] = rest.manifest.blobs.constant.sha256
    else:
        raise ParkfError(
            f"{rest_path}: no such file; the trigger's files lack block BEAM, VELO resolution and beam line: "
            "name a set to take them from"
        )
    blocks["UT"] = blocks["UT"][list(UT_ROWS[_order_of(folder, blocks["UT"], written, ut_rows)])]
    source = "trigger's params.json"
    return imported(TRIGGER, blocks, table, constants, inputs=inputs, source=source, rich=rich)


def as_the_trigger_reads(parameters: ParameterSet) -> ParameterSet:
    """Return a set with the table that the trigger has after it has read :func:`export_trigger`'s files.

    The trigger multiplies slopes by 1e-3 in single precision, which changes the last bit of a third of all
    coefficients.
    """
    numbers = parameters.table.reshape(-1, TABLE_SHAPE[2])
    written = np.char.mod("%.9g", numbers.astype(np.float64) * _UNITS).astype(np.float32)
    read = np.where(_UNITS == 1.0, written, written * np.float32(1e-3))
    return replace(parameters, table=read.reshape(TABLE_SHAPE))


def read_table(path: Path) -> tuple[F32, F32]:
    """Read header (19,) and coefficients (60, 50, 80), slopes in rad; wrong numbers raise a ParkfError."""
    try:
        text = existing(path).read_text(encoding="ascii")
    except UnicodeDecodeError as error:
        raise ParkfError(f"{path}: not a text file: {error}") from error
    first, second, after = (text + "\n\n").split("\n", 2)
    values: list[np.float32] = []
    for i, (line, names) in enumerate(((first, HEADER[:_SECOND_LINE]), (second, HEADER[_SECOND_LINE:]))):
        words = line.split()
        if len(words) != len(names):
            raise ParkfError(f"{path}: header line {i + 1}: {len(words)} values, expected {len(names)}")
        values += [number(f"{path}: header, {name}", word) for name, word in zip(names, words, strict=True)]
    for name, got in zip(HEADER[_SECOND_LINE:], values[_SECOND_LINE:], strict=True):
        if got != TRIGGER.signature[name]:
            raise ParkfError(f"{path}: header, {name}: got {got:g}, expected {TRIGGER.signature[name]}")
    words = after.split()
    expected = int(np.prod(TABLE_SHAPE))
    if len(words) != expected:
        raise ParkfError(f"{path}: {len(words)} coefficients, expected {expected}")
    try:
        table = np.array(words, dtype=np.float64).reshape(TABLE_SHAPE) / _UNITS
    except ValueError as error:
        raise ParkfError(f"{path}: {error}, expected numbers") from error
    with np.errstate(over="ignore"):
        coefficients = table.astype(np.float32)
    refuse_non_finite(str(path), coefficients)
    return np.array(values, dtype=np.float32), coefficients


def _header_text(blocks: Mapping[str, NDArray[np.float32]]) -> str:
    """Return the C++ header of BEAM (2, 4), RICH1 (2, 15) and RICH2 (2, 12), with the trigger's signs."""
    lines = [
        "#pragma once",
        "// Constants of a parkf parameter set that the trigger has in its code; mm and MeV.",
        "// scatterSensorParameter: scattering in the VELO. RICH: entry (F) and exit (B) of a detector.",
        "",
        "namespace ParKalmanFilter {",
    ]
    for way, numbers in zip(_SCATTERING, blocks["BEAM"], strict=True):
        for name, value in zip(_BEAM_NUMBERS, numbers, strict=True):
            lines.append(f"constexpr float scatterSensorParameter_{way}_{name} = {_literal(value)};")
    if "RICH1" in blocks:
        planes = [f"{detector}_{side}" for detector in ("RICH1", "RICH2") for side in "FB"]
        for name, z, values in zip(planes, RICH_PLANES, [*blocks["RICH1"], *blocks["RICH2"]], strict=True):
            lines.append(f"constexpr float {name}_zTo = {z}.f;")
            numbers = ", ".join(map(_literal, values))
            lines.append(f"constexpr float PAR_{name}[{len(values)}] = {{{numbers}}};")
    return "\n".join([*lines, "}  // namespace ParKalmanFilter", ""])


def _literal(value: np.float32) -> str:
    """Return the shortest C++ literal of a float."""
    text = str(value)
    return text + ("f" if "." in text or "e" in text else ".f")


def _reversed_kick(vut: F32) -> F32:
    values = vut.copy()
    values[:, _KICK] *= -1
    return values


def _rows(values: F32) -> list[list[float]]:
    return [[shortest(value) for value in row] for row in values]


def _order_of(folder: Path, ut: F32, written: UtRows | None, asked: UtRows | None) -> UtRows:
    """Return the order of UT's rows: that of ``parkf.json``, or else the one that the user asked for."""
    if written and asked and written != asked:
        raise ParkfError(
            f"{folder / REST_FILE}: {_UT_ROWS_KEY}: got '{asked}', expected '{written}' of this file"
        )
    if not (written or asked or np.array_equal(ut[3], ut[5])):
        raise ParkfError(
            f"{folder / JSON_FILE}: block UTParams: which of the backward rows 3 and 5 is the outer gap's is"
            " not in the file; name it with --ut-rows 2026 (for code of 2026), or --ut-rows older"
        )
    return written or asked or "2026"


def _read_rest(path: Path) -> tuple[F32, Constants, RichConstants | None, UtRows]:
    """Read block BEAM, constants, RICH constants and the order of UT's rows from ``parkf.json``."""
    fields: dict[str, Any] = {"BEAM": rows_of(TRIGGER.block("BEAM").shape), _UT_ROWS_KEY: (UtRows, "older")}
    fields |= {name: (rows_of(block.shape) | None, None) for name, block in rich_blocks().items()}
    content = load_document(path, create_model("Rest", __base__=Constants, **fields))
    planes = {name: np.array(rows) for name in rich_blocks() if (rows := getattr(content, name)) is not None}
    for name in rich_blocks():
        if planes and name not in planes:
            raise ParkfError(f"{path}: {name}: missing, expected beside {next(iter(planes))}")
    told = content.model_dump()
    constants = Constants(**{name: told[name] for name in Constants.model_fields})
    beam = np.array(told["BEAM"], np.float32)
    return beam, constants, RichConstants.of(planes, {}) if planes else None, told[_UT_ROWS_KEY]
