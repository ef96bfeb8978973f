"""The dataset of a step from the rows of all chunks."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow.parquet as pq

from parkf.io.errors import ParkfError
from parkf.io.tables import STEP_DATA
from parkf.training.datasets.sets import TOGETHER


def gather_rows(parts: Sequence[Path], path: Path, step: str) -> None:
    """Write the rows of all chunks of a step's dataset, set by set.

    Parameters
    ----------
    parts : sequence of Path
        What :func:`build_rows` wrote for the step, in the order of samples and events.
    path : Path
        Table `parkf.io.tables.STEP_DATA`: row groups hold one set each, or two that are `TOGETHER`, in
        ascending order. Its bytes do not depend on where the parts end.
    step : str
        A key of `SETS`.

    Raises
    ------
    ParkfError
        When a part is missing, another table, or of rows in another order.
    """
    where: dict[int, list[tuple[Path, list[int]]]] = {}
    for part in parts:
        for number, groups in _groups_of_sets(part, step).items():
            where.setdefault(number, []).append((part, groups))
    with STEP_DATA.writer(path) as writer:
        for number in sorted(where):
            for part, groups in where[number]:
                with STEP_DATA.open(part) as file:
                    for group in groups:
                        writer.write_table(file.read_row_group(group))
            writer.flush()


def _groups_of_sets(path: Path, step: str) -> dict[int, list[int]]:
    """Row groups of a file by their sets."""
    found: dict[int, list[int]] = {}
    with STEP_DATA.open(path) as file:
        for group, (low, high) in enumerate(_sets(file)):
            number = low // TOGETHER.get(step, 1)
            if high // TOGETHER.get(step, 1) != number:
                raise ParkfError(
                    f"{path}: sets {low} to {high} in row group {group}, expected one set in each"
                )
            found.setdefault(number, []).append(group)
    return found


def _sets(file: pq.ParquetFile) -> Iterator[tuple[int, int]]:
    column = file.schema_arrow.get_field_index("set")
    for group in range(file.num_row_groups):
        statistics = file.metadata.row_group(group).column(column).statistics
        yield statistics.min, statistics.max
