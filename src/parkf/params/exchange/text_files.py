"""The text files that the trigger read before ``params.json``: an earlier layout, fitted for MagDown.

Each line is a label and its numbers, of which today's forms use some. Another set has to provide the rest:
the magnet table with its header, strip slopes and errors of the SciFi layers, BEAM, constants.
"""

from collections.abc import Iterator
from dataclasses import dataclass
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

F32 = NDArray[np.float32]


@dataclass(frozen=True)
class TextFile:
    """One of the files: its required length, and the numbers that are used.

    Attributes
    ----------
    name, label : str
        The file's name, and the begin of its lines.
    lines, numbers : int
        Count of lines, and of numbers in each.
    block : str or None
        Block of the numbers; None where the file is not used.
    used_lines : tuple of int
        The lines that are used, in the order of our sets.
    used : tuple of int
        The numbers of a line that are used, in the order of our parameters.
    factors : dict of int to float
        Factors by our index, where the old form has another power of ten or sign.
    """

    name: str
    label: str
    lines: int
    numbers: int
    block: str | None = None
    used_lines: tuple[int, ...] = ()
    used: tuple[int, ...] = ()
    factors: dict[int, float] | None = None

    def usage(self) -> str:
        """Describe which numbers are used."""
        if self.block is None:
            return f"{self.name}: not used"
        changes = "".join(f"; p{i} is multiplied by {f:g}" for i, f in (self.factors or {}).items())
        return (
            f"{self.name}: of {self.lines} lines {_listed(self.used_lines)}, of {self.numbers} numbers each "
            f"{_listed(self.used)} as p0 to p{len(self.used) - 1} of block {self.block}{changes}"
        )


_CURVED = (0, 2, 3, 4, 5, 6, 7, 10, 12, 14, 15, 17)
FILES = (
    TextFile("params_predictV.txt", "VParams", 2, 21, "V", (0, 1), (1, 2, 4, 5, 6, 7)),
    TextFile(
        "params_predictVUT.txt",
        "VUTParams",
        2,
        30,
        "VUT",
        (0,),
        (0, 3, 4, 5, 6, 8, 9, 10, 15, 16, 17, 18, 19, 20, 21),
        # In the old form the kick was subtracted, and the dependence of its z on z0 had no power of ten.
        {5: -1.0, 6: -1.0, 7: -1.0, 10: 1e3},
    ),
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
    """Read the older text files as a set of production's forms.

    Parameters
    ----------
    folder : Path
        With all files of :data:`FILES`.
    rest : ParameterSet
        A set of production's forms, for what the files do not hold.

    Raises
    ------
    ParkfError
        When there are more or fewer files, lines or numbers, one is not finite, or blocks bend in different
        directions.
    """
    layout = TRIGGER
    check_layout("set to complete from", rest.manifest)
    blocks = {block.name: rest.block(block.name).copy() for block in layout.blocks}
    for file in FILES:
        lines = _read(folder / file.name, file)
        if file.block is None:
            continue
        values = lines[np.ix_(file.used_lines, file.used)]
        for index, factor in (file.factors or {}).items():
            values[:, index] *= factor
        blocks[file.block][: len(values)] = values
    theirs = {file.block: blocks[file.block] for file in FILES if file.block is not None}
    blocks |= convert_blocks(str(folder), layout, theirs)
    inputs = {file.name: sha256(folder / file.name) for file in FILES}
    inputs["rest"] = rest.manifest.blobs.constant.sha256
    constants = rest.manifest.constants
    return imported(layout, blocks, rest.table, constants, inputs=inputs, source="trigger's older text files")


def usage() -> Iterator[str]:
    """Describe which numbers of the files are used, and what comes from another set."""
    yield from (file.usage() for file in FILES)
    yield "from the other set: magnet table, UTT_META, dx/dy and σ² of TLayer, BEAM, constants"


def _listed(indices: tuple[int, ...]) -> str:
    return " ".join(map(str, indices))


def _read(path: Path, file: TextFile) -> F32:
    lines = [line for line in existing(path).read_text(errors="replace").splitlines() if line.strip()]
    if len(lines) != file.lines:
        raise ParkfError(f"{path}: {len(lines)} lines, expected {file.lines}")
    rows = []
    for i, line in enumerate(lines):
        label, *words = line.split()
        if not label.startswith(f"{file.label}_{i}_"):
            raise ParkfError(f"{path}: line {i + 1}: label {label!r:.40}, expected {file.label}_{i}_…")
        rows.append(numbers(f"{path}: line {i + 1}", words, file.numbers, "number"))
    return np.array(rows)
