"""The covariance predicted over several steps, from the last VELO hit to the first SciFi layer.

Each step's noise is fitted to that step alone. Only a chain of steps tests whether their widths, correlations
and lever arms combine correctly.
"""

from pathlib import Path

import numpy as np

from parkf.io.events import concatenate, select
from parkf.model.codegen.numpy_step import BEFORE_COLUMNS, NumpyStep
from parkf.model.layout import HEADER
from parkf.training.magnet_hop import Trained
from parkf.training.magnet_table import MagnetTable
from parkf.training.result import BinAccuracy
from parkf.training.rows import COMPONENTS, F64, GROUPS, Rows, group_of_particle, read_batches
from parkf.training.spread import Spreads

# Number of tracks; so many determine the widths to a per cent in every bin.
LARGEST = 200_000
# Change of a slope for numerical derivatives of the table. It is far below the change by scattering.
SLOPE_STEP = 1e-5


def measure_chain(trained: Trained) -> list[BinAccuracy]:
    """Compare predictions over all steps with the truth, in units of the predicted spread.

    Tracks in the datasets of the first and the last step are matched by polarity, event and particle. In the
    result, `truth_width` is the important figure. `mean`, `rms` and quantiles are of prediction − truth.
    """
    begin, end = _common(_thinned(trained.dataset("VUT")), _thinned(trained.dataset("TFT")))
    layers = _ut_layers(trained.dataset("UT"))
    table = trained.table
    header = dict(zip(HEADER, table.header.astype(np.float64), strict=True))
    track = _Track(begin)
    track.step(*trained.step("VUT", 0), begin["z1"])
    for gap, z in enumerate(layers[1:]):
        track.step(*trained.step("UT", gap), z)
    track.step(*trained.step("UT", 2), header["z_in"], scatters=False)
    functions, p = trained.step("UTTF", 0)
    track.through(table, functions.local_qop(p, begin["qop"]), header["z_out"])
    track.step(functions, p, header["z_out"])
    track.step(*trained.step("TFT", 0), end["z1"])
    delta = {c: track.rows[f"{c}0"] - end[f"{c}1"] for c in COMPONENTS}
    spreads = Spreads()
    variances = np.diagonal(track.covariance, axis1=1, axis2=2)
    spreads.add(begin["qop"], delta, delta, {c: np.sqrt(variances[:, i]) for i, c in enumerate(COMPONENTS)})
    return spreads.figures()


class _Track:
    """States and covariances, (n, 4, 4), of tracks that started as true states."""

    def __init__(self, start: Rows) -> None:
        names = ("qop", "polarity", "z0", *(f"{c}0" for c in COMPONENTS))
        self.rows: Rows = {name: start[name] for name in names}
        self.covariance: F64 = np.zeros((len(start["qop"]), 4, 4))

    def step(self, functions: NumpyStep, p: F64, z: F64 | float, *, scatters: bool = True) -> None:
        """Extrapolate to z by a step function."""
        rows = {**self.rows, "z1": np.broadcast_to(z, self.rows["z0"].shape)}
        self._carry(functions.jacobian(p, rows)[:, :, :4])
        if functions.step.noise and scatters:
            noise = functions.noise(p, rows)
            for plane, name in enumerate(("x", "y")):
                position, slope, rho = noise[name], noise[f"t{name}"], noise[f"rho_{name}"]
                self.covariance[:, plane, plane] += position**2
                self.covariance[:, plane + 2, plane + 2] += slope**2
                self.covariance[:, plane, plane + 2] += rho * position * slope
                self.covariance[:, plane + 2, plane] += rho * position * slope
        self._move(np.column_stack(functions.predict(p, rows)), rows["z1"])

    def through(self, table: MagnetTable, qop: F64, z_out: float) -> None:
        """Extrapolate through the magnet by the table alone."""
        states = np.column_stack([self.rows[f"{c}0"] for c in COMPONENTS])
        ends = table.extrapolate(states, qop, self.rows["polarity"])
        jacobian = np.tile(np.eye(4), (len(states), 1, 1))
        for column in (2, 3):
            shifted = states.copy()
            shifted[:, column] += SLOPE_STEP
            moved = table.extrapolate(shifted, qop, self.rows["polarity"])
            jacobian[:, :, column] = (moved - ends) / SLOPE_STEP
        self._carry(jacobian)
        self.rows |= dict(zip(BEFORE_COLUMNS, states.T, strict=True))
        self._move(ends, np.full(len(ends), z_out))

    def _carry(self, jacobian: F64) -> None:
        self.covariance = jacobian @ self.covariance @ jacobian.transpose(0, 2, 1)

    def _move(self, states: F64, z: F64) -> None:
        self.rows |= {f"{c}0": states[:, i] for i, c in enumerate(COMPONENTS)} | {"z0": z}


def _thinned(path: Path) -> Rows:
    """Read the rows of some groups of particles, hardly more than `LARGEST` rows."""
    parts: list[Rows] = []
    groups = GROUPS
    for rows in read_batches(path):
        parts.append({**rows, "group": group_of_particle(rows)})
        count = sum(len(part["group"]) for part in parts)
        if count > LARGEST:
            groups = groups * LARGEST // count
        parts = [select(part, part["group"] < groups) for part in parts]
    return concatenate(parts)


def _common(begin: Rows, end: Rows) -> tuple[Rows, Rows]:
    """Return the rows of tracks that are in both, in the same order."""
    one, other = (
        np.rec.fromarrays([rows["polarity"].astype(np.int64), rows["event"], rows["particle"]])
        for rows in (begin, end)
    )
    _, in_begin, in_end = np.intersect1d(one, other, return_indices=True)
    return select(begin, in_begin), select(end, in_end)


def _ut_layers(path: Path) -> list[float]:
    """Z of the four UT layers, from the first row of each gap."""
    ends = [_first_hop(path, gap) for gap in range(3)]
    return [ends[0][0], *(end for _, end in ends)]


def _first_hop(path: Path, number: int) -> tuple[float, float]:
    """Return where the first row of a set begins and ends."""
    batches = read_batches(path, range(number, number + 1))
    rows, place = next(
        (rows, found[0]) for rows in batches if len(found := np.flatnonzero(rows["set"] == number))
    )
    return float(rows["z0"][place]), float(rows["z1"][place])
