"""Compares the scheme `trigger` with the trigger's own code, track by track and point by point.

    python -m benchmarks.trigger_golden ../shared/data/trigger_client/golden_r007.npz

The file holds candidates and the results that the trigger's fit functions compute for them (code of 2026, on
a processor), in single and in double precision, with the export of a published set. Differences are in units
of the error at the point. In double precision both codes agree to rounding. In single precision the rounding
itself is visible: the trigger's own results in the two precisions differ as much.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import parkf._fitter as _fitter
from benchmarks.command import parser, write
from numpy.typing import NDArray

from parkf.fit.candidates import Candidates
from parkf.fit.cpu import kernel_arguments
from parkf.fit.fitted import Fitted
from parkf.io.project import PROJECT
from parkf.params.exchange.trigger import as_the_trigger_reads
from parkf.params.parameter_set import ParameterSet, load

# Points at which :func:`trace` records a track. At a layer, the state is the one before its hit is used.
# ``back`` is at the last VELO hit, with the final q/p and covariance.
POINTS = (
    *("V_end", "UT0", "UT1", "UT2", "UT3", "UT_end", "UTT_in", "UTT_out"),
    *(f"T{layer}" for layer in range(12)),
    *("T_end", "back"),
)
SET = PROJECT / "params/2026-run3-like-2-r007"
F64 = NDArray[np.float64]
# The lower triangle of a 5×5 matrix: rows, columns, and the positions of the diagonal.
ROWS, COLUMNS = np.tril_indices(5)
DIAGONAL = np.flatnonzero(ROWS == COLUMNS)
# Names of results: ours, and those in the file.
RESULTS = {
    **{name: name for name in ("x", "y", "tx", "ty", "qop", "chi2_velo", "chi2_ut", "chi2_scifi")},
    **{"xx": "c00", "xtx": "c02", "txtx": "c22", "yy": "c11", "yty": "c13", "tyty": "c33", "qopqop": "c44"},
}
STATES = {"x": "c00", "y": "c11", "tx": "c22", "ty": "c33", "qop": "c44"}


def trace(parameters: ParameterSet, tracks: Candidates) -> tuple[NDArray[Any], Fitted]:
    """Fit candidates in the trigger's arithmetic, one after the other, and record each of them on its way.

    This is for comparisons with the trigger's own code. The numbers (n, 22, 21) are, at each of ``POINTS``,
    x, y (mm), tx, ty and q/p (1/MeV), the lower triangle of their covariance row by row, and z (mm). The fits
    are those of the scheme `trigger`. The set must have production's forms.
    """
    points, numbers, integers = _fitter.trace_trigger(*kernel_arguments(parameters, tracks, 1, ""))
    return points, Fitted.from_kernel(numbers, integers)


@dataclass(frozen=True)
class Compared:
    """One polarity in one precision.

    Attributes
    ----------
    states : dict
        By point: the largest difference of a component of the state, in units of its error, for 99 % of
        tracks.
    covariances : dict
        By point: the same for an element of the covariance, in units of both components' errors.
    results : dict
        By column, for 99 % of tracks: states in units of their errors, covariances and χ² as ratios.
    wrong_ndof, wrong_charge : int
        Numbers of tracks for which the degrees of freedom, or the sign of q/p, differ.
    nan : tuple of int
        Numbers of tracks that are not finite in the file, here, and in both.
    """

    polarity: int
    precision: str
    tracks: int
    states: dict[str, float]
    covariances: dict[str, float]
    results: dict[str, float]
    wrong_ndof: int
    wrong_charge: int
    nan: tuple[int, int, int]


def candidates(golden: Any, which: int, parameters: ParameterSet, precision: str) -> Candidates:
    """Candidates of one polarity; the σ of SciFi hits is that of their cluster size in the set."""
    velo, number = golden[f"in{which}_velo"].astype(precision), golden[f"in{which}_velo_n"]
    # Ascending z; rows beyond the hits are NaN, which sorts to the end.
    order = np.argsort(velo[:, :, 2], axis=1, kind="stable")
    velo = np.take_along_axis(velo, order[:, :, None], axis=1)
    scifi, size = golden[f"in{which}_scifi"], golden[f"in{which}_size"]
    layers = parameters.block("TLayer").astype(np.float64)
    there = size >= 0
    sigma = np.where(there, np.sqrt(layers[3][np.maximum(size, 0)]), np.nan)
    dxdy = np.where(there, layers[2], np.nan)
    hits = (scifi[:, :, 0], scifi[:, :, 1], dxdy, sigma)

    def rows(values: NDArray[Any]) -> NDArray[Any]:
        return np.ascontiguousarray(values, dtype=precision)

    return Candidates(
        polarity=rows(golden[f"in{which}_pol"]),
        qop=rows(golden[f"in{which}_qop"]),
        velo_n=np.ascontiguousarray(number, np.int32),
        velo=tuple(rows(velo[:, :, i]) for i in range(3)),
        ut=tuple(rows(golden[f"in{which}_ut"][:, :, i]) for i in range(4)),
        scifi=tuple(map(rows, hits)),
    )


def compared(golden: Any, parameters: ParameterSet) -> Iterator[Compared]:
    """Compare both polarities in double and in single precision."""
    read = as_the_trigger_reads(parameters)
    names = [str(name) for name in golden["out_names"]]
    for which in (0, 1):
        for precision, bits in (("float64", 64), ("float32", 32)):
            if f"trace{which}_{bits}" not in golden:
                continue
            tracks = candidates(golden, which, parameters, precision)
            points, fitted = trace(read, tracks)
            # In the file z comes first.
            expected = np.roll(golden[f"trace{which}_{bits}"].astype(np.float64), -1, axis=2)
            states, covariances = _points(points.astype(np.float64), expected)
            out = dict(zip(names, golden[f"allen{which}_{bits}"].T, strict=True))
            bad = ~np.isfinite([out[name] for name in RESULTS.values()]).all(axis=0)
            mine = ~np.isfinite([getattr(fitted, name) for name in RESULTS]).all(axis=0)
            good = ~(bad | mine)
            yield Compared(
                polarity=int(tracks.polarity[0]),
                precision=precision,
                tracks=tracks.count,
                states=states,
                covariances=covariances,
                results={name: _result(name, fitted, out, good) for name in RESULTS},
                wrong_ndof=int(
                    (fitted.ndof_velo + fitted.ndof_ut + fitted.ndof_scifi != out["ndof"])[good].sum()
                ),
                wrong_charge=int((fitted.qop * out["qop"] < 0)[good].sum()),
                nan=(int(bad.sum()), int(mine.sum()), int((bad & mine).sum())),
            )


def _points(points: F64, expected: F64) -> tuple[dict[str, float], dict[str, float]]:
    states, covariances = {}, {}
    for place, point in enumerate(POINTS):
        here, there = points[:, place, :20], expected[:, place, :20]
        good = np.isfinite(here).all(axis=1) & np.isfinite(there).all(axis=1)
        off = np.abs(here - there)[good]
        errors = np.sqrt(np.abs(there[good][:, 5 + DIAGONAL]))
        states[point] = _most((off[:, :5] / errors).max(axis=1))
        covariances[point] = _most((off[:, 5:] / (errors[:, ROWS] * errors[:, COLUMNS])).max(axis=1))
    return states, covariances


def _result(name: str, fitted: Any, out: dict[str, F64], good: NDArray[np.bool_]) -> float:
    expected = out[RESULTS[name]][good]
    scale = np.sqrt(np.abs(out[STATES[name]][good])) if name in STATES else np.abs(expected)
    return _most(np.abs(getattr(fitted, name)[good] - expected) / np.maximum(scale, 1e-30))


def _most(values: F64) -> float:
    return float(np.percentile(values, 99))


def main(path: Path) -> list[dict[str, Any]]:
    """Print the comparison, with its figures as JSON in the last line, and return them."""
    all_of_it = list(compared(np.load(path), load(SET)))
    for one in all_of_it:
        print(f"polarity {one.polarity:+d}, {one.precision}, {one.tracks} tracks; 99 % differ by at most")
        print("  point    state/σ   covariance/σσ")
        for point in POINTS:
            print(f"  {point:8} {one.states[point]:.1e}   {one.covariances[point]:.1e}")
        print("  results  " + ", ".join(f"{name} {value:.1e}" for name, value in one.results.items()))
        print(f"  other ndof {one.wrong_ndof}, other charge {one.wrong_charge}")
        print("  not finite: {} there, {} here, {} in both".format(*one.nan))
    found = [vars(one) for one in all_of_it]
    print(json.dumps(found))
    return found


if __name__ == "__main__":
    options = parser(__doc__, file="../shared/data/trigger_client/golden_r007.npz").parse_args()
    write(options.json, main(options.file))
