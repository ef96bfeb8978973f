"""The text files that the trigger read before ``params.json``: an earlier layout, fitted for MagDown.

Each line is a label and its numbers, of which today's forms use some. Another set has to provide the rest:
the magnet table with its header, strip slopes and errors of the SciFi layers, BEAM, constants.
"""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from parkf.io.errors import ParkfError
from parkf.io.files import existing, sha256
from parkf.params.exchange.reading import numbers
from parkf.params.exchange.signs import TRIGGER, check_layout, convert_blocks
from parkf.params.exchange.trigger import UT_ROWS
from parkf.params.imported import imported
from parkf.params.parameter_set import ParameterSet


@dataclass(frozen=True)
class TextFile:
    """One of the files: its required length, and the numbers that are used."""

    name: str
    label: str  # begin of its lines
    lines: int
    numbers: int  # in each line
    block: str | None = None  # to which the numbers belong; None if the file is not used
    used_lines: tuple[int, ...] = ()  # in the order of our sets
    used: tuple[int, ...] = ()  # numbers of a line, in the order of our parameters
    # Factors by our index, if the old form has another power of ten or another sign.
    factors: dict[int, float] = field(default_factory=dict)


_CURVED = (0, 2, 3, 4, 5, 6, 7, 10, 12, 14, 15, 17)
_VUT = (0, 3, 4, 5, 6, 8, 9, 10, 15, 16, 17, 18, 19, 20, 21)
# In the old form the kick was subtracted, and the dependence of its z on z0 had no power of ten.
_KICK = {5: -1.0, 6: -1.0, 7: -1.0, 10: 1e3}
FILES = (
    TextFile("params_predictV.txt", "VParams", 2, 21, "V", (0, 1), (1, 2, 4, 5, 6, 7)),
    TextFile("params_predictVUT.txt", "VUTParams", 2, 30, "VUT", (0,), _VUT, _KICK),
    TextFile("params_predictUT.txt", "UTParams", 6, 18, "UT", UT_ROWS["older"], _CURVED),
    # This step has become the last forward set of UT.
    TextFile("params_predictUTFUT.txt", "UTFUTParams", 1, 2),
    TextFile("params_predictUTTF.txt", "UTTFParams", 2, 21, "UTTF", (0,), tuple(range(20))),
    TextFile("params_predictTFT.txt", "TFTParams", 2, 18, "TFT", (0,), (0, 5, 6, 8)),
    TextFile("params_predictT.txt", "TParams", 44, 18, "T", tuple(range(22)), _CURVED),
    TextFile("params_TLayer.txt", "TLayer", 2, 12, "TLayer", (0, 1), tuple(range(12))),
    TextFile("params_UTLayer.txt", "UTLayer", 1, 4, "UTLayer", (0,), tuple(range(4))),
)


def import_text_files(folder: Path, *, rest: ParameterSet) -> ParameterSet:
    """Read all of :data:`FILES` in a folder as a set of production's forms.

    Another set of production's forms, `rest`, completes it. A ParkfError reports a missing file, a wrong
    count of lines or numbers, a number that is not finite, and blocks that bend in different directions.
    """
    check_layout("set to complete from", rest.manifest)
    blocks = {block.name: rest.block(block.name).copy() for block in TRIGGER.blocks}
    theirs = {}
    for file in FILES:
        lines = _read(folder / file.name, file)
        if file.block is None:
            continue
        values = lines[np.ix_(file.used_lines, file.used)]
        for index, factor in file.factors.items():
            values[:, index] *= factor
        blocks[file.block][: len(values)] = values
        theirs[file.block] = blocks[file.block]
    blocks |= convert_blocks(str(folder), TRIGGER, theirs)
    inputs = {file.name: sha256(folder / file.name) for file in FILES}
    inputs["rest"] = rest.manifest.blobs.constant.sha256
    source, constants = "trigger's older text files", rest.manifest.constants
    return imported(TRIGGER, blocks, rest.table, constants, inputs=inputs, source=source)


def _read(path: Path, file: TextFile) -> NDArray[np.float32]:
    lines = [line for line in existing(path).read_text(errors="replace").splitlines() if line.strip()]
    if len(lines) != file.lines:
        raise ParkfError(f"{path}: {len(lines)} lines, expected {file.lines}")
    rows = []
    for i, line in enumerate(lines):
        label, *words = line.split()
        if not label.startswith(f"{file.label}_{i}_"):
            raise ParkfError(f"{path}: line {i + 1}: label {label!r:.40}, expected {file.label}_{i}_…")
        rows.append(numbers(f"{path}: line {i + 1}", words, file.numbers))
    return np.array(rows)
