"""Closing of a parameter set: targets from rays through the SciFi, then passes over fits of tracks.

A neighbour's closed table can be used instead, because the closure hardly depends on the alignment. It adds
the misfit of the forms behind the magnet to the table's bend, and this misfit depends on field, geometry and
formulas. This was tested in a default run with SciFi's first station moved by 0.5 mm along the beam and 50 µm
across. The nominal alignment's table was compared with one that was closed on the run's own tracks. q/p of
31,000 validation tracks differs by 0.014 per mille (68 %; 95 %: 0.05, or 0.02 σ). In no cell of direction,
charge and momentum does it differ by more than 0.08 per mille, a sixth of the cell's error.
"""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from parkf.detector.field import FieldMap
from parkf.detector.geometry import Geometry
from parkf.fit import fit, is_good
from parkf.io.errors import ParkfError
from parkf.io.option_types import Scheme
from parkf.model.codegen.numpy_step import numpy_step
from parkf.model.steps import FORMS
from parkf.params.parameter_set import ParameterSet, with_blobs
from parkf.training.closure.bend import ChangeFit, add_change
from parkf.training.closure.bias import Widths
from parkf.training.closure.loss import velo_loss
from parkf.training.closure.sample import read_sample
from parkf.training.closure.targets import measure_response, new_targets
from parkf.training.magnet_table import MagnetTable, load_table
from parkf.training.magnet_table.accuracy import table_accuracy
from parkf.training.magnet_table.form import F64, Header, slopes_gained, summed_slopes
from parkf.training.magnet_table.rays import Magnet, Rays, independent_rays, training_rays
from parkf.training.magnet_table.train import TEST_RAYS, fit_slope_change

FEWEST_TRACKS = 2_000
# Number of points along each axis of place and momentum at which the prior of the change is imposed.
BELIEF_POINTS = 16
LARGEST_F = 1.05
# Number of tracks whose rows of the linear problem are in memory at a time.
ROWS = 1 << 14
TARGETS = "Runge-Kutta, and for tx what keeps q/p in a fit of the forms behind the magnet"


def close_table(
    parameters: ParameterSet,
    samples: list[Path],
    *,
    geometry: Geometry,
    field: FieldMap,
    rays: int,
    passes: int,
    seed: int,
    threads: int,
    scheme: Scheme = "smoother",
) -> tuple[MagnetTable, dict[str, Any]]:
    """Close a set as its steps were fitted, for the kind of fit (`scheme`) that will use it.

    The samples are tables ``closure-tracks`` of all polarities. The geometry has the alignment of the set.
    `rays` is the number of rays to carry on, and `seed` is their seed. `passes` is the
    number of passes over the tracks. The result does not depend on `threads`.

    Return the closed table, which replaces the one that the steps were fitted with, and its figures against
    its targets, of :func:`table_accuracy`, with what these targets are.
    """
    # Linear algebra uses one thread, so that sums have the same order on any number of cores.
    with threadpool_limits(1):
        work = _Closure(parameters, samples, scheme, threads)
        magnet = Magnet(field, geometry.magnet.z_in, geometry.magnet.z_out, geometry.beam, threads)
        targets = partial(new_targets, parameters, work.response, work.loss, geometry, field, threads)
        header = Header.of(work.table.header)
        work.table = fit_slope_change(
            work.table, *targets(training_rays(magnet, header.bends, count=rays, seed=seed))
        )
        tested, moved = targets(independent_rays(magnet, count=TEST_RAYS, seed=seed))
        end = tested.end.copy()
        end[:, 2] += moved
        accuracy = table_accuracy(work.table, Rays(tested.start, end, tested.qop))
        for _ in range(passes):
            work.change()
        closed = replace(
            work.table, closed_with=parameters.manifest.blobs.constant.sha256, velo_loss=work.velo_loss
        )
        return closed, {**accuracy, "targets": TARGETS}


