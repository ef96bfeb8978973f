"""Which data a set is for: intervals of run numbers or of times, and which of several sets to use.

Limits are whole runs or seconds and belong to the interval: if one ends with 17, the next begins with 18.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, NamedTuple

from parkf.io.errors import ParkfError
from parkf.params.configuration import only_polarity
from parkf.params.manifest import Manifest, Validity

POLARITIES = {1: "MagUp", -1: "MagDown"}
Unit = Literal["run", "time"]
_RUN = re.compile(r"[0-9]{1,12}")
_EXPECTED = (
    "expected a run number such as 300123, or a time with its zone such as 2026-05-03T12:00Z;"
    " write one of them"
)


@dataclass(frozen=True)
class Moment:
    """Moment of data taking: the number of a run, or seconds since 1970 in UTC."""

    unit: Unit
    value: int

    @classmethod
    def parse(cls, text: str) -> "Moment":
        """Read a run number, or a time in ISO 8601 with its zone, cut to seconds; or raise a ParkfError."""
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
        if self.unit == "run":
            return str(self.value)
        return datetime.fromtimestamp(self.value, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True)
class Interval:
    """Data from `first` to `last`, both included. None means no limit; an interval of all data has no unit.

    An interval that ends before it begins raises a ParkfError.
    """

    unit: Unit | None
    first: int | None
    last: int | None

    def __post_init__(self) -> None:
        if self.first is not None and self.last is not None and self.first > self.last:
            raise ParkfError(f"validity: {self} ends before it begins")

    @classmethod
    def of(cls, validity: Validity) -> "Interval":
        """Read the interval of a manifest; limits in runs and in times, or wrong ones, raise a ParkfError."""
        runs = (validity.first_run, validity.last_run)
        times = (_seconds(validity.first_time), _seconds(validity.last_time))
        unlimited = (None, None)
        if runs == unlimited:
            return cls(None if times == unlimited else "time", *times)
        if times != unlimited:
            raise ParkfError("validity: limited in runs and in times; give limits of one kind")
        return cls("run", *runs)

    def holds(self, value: int) -> bool:
        """Whether the interval contains a run or a second."""
        return (self.first is None or self.first <= value) and (self.last is None or value <= self.last)

    def __str__(self) -> str:
        if self.unit is None or (self.first is None and self.last is None):
            return "all data"
        limits = (self.first, self.last)
        first, last = (None if value is None else Moment(self.unit, value) for value in limits)
        if first is None:
            return f"{self.unit}s to {last}"
        return f"{self.unit}s from {first} on" if last is None else f"{self.unit}s {first} to {last}"


class Sets(NamedTuple):
    """Sets that are for the same data, in the order of their names."""

    versions: tuple[str, ...]
    # Those that no other of them superseded: one where it is clear which set to use, none in a gap.
    holding: tuple[str, ...]


class Series:
    """Sets of one detector and one set of forms, of which one should be used for any data.

    `intervals` has the interval of each set that is not withdrawn, by version. `supersedes` has the set that
    each set, withdrawn or not, replaced when it was published. A ParkfError reports sets with limits in runs
    beside sets with limits in times, which cannot be compared.
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
        self.intervals = dict(sorted(intervals.items()))
        self._supersedes = supersedes

    def at(self, moment: Moment) -> Sets:
        """Return the sets for one run or one second; if they are limited in the other unit, a ParkfError."""
        if self.unit not in (None, moment.unit):
            raise ParkfError(f"limited in {self.unit}s; ask with a {self.unit}, got {moment.unit} {moment}")
        return self._at(moment.value)

    def holding(self, interval: Interval) -> list[str]:
        """Return the sets to use for some data of an interval, in the order of their names."""
        Series({**self.intervals, "the new set": interval}, {})
        # Which sets hold changes only where a set begins, or behind the end of one.
        ends = [one.last + 1 for one in self.intervals.values() if one.last is not None]
        starts = {interval.first, *(one.first for one in self.intervals.values()), *ends}
        inside = [one for one in starts if (interval.first is None if one is None else interval.holds(one))]
        return sorted({version for start in inside for version in self._at(start).holding})

    def _at(self, value: int | None) -> Sets:
        """Return the sets for a run or a second; None is before all limits."""
        versions = tuple(
            version
            for version, interval in self.intervals.items()
            if (interval.first is None if value is None else interval.holds(value))
        )
        replaced = {older for version in versions for older in self._older(version)}
        return Sets(versions, tuple(version for version in versions if version not in replaced))

    def _older(self, version: str) -> Iterator[str]:
        """Yield the sets that a set superseded, directly or through others."""
        seen = {version}
        older = self._supersedes.get(version)
        while older is not None and older not in seen:
            yield older
            seen.add(older)
            older = self._supersedes.get(older)


def shown_validity(manifest: Manifest) -> str:
    """Write which data a set is for, with its polarity if it was trained and proven with one alone."""
    only = only_polarity(manifest.configuration)
    alone = "" if only is None else f", {POLARITIES[only]} alone"
    return f"{Interval.of(manifest.validity)}{alone}"


def validity_of(limits: Mapping[str, int | str]) -> Validity:
    """Check a user's limits, and convert them to those of a manifest.

    They are ``first_run`` and ``last_run``, or ``first_time`` and ``last_time`` in ISO 8601 with their zone;
    a missing one is without limit. A wrong time, or limits that make no interval, raise a ParkfError.
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


def _seconds(time: str | None) -> int | None:
    if time is None:
        return None
    try:
        return int(datetime.fromisoformat(time).timestamp())
    except ValueError as error:
        raise ParkfError(f"validity: {time} is no time") from error
