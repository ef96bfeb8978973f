"""Rows of a step carried again, and their distance from the stated end in units of the scattering."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parkf.detector.field import FieldMap
from parkf.training.datasets.carry import COMPONENTS, carried

Rows = dict[str, NDArray[np.float64]]
# Width of the scattering in a slope, times p, in MeV, from LHCb's parameters: truth has it, Runge-Kutta has
# not. There is no material between the plane behind the magnet and the first layer, where that of a gap in
# the SciFi is used.
SCATTERING = {"V": 1.22, "VUT": 5.4, "UT": 1.2, "UTTF": 2.93, "TFT": 1.4, "T": 1.4, "BEAM": 1.22}
# MeV; range to which momenta are clipped when the scattering is estimated.
P_RANGE = (1e3, 2e5)
LENGTHS_XY = tuple(f"{name}{end}" for name in "xy" for end in "01e")
LENGTHS_Z = ("z0", "z1")
_LEAST = 0.02  # mm; closer than that no position needs to be known


@dataclass(frozen=True)
class Carried:
    """Rows with where Runge-Kutta takes them.

    Attributes
    ----------
    rows : dict of (n,) float64
        Those that arrived.
    states : (n, 4) float64
        x, y, tx, ty at z1.
    straight : (n, 4) float64
        The same without a field.
    sigma : (n, 4) float64
        What scattering does to each.
    lost : int
        Rows that did not arrive.
    """

    rows: Rows
    states: NDArray[np.float64]
    straight: NDArray[np.float64]
    sigma: NDArray[np.float64]
    lost: int

    def pulls(self, end: str) -> NDArray[np.float64]:
        """Distance (n, 4) of the columns x, y, tx, ty of an end, "1" or "e", in units of σ."""
        return (np.column_stack([self.rows[name + end] for name in COMPONENTS]) - self.states) / self.sigma


def carry(rows: Rows, step: str, field: FieldMap, threads: int | None = None) -> Carried:
    """Carry rows, as :func:`parkf.training.datasets.carry.carried` does."""
    states, arrived = carried(rows, field, threads)
    kept = {name: values[arrived] for name, values in rows.items()}
    dz = kept["z1"] - kept["z0"]
    straight = np.column_stack(
        [kept["x0"] + kept["tx0"] * dz, kept["y0"] + kept["ty0"] * dz, kept["tx0"], kept["ty0"]]
    )
    slope = SCATTERING[step] / np.clip(kept["p_true"], *P_RANGE)
    place = np.maximum(slope * np.abs(dz) / np.sqrt(3), _LEAST)
    sigma = np.column_stack([place, place, slope, slope])
    return Carried(kept, states[arrived], straight, sigma, int((~arrived).sum()))


def misfit(
    rows: Rows, step: str, field: FieldMap, ends: tuple[str, ...], threads: int | None = None
) -> float:
    """Median over rows of the largest pull; infinite where most rows do not arrive."""
    if not P_RANGE[0] < np.median(rows["p_true"]) < P_RANGE[1]:
        return float("inf")
    moved = carry(rows, step, field, threads)
    if moved.lost > 0.5 * len(rows["z0"]):
        return float("inf")
    return max(float(np.median(np.abs(moved.pulls(end)).max(axis=1))) for end in ends)


@dataclass(frozen=True)
class Change:
    """Something that may be wrong with rows, and rows without it.

    Attributes
    ----------
    what : str
        What is wrong.
    change : callable
        Of rows; gives them as they are if that is so.
    """

    what: str
    change: Callable[[Rows], Rows]


def scaled(what: str, names: tuple[str, ...], ratio: float) -> Change:
    """Columns that are too small by a ratio."""
    return Change(what, lambda rows: rows | {name: ratio * rows[name] for name in names if name in rows})


def exchanged(what: str, pairs: tuple[tuple[str, str], ...]) -> Change:
    """Columns that hold each other's numbers."""

    def change(rows: Rows) -> Rows:
        both = pairs + tuple((b, a) for a, b in pairs)
        return rows | {a: rows[b] for a, b in both if a in rows and b in rows}

    return Change(what, change)
