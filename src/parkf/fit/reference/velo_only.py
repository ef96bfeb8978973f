"""The fit of VELO hits alone: straight lines in x and in y, with parameterised scattering.

A trigger's beamline fit works like this. The pattern recognition's momentum determines the scattering.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from parkf.fit.candidates import Candidates
from parkf.fit.fitted import STATUS_BITS, Fitted
from parkf.fit.hits import as_candidates
from parkf.io.tables import VELO_SLOTS
from parkf.model.codegen.numpy_step import numpy_step
from parkf.model.steps.frozen import forms_of
from parkf.params.parameter_set import ParameterSet

if TYPE_CHECKING:
    import pyarrow as pa

F64 = NDArray[np.float64]

SEED_RESOLUTION = 0.01
"""Relative error of the pattern recognition's q/p, as published."""

_WIDE_SLOPE = 1.0  # rad; no VELO track is as steep
_HIT_TO_HIT, _HIT_TO_BEAM = range(2)


@dataclass
class _Line:
    """One projection: position and slope with covariance and χ², each (n,)."""

    x: F64
    t: F64
    xx: F64
    xt: F64
    tt: F64
    chi2: F64

    def move(self, dz: F64, noise: tuple[F64, F64, F64]) -> None:
        """Extrapolate by `dz` and scatter by (xx, xt, tt)."""
        xx, xt, tt = noise
        self.x = self.x + dz * self.t
        self.xx = self.xx + dz * (2 * self.xt + dz * self.tt) + xx
        self.xt = self.xt + dz * self.tt + xt
        self.tt = self.tt + tt

    def update(self, hit: F64, variance: float, where: NDArray[np.bool_]) -> None:
        """Update the tracks for which `where` holds with a hit."""
        inverse = np.where(where, 1.0 / (self.xx + variance), 0.0)
        residual = np.where(where, hit - self.x, 0.0)
        self.x = self.x + self.xx * inverse * residual
        self.t = self.t + self.xt * inverse * residual
        self.chi2 = self.chi2 + residual**2 * inverse
        self.tt = self.tt - self.xt**2 * inverse
        self.xt = self.xt * (1.0 - self.xx * inverse)
        self.xx = self.xx * (1.0 - self.xx * inverse)


def fit_velo_only(parameters: ParameterSet, candidates: "pa.Table | pa.RecordBatch | Candidates") -> Fitted:
    """Fit the VELO hits of candidates, from the last to the first and on to the beam line, in float64.

    The set provides the block ``BEAM``, the VELO's resolution and the position of the beam. χ² and ndof of UT
    and SciFi are zero.
    """
    tracks = as_candidates(candidates, np.float64)
    constants = parameters.manifest.constants
    block = parameters.block("BEAM").astype(np.float64)
    beam = numpy_step(forms_of(parameters.manifest.forms, parameters.manifest.formulas).steps["BEAM"])
    number, qop = np.clip(tracks.velo_n, 0, VELO_SLOTS), tracks.qop.astype(np.float64)
    used = np.arange(VELO_SLOTS)[:, None] < number
    x, y, z = (np.where(used, rows.T.astype(np.float64), 0.0) for rows in tracks.velo)
    polarity = tracks.polarity.astype(np.float64)
    rows = np.arange(tracks.count)
    last = np.maximum(number - 1, 0)
    tx, ty = _slope(x, z, last, rows), _slope(y, z, last, rows)

    def noise(row: int, z0: F64, z1: F64) -> list[tuple[F64, F64, F64]]:
        columns = {"x0": x[0], "y0": y[0], "tx0": tx, "ty0": ty, "qop": qop, "polarity": polarity}
        q = beam.noise(block[row], columns | {"z0": z0, "z1": z1})
        return [(q[a] ** 2, q[f"rho_{a}"] * q[a] * q[f"t{a}"], q[f"t{a}"] ** 2) for a in ("x", "y")]

    variance = constants.velo_sigma**2
    at = z[last, rows]
    lines = tuple(_start(hits[last, rows], slope, variance) for hits, slope in ((x, tx), (y, ty)))
    for slot in range(len(x) - 2, -1, -1):
        here = slot < last
        z_next = np.where(here, z[slot], at)
        for line, hits, q in zip(lines, (x, y), noise(_HIT_TO_HIT, at, z_next), strict=True):
            xx, xt, tt = (np.where(here, term, 0.0) for term in q)
            line.move(z_next - at, (xx, xt, tt))
            line.update(hits[slot], variance, here)
        at = z_next
    in_x, in_y = lines
    to_beam = (constants.beam_x - in_x.x) * in_x.t + (constants.beam_y - in_y.x) * in_y.t
    dz = to_beam / np.maximum(in_x.t**2 + in_y.t**2, np.finfo(np.float64).tiny)
    for line, q in zip(lines, noise(_HIT_TO_BEAM, at, at + dz), strict=True):
        line.move(dz, q)
    zero, none = np.zeros_like(at), np.zeros(len(at), np.int32)
    numbers: dict[str, Any] = {
        "z": at + dz,
        **{"x": in_x.x, "tx": in_x.t, "xx": in_x.xx, "xtx": in_x.xt, "txtx": in_x.tt},
        **{"y": in_y.x, "ty": in_y.t, "yy": in_y.xx, "yty": in_y.xt, "tyty": in_y.tt},
        **{"qop": qop, "qopqop": (SEED_RESOLUTION * qop) ** 2},
        **{"chi2_velo": in_x.chi2 + in_y.chi2, "chi2_ut": zero, "chi2_scifi": zero},
    }
    finite = np.isfinite(list(numbers.values())).all(axis=0)
    status = np.where(finite, 0, STATUS_BITS["non_finite"])
    status |= np.where(number < 2, STATUS_BITS["few_velo_hits"], 0)
    ndof = np.maximum(2 * number - 4, 0).astype(np.int32)
    fitted = Fitted(**numbers, ndof_velo=ndof, ndof_ut=none, ndof_scifi=none, status=status.astype(np.int32))
    back = (np.diff(z, axis=0) < 0) & used[1:]
    return (
        fitted.flagged(np.asarray(back.any(axis=0)), "velo_unsorted")
        .flagged(number != tracks.velo_n, "velo_count")
        .flagged(~np.isfinite(qop) | (qop == 0), "wrong_qop")
        .flagged(tracks.nulls, "null_number")
    )


def _slope(values: F64, z: F64, last: NDArray[np.int32], rows: NDArray[np.int64]) -> F64:
    """Slope between first and last hit; 0 where they have the same z."""
    dz = z[last, rows] - z[0]
    return np.where(dz > 0, values[last, rows] - values[0], 0.0) / np.where(dz > 0, dz, 1.0)


def _start(hit: F64, slope: F64, variance: float) -> _Line:
    zero = np.zeros_like(hit)
    return _Line(hit, slope, zero + variance, zero, zero + _WIDE_SLOPE**2, zero)
