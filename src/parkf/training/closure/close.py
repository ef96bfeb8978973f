"""Close a parameter set: targets carried on through the SciFi, then passes over fits of tracks."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from parkf.detector.field import FieldMap
from parkf.detector.geometry import Geometry
from parkf.fit import fit
from parkf.io.errors import ParkfError
from parkf.io.option_types import Scheme
from parkf.model.codegen.numpy_step import numpy_step
from parkf.model.steps import FORMS
from parkf.params.parameter_set import ParameterSet, with_blobs
from parkf.training.closure.bend import ChangeFit
from parkf.training.closure.bias import Widths, bias_cells
from parkf.training.closure.response import Response, measure_response
from parkf.training.closure.sample import read_sample
from parkf.training.closure.targets import carry_on, wanted_slope
from parkf.training.magnet_table import MagnetTable
from parkf.training.magnet_table.accuracy import table_accuracy
from parkf.training.magnet_table.form import Header, slopes_gained, summed_slopes
from parkf.training.magnet_table.rays import Magnet, Rays, independent_rays, training_rays
from parkf.training.magnet_table.train import TEST_RAYS, fit_slope_change

F64 = NDArray[np.float64]

FEWEST_TRACKS = 2_000
# Number of points along each axis of place and momentum at which the prior of the change is imposed.
BELIEF_POINTS = 16
LARGEST_F = 1.05
# Number of widths from the centre at which the weight of a difference is halved.
FAR = 2.0
# Number of tracks whose rows of the linear problem are in memory at a time.
ROWS = 1 << 14
BENDS = ("bendx", "bendx_x2", "bendx_y2", "bendy_xy")
TARGETS = "Runge-Kutta, and for tx what keeps q/p in a fit of the forms behind the magnet"


@dataclass(frozen=True)
class Closed:
    """A closed table, which replaces the one that the steps were fitted with.

    `accuracy` has its figures against its targets, as of :func:`table_accuracy`, and describes these in
    ``targets``; `summary` has the results of each stage, for ``closure.json``.
    """

    table: MagnetTable
    accuracy: dict[str, Any]
    summary: dict[str, Any]


def close(
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
) -> Closed:
    """Close a set on the fit that will use it.

    Parameters
    ----------
    parameters : ParameterSet
        The set as its steps were fitted.
    samples : list of Path
        Tables ``closure-tracks`` of all polarities.
    geometry, field
        The detector, aligned as the set's.
    rays : int
        Rays to carry on, best a power of two.
    passes : int
        Over the tracks.
    seed : int
        Of the rays.
    threads : int
        The result does not depend on it.
    scheme : Scheme
        Of the fit that will use the set.

    Raises
    ------
    ParkfError
        When there are too few tracks.
    """
    # One thread for linear algebra: sums are added in the same order, whatever the number of cores.
    with threadpool_limits(1):
        work = _Closure(parameters, samples, scheme, threads)
        response = work.response
        magnet = Magnet(field, geometry.z_in, geometry.z_out, geometry.beam, threads)

        def targets(carried: Rays) -> tuple[Rays, F64]:
            missed = carry_on(
                parameters, carried, field=field, geometry=geometry, loss=work.loss, threads=threads
            )
            wanted = wanted_slope(missed, carried, response)
            return carried[missed.reached], wanted[missed.reached]

        header = Header.of(work.table.header)
        bends = {name: header[name] for name in BENDS}
        stages = [work.measure("before")]
        work.table = fit_slope_change(
            work.table, *targets(training_rays(magnet, bends, count=rays, seed=seed)), threads
        )
        tested, moved = targets(independent_rays(magnet, count=TEST_RAYS, seed=seed))
        end = tested.end.copy()
        end[:, 2] += moved
        accuracy = table_accuracy(work.table, Rays(tested.start, end, tested.qop))
        stages.append(work.measure("targets"))
        changes = []
        for number in range(passes):
            changes.append(work.change())
            stages.append(work.measure(f"pass {number + 1}"))
        p, share, gain = response.p, response.share, response.gain
        summary = {
            "tracks": len(work.true_qop),
            "response": {"p": p.tolist(), "share": share.tolist(), "gain": gain.tolist()},
            "loss": work.loss.tolist(),
            "stages": stages,
            "changes": changes,
        }
        closed = replace(work.table, closed_with=parameters.manifest.blobs.constant.sha256)
        return Closed(closed, {**accuracy, "targets": TARGETS}, summary)


class _Closure:
    """The current table, and what is kept in memory of each track: a hundred bytes."""

    def __init__(self, parameters: ParameterSet, samples: list[Path], scheme: Scheme, threads: int) -> None:
        self._parameters, self._samples, self._scheme, self._threads = parameters, samples, scheme, threads
        self.table = MagnetTable(parameters.block("UTT_META")[0], parameters.table)
        self._hop = numpy_step(FORMS[parameters.manifest.forms].steps["UTTF"])
        self._numbers = parameters.block("UTTF")[0].astype(np.float64)
        parts = [
            (t.state, t.slopes, t.true_qop, t.full_qop, t.candidates.polarity) for t in read_sample(samples)
        ]
        if sum(len(part[2]) for part in parts) < FEWEST_TRACKS:
            raise ParkfError(
                f"closure: {sum(len(part[2]) for part in parts)} tracks with a good full fit in "
                f"{', '.join(map(str, samples))}, expected {FEWEST_TRACKS}; raise training.closure.tracks"
            )
        columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
        self._state, self._slopes, self.true_qop, full, self._polarity = columns
        self._p = 1 / np.abs(self.true_qop)
        bias = Widths()
        bias.add(self._p, full / self.true_qop - 1)
        # The full fit has the same hits, and so the same measurement errors. Its mean bias is subtracted, so
        # that the closure does not learn it.
        self._reference = full / (1 + bias.core(self._p)[0])
        self.response, self.loss = self._begin()
        self._fitted = np.zeros(0)

    def _begin(self) -> tuple[Response, F64]:
        """Measure on the first tracks the fit's response to hits, and momentum losses up to SciFi layers."""
        tracks = next(read_sample(self._samples))
        bend = self._bend(slice(0, len(tracks)))[1] / tracks.true_qop
        response = measure_response(
            self._parameters, tracks, bend, scheme=self._scheme, threads=self._threads
        )
        return response, np.nanmedian(tracks.loss, axis=0)

    def _bend(self, rows: slice | NDArray[np.int64]) -> tuple[F64, F64]:
        """Return h after the loss before the bend, and what the table adds to tx, for the reference's q/p."""
        polarity = self._polarity[rows]
        h = polarity * self._hop.local_qop(self._numbers, self._reference[rows])
        return h, _bend(self.table, self._state[rows], h)

    def measure(self, name: str) -> dict[str, Any]:
        """Fit all tracks with the current table, and measure the bias of q/p against the reference."""
        closed = with_blobs(self._parameters.manifest, self._parameters.constant, self.table.coefficients)
        fits = [
            fit(
                closed,
                tracks.candidates,
                scheme=self._scheme,
                precision="float64",
                threads=self._threads,
            )
            for tracks in read_sample(self._samples)
        ]
        fitted = np.concatenate([one.qop for one in fits])
        good = np.concatenate([one.status for one in fits]) == 0
        self._fitted = np.where(good, np.abs(fitted / self._reference) - 1, np.nan)
        return {"name": name, "cells": list(bias_cells(self._slopes, self._p, self._fitted))}

    def change(self) -> dict[str, Any]:
        """Change the table's bend to remove the bias of the fits, and return how large the change is."""
        header = Header.of(self.table.header)
        good = np.flatnonzero(np.isfinite(self._fitted))
        widths = Widths()
        widths.add(self._p[good], self._fitted[good])
        sums = ChangeFit(header)
        for begin in range(0, len(good), ROWS):
            rows = good[begin : begin + ROWS]
            wanted, p = self._fitted[rows], self._p[rows]
            centre, width = widths.core(p)
            weight = 1 / width**2 / (1 + ((wanted - centre) / (FAR * width)) ** 2)
            h, bend = self._bend(rows)
            basis = sums.basis(self._state[rows], h, bend)
            sums.add(basis * self.response.gain_at(p)[:, None], wanted, weight)
        states, h = belief_states(header)
        change = sums.solve(sums.basis(states, h, _bend(self.table, states, h)))
        sampled = good[:: max(1, len(good) // ROWS)]
        h, bend = self._bend(sampled)
        basis = sums.basis(self._state[sampled], h, bend)
        size = basis @ change.coefficients.ravel()
        error = np.sqrt(np.einsum("ni,ij,nj->n", basis, change.covariance, basis, optimize=True))
        self.table = change.added_to(self.table)
        return {
            "terms": change.coefficients.size,
            "rms": float(np.sqrt(np.mean(size**2))),
            "q95": float(np.quantile(np.abs(size), 0.95)),
            "error_rms": float(np.sqrt(np.mean(error**2))),
        }


def belief_states(header: Header) -> tuple[F64, F64]:
    """States (m, 4) at z_in of tracks from the origin, spread evenly over grid and f, and their h (m,)."""
    middles = (2 * np.arange(BELIEF_POINTS) + 1) / BELIEF_POINTS - 1
    x, y, f = (axis.ravel() for axis in np.meshgrid(middles, middles, LARGEST_F * middles, indexing="ij"))
    h = f / header["p_min"]
    across = np.column_stack([x * header["tx_max"], y * header["ty_max"]])
    gained = slopes_gained({name: header[name] for name in BENDS}, across) * h[:, None]
    return np.column_stack([across * header["z_in"], across + gained]), h


def _bend(table: MagnetTable, states: F64, h: F64) -> F64:
    """Return what a table adds to tx, or to what it sums instead of tx, (n,)."""
    ends = table.extrapolate(states, h, np.ones(len(h)))
    gained: F64 = (summed_slopes(table.form, ends) - summed_slopes(table.form, states))[:, 0]
    return gained