class _Closure:
    """The current table, and a hundred bytes in memory for each track."""

    def __init__(self, parameters: ParameterSet, samples: list[Path], scheme: Scheme, threads: int) -> None:
        self._parameters, self._samples, self._scheme, self._threads = parameters, samples, scheme, threads
        self.table = MagnetTable(parameters.block("UTT_META")[0], parameters.table)
        self._hop = numpy_step(FORMS[parameters.manifest.forms].steps["UTTF"])
        self._numbers = parameters.block("UTTF")[0].astype(np.float64)
        parts = [
            (t.state, t.slopes, t.true_qop, t.full_qop, t.candidates.polarity, t.candidates.velo_n)
            for t in read_sample(samples)
        ]
        count = sum(len(part[2]) for part in parts)
        if count < FEWEST_TRACKS:
            raise ParkfError(
                f"closure: {count} tracks with a good full fit in "
                f"{', '.join(map(str, samples))}, expected {FEWEST_TRACKS}; raise training.closure.tracks"
            )
        columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
        self._state, self._slopes, true_qop, full, self._polarity, self._modules = columns
        self._p = 1 / np.abs(true_qop)
        bias = Widths()
        bias.add(self._p, full / true_qop - 1)
        # The full fit has the same hits, and so the same measurement errors. Its mean bias is subtracted, so
        # that the closure does not learn it.
        self._reference = full / (1 + bias.core(self._p)[0])
        self.velo_loss = 0.0
        # The fit's response to hits, and losses up to the SciFi layers, are measured on the first tracks.
        first = next(read_sample(samples))
        bend = self._bend(slice(0, len(first)))[1] / first.true_qop
        self.response = measure_response(parameters, first, bend, scheme=scheme, threads=threads)
        self.loss = np.nanmedian(first.loss, axis=0)

    def _bend(self, rows: slice | NDArray[np.int64]) -> tuple[F64, F64]:
        """Return h after the loss, and the table's increase of tx, for the q/p of the reference."""
        polarity = self._polarity[rows]
        h = polarity * self._hop.local_qop(self._numbers, self._reference[rows])
        return h, _bend(self.table, self._state[rows], h)

    def differences(self) -> F64:
        """Fit all tracks with the current table; return q/p over the reference, less one, (n,), or NaN."""
        closed = with_blobs(self._parameters.manifest, self._parameters.constant, self.table.coefficients)
        fits = [
            fit(closed, tracks.candidates, scheme=self._scheme, precision="float64", threads=self._threads)
            for tracks in read_sample(self._samples)
        ]
        fitted = np.concatenate([one.qop for one in fits])
        good = is_good(np.concatenate([one.status for one in fits]))
        return np.where(good, np.abs(fitted / self._reference) - 1, np.nan)

    def _with_loss(self, fitted: F64) -> F64:
        """Add to the loss in a VELO module what fits lack of it; return their corrected differences."""
        manifest = self._parameters.manifest
        before = manifest.constants.velo_loss
        self.velo_loss = max(0.0, before + velo_loss(self._slopes, self._p, fitted, self._modules))
        constants = manifest.constants.model_copy(update={"velo_loss": self.velo_loss})
        self._parameters = replace(
            self._parameters, manifest=manifest.model_copy(update={"constants": constants})
        )
        gained = (self.velo_loss - before) * self._modules
        return np.asarray((fitted + 1) / (1 + gained * np.abs(self._reference)) - 1)

    def change(self) -> None:
        """Remove the bias of fits: change the table's bend, and the loss in the VELO if the fit uses it."""
        fitted = self.differences()
        if self._scheme == "smoother":
            fitted = self._with_loss(fitted)
        header = Header.of(self.table.header)
        good = np.flatnonzero(np.isfinite(fitted))
        widths = Widths()
        widths.add(self._p[good], fitted[good])
        sums = ChangeFit(header)
        for begin in range(0, len(good), ROWS):
            rows = good[begin : begin + ROWS]
            wanted, p = fitted[rows], self._p[rows]
            h, bend = self._bend(rows)
            basis = sums.basis(self._state[rows], h, bend)
            sums.add(basis * self.response.gain_at(p)[:, None], wanted, widths.weights(p, wanted))
        states, h = belief_states(header)
        self.table = add_change(self.table, sums.solve(sums.basis(states, h, _bend(self.table, states, h))))


def neighbours_table(parameters: ParameterSet, path: Path) -> MagnetTable:
    """Return a neighbour's closed table, ``closure/table.npz``, for `parameters` that are not closed yet.

    The neighbour has the same field, geometry and forms, and another alignment.
    """
    table = load_table(path)
    if not table.closed_with:
        raise ParkfError(f"{path}: this table was not closed; expected a run's closure/table.npz")
    if not np.array_equal(table.header, parameters.block("UTT_META")[0]):
        raise ParkfError(f"{path}: its header is not that of this run's table: another field, plane or form")
    return replace(table, closed_with=parameters.manifest.blobs.constant.sha256)


def belief_states(header: Header) -> tuple[F64, F64]:
    """States (m, 4) at z_in of tracks from the origin, spread evenly over grid and f, and their h (m,)."""
    middles = (2 * np.arange(BELIEF_POINTS) + 1) / BELIEF_POINTS - 1
    x, y, f = (axis.ravel() for axis in np.meshgrid(middles, middles, LARGEST_F * middles, indexing="ij"))
    h = f / header["p_min"]
    across = np.column_stack([x * header["tx_max"], y * header["ty_max"]])
    gained = slopes_gained(header.bends, across) * h[:, None]
    return np.column_stack([across * header["z_in"], across + gained]), h


def _bend(table: MagnetTable, states: F64, h: F64) -> F64:
    """Return the increase (n,) of tx by a table, or of the variable that it sums instead of tx."""
    ends = table.extrapolate(states, h, np.ones(len(h)))
    return np.asarray((summed_slopes(table.form, ends) - summed_slopes(table.form, states))[:, 0])
