"""Rows of a step: a sample of a stream, Runge-Kutta through the run's field, and distances at the end."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkf.detector.field import FieldMap
from parkf.io.events import concatenate, select
from parkf.training.datasets.carry import COMPONENTS, Rows, carry_rows

# Width of the scattering in a slope, times p, in MeV, from LHCb's parameters. The truth includes scattering,
# Runge-Kutta does not. TFT has no material; it uses the value of a gap in the SciFi.
SCATTERING = {"V": 1.22, "VUT": 5.4, "UT": 1.2, "UTTF": 2.93, "TFT": 1.4, "T": 1.4, "BEAM": 1.22}
P_RANGE = (1e3, 2e5)  # MeV; momenta are clipped to this range when the scattering is estimated
_LEAST = 0.02  # mm; closer than that no position needs to be known
_SIZE = 1000
_LARGEST = (1 << 31) - 1  # event or particle in a step dataset


@dataclass
class Seen:
    """What a reader of rows has seen: its files, and what it dropped, by reason."""

    files: list[Path] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    drops_repeats: bool = False  # rows that were there before are dropped, too

    def count(self, what: str, number: int) -> None:
        """Count something, unless there is none of it."""
        if number:
            self.counts[what] = self.counts.get(what, 0) + number

    def placed(self, rows: Rows, numbers: NDArray[np.int64]) -> Rows:
        """Return rows (n,) with their places, `numbers` in the last file, and keys that 31 bits hold.

        Rows of one event or particle keep one key; others share it by chance only, 1 in 2**31.
        """
        place = np.full(len(numbers), len(self.files) - 1, np.int32)
        rows = dict[str, Any](rows) | {"file": place, "row": np.asarray(numbers, np.int64)}
        for name in ("event", "particle"):
            rows[name], changed = _of_31_bits(rows[name])
            self.count(f"{name} numbers of more than 31 bits, replaced by others", changed)
        return rows


def _of_31_bits(keys: NDArray[Any]) -> tuple[NDArray[Any], int]:
    """Hash whole numbers of more than 31 bits, and return how many; what is no whole number stays."""
    whole = keys.dtype.kind in "iu"
    large = (keys > _LARGEST) | (keys < -_LARGEST)
    found = keys.astype(np.int64 if whole else np.float64)
    if large.any():
        large &= whole or ((keys == np.rint(keys)) & (np.abs(keys) < 2.0**63))
        bits = (keys if whole else np.where(large, keys, 0.0).astype(np.int64)).astype(np.uint64)
        hashed = (bits * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(33)
        found[large] = hashed[large].astype(found.dtype)
    return found, int(large.sum())


class Reservoir:
    """A thousand rows of a stream, with the smallest draws; the same stream leads to the same sample."""

    def __init__(self) -> None:
        self._random = np.random.default_rng(17)
        self._draws = np.empty(0)
        self.rows: Rows = {}

    @property
    def full(self) -> bool:
        """Whether a further row would replace another one."""
        return len(self._draws) >= _SIZE

    def add(self, rows: Rows) -> None:
        """Add the next rows of the stream."""
        draws = np.concatenate([self._draws, self._random.random(len(rows["qop"]))])
        keep = np.argsort(draws)[:_SIZE]
        self.rows = select(concatenate([self.rows, rows]) if self.rows else rows, keep)
        self._draws = draws[keep]


def ends_of(rows: Rows) -> Sequence[str]:
    """Suffixes of the columns of an end: "1" for the truth, and "e" for Runge-Kutta if it exists."""
    return "1e" if "xe" in rows else "1"


@dataclass(frozen=True)
class Carried:
    """Rows, and the end to which Runge-Kutta carries them."""

    rows: Rows  # those that arrived, (n,)
    states: NDArray[np.float64]  # (n, 4) x, y, tx, ty at z1
    straight: NDArray[np.float64]  # (n, 4) the same without a field
    sigma: NDArray[np.float64]  # (n, 4) width of each by scattering
    lost: int  # number of rows that did not arrive

    def pulls(self, end: str) -> NDArray[np.float64]:
        """Distance (n, 4) of the columns x, y, tx, ty of an end, "1" or "e", in units of σ."""
        return (np.column_stack([self.rows[name + end] for name in COMPONENTS]) - self.states) / self.sigma


@dataclass(frozen=True)
class Carrier:
    """Runge-Kutta of a step's rows through the run's field."""

    step: str
    field: FieldMap
    threads: int | None = None

    def carry(self, rows: Rows) -> Carried:
        """Carry rows, as :func:`parkf.training.datasets.carry.carry_rows` does."""
        states, arrived = carry_rows(rows, self.field, self.threads)
        kept = select(rows, arrived)
        dz = kept["z1"] - kept["z0"]
        straight = np.column_stack(
            [kept["x0"] + kept["tx0"] * dz, kept["y0"] + kept["ty0"] * dz, kept["tx0"], kept["ty0"]]
        )
        slope = SCATTERING[self.step] / np.clip(kept["p_true"], *P_RANGE)
        position = np.maximum(slope * np.abs(dz) / np.sqrt(3), _LEAST)
        sigma = np.column_stack([position, position, slope, slope])
        return Carried(kept, states[arrived], straight, sigma, int((~arrived).sum()))

    def misfit(self, rows: Rows) -> float:
        """Median over rows of the largest pull; infinite where most rows do not arrive."""
        if not P_RANGE[0] < np.median(rows["p_true"]) < P_RANGE[1]:
            return float("inf")
        moved = self.carry(rows)
        if moved.lost > 0.5 * len(rows["z0"]):
            return float("inf")
        return max(float(np.median(np.abs(moved.pulls(end)).max(axis=1))) for end in ends_of(rows))
