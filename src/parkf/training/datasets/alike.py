"""What a row's other columns, and the other rows of its set, say about its planes, its end and its truth.

Runge-Kutta here carries each row through a field. How far the rows' own ends lie from there is learnt from a
sample: hardly at all in the field that they were made in, a few per cent of the bend in another one. Without
a field, and for rows that leave the map, the straight line takes its place, with the bends of the sample.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from parkf.detector.field import FieldMap
from parkf.io.events import Columns
from parkf.training.datasets.carry import COMPONENTS, carry_rows

Floats = NDArray[np.float64]

NAMES = ("z0", "z1", *(f"{name}{end}" for end in "e1" for name in COMPONENTS))
"""Columns that are compared."""

SAMPLE = 1000
"""Largest number of rows of a set that the comparison is learnt from."""

_FEWEST = 60  # rows; fewer say nothing
_Z_WIDTHS = 10.0  # of z0 and z1 about their medians
# mm, by which alignments may move the planes of z0 and z1 besides; in the VELO, rows have many planes.
_Z_LEAST = dict.fromkeys(("V", "BEAM"), (1100.0, 1100.0)) | {"VUT": (1100.0, 5.0)}
# Multiples of the distance that 99 % and 68 % of the rows keep; the second one counts where more than 1 % are
# wrong. One direction bends less than four times as much as nearly all others.
_CARRIED, _TURNED = (10.0, 100.0), (4.0, 40.0)
_NEAR = (30.0, 300.0)  # of another field, whose difference varies over the acceptance
_LEAST = np.array([1e-4, 1e-4, 1e-7, 1e-7])  # mm and slopes, rounding
_ROUNDING = 4 * 2.0**-24  # of several numbers in float32
_TRUTH_WIDTHS = 300.0  # of the scattering: hadrons scatter up to 200 widths off nuclei
_TRUTH_LEAST = np.array([0.1, 0.1, 1e-3, 1e-3])


@dataclass(frozen=True)
class Alike:
    """Planes, distances of ends, and scattering of each set; infinite where a set has few rows."""

    field: FieldMap | None
    threads: int | None
    rounding: float  # of the rows' numbers, relative
    z: Floats  # (sets, 2) medians of z0 and z1
    off_plane: Floats  # (sets, 2) mm, largest distance from them
    floor: Floats  # (sets, 4) largest distance from Runge-Kutta of hard tracks, in x, y, tx, ty
    near: Floats  # (sets, 4) what is added to it, over q/p and the length of the step
    turned: Floats  # (sets, 4) largest distance from the straight line, likewise
    truth: Floats  # (sets, 4) largest distance of truth from the end times p, over the length for positions

    @classmethod
    def of(cls, rows: Columns, step: str, sets: int, field: FieldMap | None, threads: int | None = 1) -> Self:
        """Learn from some rows of all sets of a step; `threads` carry rows, by default all cores."""
        shapes = {"z": 2, "off_plane": 2} | dict.fromkeys(("floor", "near", "turned", "truth"), 4)
        found = {name: np.full((sets, columns), np.inf) for name, columns in shapes.items()}
        straight, ends = _straight(rows), _ends(rows, field, threads)
        scale = _scale(rows)
        off, bend = np.abs(_stack(rows, "e") - ends), np.abs(_stack(rows, "e") - straight) / scale
        # In y the bend is small in most directions, so it may be as large as in x.
        bend = np.repeat(bend.reshape(2, 2, -1).max(axis=1), 2, axis=0)
        length = np.abs(rows["z1"] - rows["z0"])
        scattered = np.abs(_stack(rows, "1") - _stack(rows, "e")) * np.asarray(rows["p_true"])
        scattered[:2] /= np.maximum(length, 1e-9)
        for number in range(sets):
            own = np.flatnonzero(rows["set"] == number)
            if len(own) < _FEWEST:
                continue
            z = np.stack([rows["z0"][own], rows["z1"][own]])
            found["z"][number] = np.median(z, axis=1)
            many = _Z_LEAST.get(step)
            along = _quantile(np.abs(z - found["z"][number][:, None]), 0.68)
            found["off_plane"][number] = _Z_WIDTHS * along + 5.0 if many is None else many
            found["turned"][number] = _limit(bend[:, own], bend[:, own], _TURNED)
            found["truth"][number] = _TRUTH_WIDTHS * _quantile(scattered[:, own], 0.68)
            arrived = own[np.isfinite(off[0, own])]
            hardest = arrived[np.argsort(scale[2, arrived])[: max(20, len(arrived) // 4)]]
            if len(arrived):
                floor = _limit(off[:, hardest], off[:, hardest], _CARRIED) + _LEAST
                # What soft tracks add is measured beyond what hard ones reach, without the multiple.
                beyond = np.maximum(off[:, arrived] - floor[:, None] / _CARRIED[0], 0.0) / scale[:, arrived]
                found["floor"][number] = floor
                found["near"][number] = _limit(beyond, off[:, arrived] / scale[:, arrived], _NEAR)
        x, single = rows["x0"], np.asarray(rows["x0"], np.float32)
        return cls(field, threads, _ROUNDING if np.array_equal(x, single) else 0.0, **found)

    def expected(self, rows: Columns) -> tuple[Floats, Floats]:
        """Return what columns `NAMES` should be, and the largest deviation, (10, n) each."""
        count, number = len(rows["set"]), np.asarray(rows["set"]).astype(np.intp)
        values, allowed = np.empty((len(NAMES), count)), np.empty((len(NAMES), count))
        values[:2], allowed[:2] = self.z.T[:, number], self.off_plane.T[:, number]
        scale, ends = _scale(rows), _ends(rows, self.field, self.threads)
        values[2:6] = ends
        allowed[2:6] = self.floor.T[:, number] + self.near.T[:, number] * scale
        if self.rounding:
            z = np.abs(rows["z0"]) + np.abs(rows["z1"])
            for i, name in enumerate("xy"):
                moved = np.abs(rows[f"{name}0"]) + np.abs(rows[f"{name}e"]) + np.abs(rows[f"t{name}0"]) * z
                allowed[2 + i] += self.rounding * moved
        lost = np.flatnonzero(np.isnan(ends[0]))
        if len(lost):
            values[2:6, lost] = _straight(rows)[:, lost]
            # A row that leaves the map bends as others do; without a field, all rows have to pass.
            share = 1.0 if self.field is None else 0.5
            allowed[2:6, lost] = _LEAST[:, None] + share * self.turned[number[lost]].T * scale[:, lost]
        values[6:] = _stack(rows, "e")
        allowed[6:] = self.truth.T[:, number] / rows["p_true"]
        allowed[6:8] *= np.abs(rows["z1"] - rows["z0"])
        allowed[6:] += _TRUTH_LEAST[:, None]
        return values, allowed


def _stack(rows: Columns, end: str) -> Floats:
    return np.stack([np.asarray(rows[name + end], np.float64) for name in COMPONENTS])


def _quantile(values: Floats, share: float) -> Any:
    return np.quantile(values, share, axis=1)


def _limit(values: Floats, whole: Floats, multiples: tuple[float, float]) -> Floats:
    most, usual = multiples
    return np.minimum(most * _quantile(values, 0.99), usual * _quantile(whole, 0.68))


def _scale(rows: Columns) -> Floats:
    """|q/p| in 1/GeV times the length of the step, for positions times the length again, (4, n)."""
    length = np.abs(rows["z1"] - rows["z0"])
    lever = np.maximum(1e3 / np.asarray(rows["p_true"]) * length, 1e-9)
    return np.stack([lever * length, lever * length, lever, lever])


def _straight(rows: Columns) -> Floats:
    """x, y, tx, ty at z1 without a field, (4, n)."""
    states = _stack(rows, "0")
    states[:2] += states[2:] * (rows["z1"] - rows["z0"])
    return states


def _ends(rows: Columns, field: FieldMap | None, threads: int | None) -> Floats:
    """x, y, tx, ty at z1 by Runge-Kutta, (4, n); NaN where a row does not arrive, or without a field."""
    if field is None:
        return np.full((4, len(rows["set"])), np.nan)
    return carry_rows(rows, field, threads)[0].T
