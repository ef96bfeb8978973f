"""Which data a set is for: intervals of run numbers or of times, and which of several sets holds.

Both kinds of limits are whole numbers here, runs or seconds, and included: what follows on 17 begins with 18.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from parkf.io.errors import ParkfError
from parkf.params.manifest import Validity

Unit = Literal["run", "time"]
_RUN = re.compile(r"[0-9]{1,12}")
# The last second that can be written, 9999-12-31T23:59:59Z; limits meant "without end" are written so.
_LAST_SECOND = 253_402_300_799
_EXPECTED = "expected a run number such as 300123, or a time with its zone such as 2026-05-03T12:00Z"


@dataclass(frozen=True)
class Moment:
    """When data was taken: a run's number, or a second since 1970, UTC."""

    unit: Unit
    value: int

    @classmethod
    def parse(cls, text: str) -> "Moment":
        """Read a run number, or a time in ISO 8601 with its zone; parts of seconds are cut off.

        Raises
        ------
        ParkfError
            When the text is neither.
        """
        if _RUN.fullmatch(text):
            return cls("run", int(text))
        try:
            time = datetime.fromisoformat(text)
        except ValueError as error:
            raise ParkfError(f"'{text:.40}': {_EXPECTED}") from error
        if time.tzinfo is None:
            raise ParkfError(f"'{text:.40}': a time without its zone; {_EXPECTED}")
        return cls("time", int(time.timestamp() // 1))

    def __str__(self) -> str:
        return shown(self.unit, self.value)


@dataclass(frozen=True)
class Interval:
    """Data from `first` to `last`, both included; None: without limit, and without a unit where both are.

    Raises
    ------
    ParkfError
        When it ends before it begins.
    """

    unit: Unit | None
    first: int | None
    last: int | None

    def __post_init__(self) -> None:
        if self.first is not None and self.last is not None and self.first > self.last:
            raise ParkfError(f"validity: {self} ends before it begins")

    @classmethod
    def of(cls, validity: Validity) -> "Interval":
        """Give the interval of a manifest.

        Raises
        ------
        ParkfError
            When it is limited in runs and in times, a time is none, or it ends before it begins.
        """
        runs = (validity.first_run, validity.last_run)
        times = (_seconds(validity.first_time), _seconds(validity.last_time))
        if runs == times == (None, None):
            return cls(None, None, None)
        if times == (None, None):
            return cls("run", *runs)
        if runs == (None, None):
            return cls("time", *times)
        raise ParkfError("validity: limited in runs and in times; give limits of one kind")

    def holds(self, value: int) -> bool:
        """Whether it contains a run or a second."""
        return (self.first is None or self.first <= value) and (self.last is None or value <= self.last)

    def __str__(self) -> str:
        if self.unit is None or (self.first is None and self.last is None):
            return "all data"
        first, last = (
            None if value is None else shown(self.unit, value) for value in (self.first, self.last)
        )
        what = f"{self.unit}s"
        if first is None:
            return f"{what} to {last}"
        return f"{what} from {first} on" if last is None else f"{what} {first} to {last}"


@dataclass(frozen=True)
class Stretch:
    """Data that the same sets are for.

    Attributes
    ----------
    interval : Interval
        The data.
    versions : tuple of str
        All sets that are for it, in the order of their names.
    holding : tuple of str
        Those that no other of them supersedes: one where it is clear which set holds, none in a gap.
    """

    interval: Interval
    versions: tuple[str, ...]
    holding: tuple[str, ...]


class Series:
    """Sets of one detector and one set of forms: they follow each other, and at most one holds.

    Parameters
    ----------
    intervals : mapping of str to Interval
        Of each set that counts, by version.
    supersedes : mapping of str to str or None
        Which set each one replaced when it was published, withdrawn ones among them.

    Raises
    ------
    ParkfError
        When some are limited in runs and others in times: nobody could say which holds.
    """

    def __init__(self, intervals: Mapping[str, Interval], supersedes: Mapping[str, str | None]) -> None:
        by_unit: dict[Unit, list[str]] = {}
        for version, interval in sorted(intervals.items()):
            if interval.unit is not None:
                by_unit.setdefault(interval.unit, []).append(version)
        if len(by_unit) == 2:
            parts = [f"{', '.join(versions)} in {unit}s" for unit, versions in by_unit.items()]
            raise ParkfError(
                f"validity: limited {' and '.join(parts)}; limits of one kind say which set holds"
            )
        self.unit: Unit | None = next(iter(by_unit), None)
        self._intervals = dict(sorted(intervals.items()))
        self._supersedes = supersedes

    def interval(self, version: str) -> Interval:
        """Give the data that a set is for."""
        return self._intervals[version]

    def at(self, moment: Moment) -> Stretch:
        """Give the sets for some data; the stretch is that one run or second.

        Raises
        ------
        ParkfError
            When the question is in runs and the sets are limited in times, or the other way round.
        """
        if self.unit not in (None, moment.unit):
            raise ParkfError(f"limited in {self.unit}s; ask with a {self.unit}, got {moment.unit} {moment}")
        return self._stretch(Interval(moment.unit, moment.value, moment.value))

    def stretches(self) -> list[Stretch]:
        """Cut all data wherever a set begins or ends, and give the pieces in order."""
        starts = {i.first for i in self._intervals.values() if i.first is not None}
        lasts = {i.last for i in self._intervals.values() if i.last is not None}
        starts |= {last + 1 for last in lasts if self.unit == "run" or last < _LAST_SECOND}
        ordered: list[int | None] = [None, *sorted(starts)]
        ends = [None if start is None else start - 1 for start in [*ordered[1:], None]]
        pieces = [Interval(self.unit, *limits) for limits in zip(ordered, ends, strict=True)]
        return [self._stretch(piece) for piece in pieces]

    def gaps(self) -> list[Interval]:
        """Give data between sets that no set is for; what lies before or behind all of them is no gap."""
        stretches = self.stretches()
        covered = [i for i, stretch in enumerate(stretches) if stretch.versions]
        if not covered:
            return []
        inner = stretches[covered[0] : covered[-1]]
        return [stretch.interval for stretch in inner if not stretch.versions]

    def overlaps(self) -> list[Stretch]:
        """Give data that several sets are for, whether or not it is clear which of them holds."""
        return [stretch for stretch in self.stretches() if len(stretch.versions) > 1]

    def _stretch(self, piece: Interval) -> Stretch:
        versions = tuple(v for v, interval in self._intervals.items() if _within(piece, interval))
        replaced = {older for version in versions for older in self._older(version)}
        return Stretch(piece, versions, tuple(v for v in versions if v not in replaced))

    def _older(self, version: str) -> Iterator[str]:
        """Go along what a set superseded, directly or through others."""
        seen = {version}
        older = self._supersedes.get(version)
        while older is not None and older not in seen:
            yield older
            seen.add(older)
            older = self._supersedes.get(older)


def validity_of(limits: Mapping[str, int | str]) -> Validity:
    """Check limits that somebody gave, and write them as a manifest does.

    Parameters
    ----------
    limits : mapping of str to int or str
        ``first_run`` and ``last_run``, or ``first_time`` and ``last_time`` in ISO 8601 with their zone;
        what is left out is without limit.

    Raises
    ------
    ParkfError
        When a time is none, or the limits make no interval.
    """
    written = dict.fromkeys(Validity.model_fields) | dict(limits)
    for name in ("first_time", "last_time"):
        if written[name] is not None:
            moment = Moment.parse(str(written[name]))
            if moment.unit != "time":
                raise ParkfError(f"validity: {name}: got {moment}, expected a time such as 2026-05-03T12:00Z")
            written[name] = str(moment)
    validity = Validity.model_validate(written)
    Interval.of(validity)
    return validity


def joined(stretches: Sequence[Stretch]) -> list[Stretch]:
    """Join neighbours that the same sets hold for, whatever these superseded."""
    result: list[Stretch] = []
    for stretch in stretches:
        if result and result[-1].holding == stretch.holding:
            before = result.pop()
            whole = Interval(stretch.interval.unit, before.interval.first, stretch.interval.last)
            versions = tuple(sorted({*before.versions, *stretch.versions}))
            stretch = Stretch(whole, versions, stretch.holding)
        result.append(stretch)
    return result


def shown(unit: Unit, value: int) -> str:
    """Give a run's number, or a time as the manifest writes it."""
    return str(value) if unit == "run" else datetime.fromtimestamp(value, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _seconds(time: str | None) -> int | None:
    if time is None:
        return None
    try:
        return int(datetime.fromisoformat(time).timestamp())
    except ValueError as error:
        raise ParkfError(f"validity: {time} is no time") from error


def _within(piece: Interval, interval: Interval) -> bool:
    """Whether a piece, which no limit of the interval cuts, lies in it."""
    if piece.first is None:
        return interval.first is None
    return interval.holds(piece.first)
