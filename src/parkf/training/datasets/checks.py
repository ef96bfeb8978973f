"""The door of step datasets: each row is asked, whether a file comes from a simulation here or from a user.

A row must fulfil the rules of :mod:`parkf.training.datasets.rules`, be as the other rows of its set
(:mod:`parkf.training.datasets.alike`), and be there once. Import, `parkf check-dataset` and a run that adopts
a dataset ask the same. They leave out a few rows that do not pass, and refuse a file with more.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from parkf.detector.field import FieldMap
from parkf.io.arrow import numbers
from parkf.io.checks import Rule, broken, holds
from parkf.io.errors import ParkfError
from parkf.io.events import Columns, concatenate, select
from parkf.io.repeats import Repeats, hashes
from parkf.io.tables import STEP_DATA
from parkf.training.datasets.alike import NAMES, SAMPLE, Alike
from parkf.training.datasets.left_out import SHARE, LeftOut
from parkf.training.datasets.legs import SETS
from parkf.training.datasets.rules import row_rules

Numbers = NDArray[np.int64]

_TRACK = ("event", "particle", "polarity", "set")
KEYS: dict[str, tuple[str, ...]] = dict.fromkeys(("VUT", "UT", "UTTF", "TFT", "T"), _TRACK)
KEYS |= dict.fromkeys(("V", "BEAM"), (*_TRACK, "z0", "z1"))
"""Columns that no two rows of a step share: in the VELO, a particle has a row for each pair of modules."""

FEWEST_ROWS = 100
"""Rows of a set below which its parameters cannot be fitted; a set without any is fixed at zero."""

_BATCH = 1 << 13  # rows whose arrays fit into a cache
_MOST_NAMED = 10_000  # rows of a file that is refused anyway
_GROUPS = 3  # row groups of a set that the sample is taken from

STAGED = STEP_DATA.with_columns((("file", np.dtype(np.int32)), ("row", np.dtype(np.int64))))
"""Rows that were read from other files, with the file's number, and the row's number in it."""


class Door:
    """What the rows of a step are asked, one batch after the other."""

    def __init__(
        self,
        step: str,
        left: LeftOut,
        sample: Columns | None = None,
        field: FieldMap | None = None,
        staged: Sequence[Path] = (),
        threads: int | None = 1,
    ) -> None:
        """Rows are like the `sample`, and as Runge-Kutta through a `field` carries them.

        `staged` are the files that rows with columns `STAGED` come from; others come from ``left.where``.
        """
        self._left, self._staged = left, staged
        self._rules = row_rules(step)
        self._alike: Alike | None = None
        if sample is not None:
            sample = select(sample, self._reasons(sample)[0] == 0)
            self._alike = Alike.of(sample, step, SETS[step], field, threads)

    def broken(self, rows: Columns, numbers: Numbers | None = None) -> NDArray[np.bool_]:
        """Leave out rows (n,) that break a rule; return which. `numbers` (n,) are theirs in the file."""
        reasons, rules = self._reasons(rows)
        for number in np.unique(reasons[reasons > 0]):
            rule = rules[number - 1]

            def said(row: int, rule: Rule = rule) -> str:
                place, number = self.place(rows, row, numbers)
                return broken(place, rule, rows, row, number)

            self._left.add(reasons == number, f"{rule[0].split()[0]}, expected {rule[2]}", said, rows)
        return reasons > 0

    def _reasons(self, rows: Columns) -> tuple[NDArray[np.int8], list[Rule]]:
        """Return the number of the first rule that each row breaks, from 1, (n,), and the rules."""
        reasons = np.zeros(len(rows["set"]), np.int8)
        rules = [rule for rule in self._rules if all(name in rows for name in rule[0].split())]
        with np.errstate(all="ignore"):
            for number, rule in enumerate(rules, 1):
                right = holds(rule, rows)
                if not right.all():
                    reasons[~right & (reasons == 0)] = number
        return reasons, rules

    def place(self, rows: Columns, row: int, numbers: Numbers | None) -> tuple[object, int]:
        """Return file and number of a row, of `rows` that have these `numbers` in their table."""
        if self._staged:
            return self._staged[rows["file"][row]], int(rows["row"][row])
        return self._left.where, row if numbers is None else int(numbers[row])

    def unlike(self, rows: Columns, numbers: Numbers) -> NDArray[np.bool_]:
        """Leave out rows (n,) that fulfil the rules, but not what `Alike` expects; return which."""
        if self._alike is None:
            return np.zeros(len(numbers), np.bool_)
        expected, allowed = self._alike.expected(rows)
        wrong = np.abs(np.stack([rows[name] for name in NAMES]) - expected) > allowed
        left = wrong.any(axis=0)
        first = np.where(left, wrong.argmax(axis=0), -1)
        for column in np.unique(first[left]):
            name = NAMES[column]

            def said(row: int, column: int = column, name: str = name) -> str:
                place, number = self.place(rows, row, numbers)
                near = f"{expected[column, row]:.7g} ± {allowed[column, row]:.2g}"
                what = f"column '{name}', row {number}: got {rows[name][row]:.7g}, expected {near}"
                return f"{place}: {what} by its other columns, as in the other rows of its set"

            self._left.add(first == column, f"{name} does not fit the row's other columns", said, rows)
        return np.asarray(left)


def left_out_rows(
    path: Path,
    step: str,
    left: LeftOut,
    *,
    field: FieldMap | None = None,
    staged: Sequence[Path] = (),
    threads: int | None = 1,
) -> tuple[Numbers, Numbers]:
    """Ask each row of a step dataset.

    Rows that are `staged`, from these files, have fulfilled the rules before. Return the numbers of the rows
    to leave out, and the number of rows of each set that pass. Memory does not grow with the number of rows.
    """
    counts, without = np.zeros(SETS[step], np.int64), [np.empty(0, np.int64)]
    # One thread for linear algebra: more cost time for such small matrices.
    with threadpool_limits(1), Repeats() as repeats:
        door = Door(step, left, sample_of(path), field, staged, threads)
        asked = (door.unlike,) if staged else (door.broken, door.unlike)
        for places, rows in _batches(path):
            left.rows += 0 if staged else len(places)
            for ask in asked:
                if (bad := ask(rows, places)).any():
                    without.append(places[bad])
                    rows, places = select(rows, ~bad), places[~bad]
            repeats.add(hashes(rows, KEYS[step]))
            counts += np.bincount(rows["set"].astype(np.intp), minlength=len(counts))
        if len(several := repeats.several()):
            for row, number in _again(path, step, several, np.concatenate(without), left, door.place):
                without.append(np.array([row]))
                counts[number] -= 1
    return np.unique(np.concatenate(without)), counts


def check_dataset(
    path: Path,
    step: str,
    *,
    field: FieldMap | None = None,
    share: float = SHARE,
    threads: int | None = 1,
) -> tuple[LeftOut, NDArray[np.int64]]:
    """Refuse a step dataset that cannot be trained on.

    Rows are carried through the `field`; without one, they are only compared with the bends of other rows.
    Return what a training would leave out, and the numbers of these rows. The ParkfError names file, column,
    row (from 0), the value found and the value expected.
    """
    if step not in SETS:
        raise ParkfError(f"no step '{step}'; steps are {', '.join(SETS)}")
    left = LeftOut(str(path), step, share)
    without, counts = left_out_rows(path, step, left, field=field, threads=threads)
    left.refuse()
    require_rows(path, step, counts)
    return left, without


def require_rows(where: object, step: str, counts: NDArray[np.int64]) -> None:
    """Raise a ParkfError if a set has few rows; one without any stays at zero, if most sets have rows."""
    few = 2 * np.count_nonzero(counts) < len(counts)
    for number, count in enumerate(counts):
        if count < FEWEST_ROWS and (count or few):
            found = f"set {number} of step {step} has {count} rows"
            raise ParkfError(f"{where}: {found}, expected at least {FEWEST_ROWS}; simulate more events")


def _batches(path: Path) -> Iterator[tuple[Numbers, Columns]]:
    """Yield rows and their numbers in the file."""
    with STEP_DATA.open(path) as file:
        begin = 0
        # One row group at a time: Arrow would keep all others in memory, too.
        for group in range(file.num_row_groups):
            for batch in file.iter_batches(batch_size=_BATCH, row_groups=[group]):
                yield begin + np.arange(batch.num_rows), _columns(batch)
                begin += batch.num_rows


def _columns(batch: pa.RecordBatch | pa.Table) -> Columns:
    """Columns as arrays; a null in one of whole numbers becomes NaN, as in others."""
    return {name: numbers(batch.column(name)) for name in batch.schema.names}


def sample_of(path: Path) -> Columns | None:
    """Return some rows of each set, from row groups all over the file."""
    groups: dict[tuple[int, int], list[int]] = {}
    parts = []
    with STEP_DATA.open(path) as file:
        column = file.schema_arrow.get_field_index("set")
        for number in range(file.num_row_groups):
            found = file.metadata.row_group(number).column(column).statistics
            known = found is not None and found.has_min_max
            groups.setdefault((found.min, found.max) if known else (0, 1 << 15), []).append(number)
        for some in groups.values():
            for place in np.unique(np.linspace(0, len(some) - 1, _GROUPS).astype(int)):
                rows = _columns(file.read_row_group(some[place]))
                for one in np.unique(rows["set"]):
                    own = np.flatnonzero(rows["set"] == one)
                    parts.append(select(rows, own[:: max(1, len(own) // SAMPLE)][:SAMPLE]))
    if not parts:
        return None
    whole = concatenate(parts)
    of_set = [np.flatnonzero(whole["set"] == one) for one in np.unique(whole["set"])]
    return select(whole, np.concatenate([own[:: max(1, len(own) // SAMPLE)] for own in of_set]))


def _again(
    path: Path,
    step: str,
    several: NDArray[np.uint64],
    without: Numbers,
    left: LeftOut,
    place: Callable[[Columns, int, Numbers], tuple[object, int]],
) -> Iterator[tuple[int, int]]:
    """Yield number and set of each row whose key another row had before it, and leave it out."""
    before: dict[tuple[float, ...], str] = {}
    for places, rows in _batches(path):
        for row in map(
            int, np.flatnonzero(np.isin(hashes(rows, KEYS[step]), several) & ~np.isin(places, without))
        ):
            key = tuple(float(rows[name][row]) for name in KEYS[step])
            file, own = place(rows, row, places)
            if key not in before:
                before[key] = f"row {own} of {file}"
                continue
            if left.drops_repeats:
                left.repeats += 1
            else:
                text = f"{file}: row {own} is the same as {before[key]}"
                text += f" (equal {', '.join(KEYS[step])}), expected it once; leave one of them out"
                mask = np.arange(len(places)) == row
                left.add(mask, "it is there before", {row: text}.__getitem__, rows)
                if left.too_many and left.count > _MOST_NAMED:
                    return
            yield int(places[row]), int(rows["set"][row])
