"""A step trained in parts, some parameter sets each; joined, they equal the result of one training."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256 as digest
from pathlib import Path
from typing import Self

from parkf.io.checksums import check_pages
from parkf.io.errors import ParkfError
from parkf.io.files import sha256
from parkf.io.option_types import FormsName
from parkf.model.steps import FORMS, Step
from parkf.training.result import FitResult, SetResult, StoredModel
from parkf.training.rows import UNREAD

_NAME = re.compile(r"([1-9]\d*)-of-([1-9]\d*)")
# A Parquet file ends with its footer, the footer's length in so many bytes, and these letters.
_LENGTH_BYTES, _MAGIC = 4, b"PAR1"


@dataclass(frozen=True)
class Part:
    """The number-th of `count` parts of a step's parameter sets; numbers count from one."""

    number: int
    count: int

    @classmethod
    def parse(cls, name: str) -> Self:
        """Read a name such as ``2-of-5``.

        A ParkfError is raised when it is none.
        """
        found = _NAME.fullmatch(name)
        if not found or int(found[1]) > int(found[2]):
            raise ParkfError(f"part '{name}': expected <number>-of-<count>, such as 2-of-5")
        return cls(int(found[1]), int(found[2]))

    def of(self, step: Step) -> range:
        """Return the numbers of the sets, from zero; parts differ by one set at most.

        A ParkfError is raised when there are more parts than sets.
        """
        sets = len(step.sets)
        if self.count > sets:
            raise ParkfError(
                f"step {step.name}: {self.count} parts, expected at most {sets}, one for each parameter set"
            )
        return range((self.number - 1) * sets // self.count, self.number * sets // self.count)


class PartResult(StoredModel):
    """Fits of some parameter sets of a step.

    `footer` is the fingerprint of the dataset's footer, of :func:`footer`; `first` is the number of the
    first of the sets. The other attributes are those of :class:`FitResult`.
    """

    what = "part of a fit result"

    forms: FormsName
    step: str
    formula: str
    footer: str
    table: str | None
    start: str | None
    first: int
    sets: list[SetResult]


def join_parts(parts: Sequence[PartResult], dataset: Path) -> FitResult:
    """Put all parts of one step together, in whichever order they come.

    The fingerprint of the whole dataset that they were fitted to is computed here, once. A ParkfError is
    raised when parts are missing or there twice, or were not fitted alike, or not to this dataset.
    """
    ordered = sorted(parts, key=lambda part: part.first)
    one = ordered[0]
    for name in ("step", "forms", "formula", "table", "start"):
        values = {getattr(part, name) for part in ordered}
        if len(values) > 1:
            raise ParkfError(f"parts of step {one.step}: different {name}: {', '.join(map(str, values))}")
    if any(part.footer != footer(dataset) for part in ordered):
        raise ParkfError(f"{dataset}: not the dataset that the parts of step {one.step} were fitted to")
    numbers = [number for part in ordered for number in range(part.first, part.first + len(part.sets))]
    expected = list(range(len(FORMS[one.forms].steps[one.step].sets)))
    if numbers != expected:
        raise ParkfError(f"parts of step {one.step}: hold sets {numbers}, expected each of {expected} once")
    # The other columns were read and checked in the fits. Check the rest, so that the fingerprint is that of
    # an undamaged file.
    check_pages(dataset, UNREAD)
    return FitResult(
        forms=one.forms,
        step=one.step,
        formula=one.formula,
        dataset=sha256(dataset),
        table=one.table,
        start=one.start,
        sets=[one for part in ordered for one in part.sets],
    )


def footer(dataset: Path) -> str:
    """SHA-256 of a Parquet file's footer.

    The footer contains size, position and extreme values of every column, so it distinguishes datasets
    without reading them.
    """
    with dataset.open("rb") as file:
        end = _LENGTH_BYTES + len(_MAGIC)
        file.seek(-end, 2)
        length = int.from_bytes(file.read(_LENGTH_BYTES), "little")
        file.seek(-end - length, 2)
        return digest(file.read(length)).hexdigest()
