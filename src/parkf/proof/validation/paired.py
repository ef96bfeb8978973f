"""Two sets on the same tracks: how much worse one is than the other, with errors that know of the pairs."""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from parkf.fit.fitted import is_good
from parkf.fit.sample import GENUINE_P, Sample, chi2_per_ndof, momentum_residual, pulls
from parkf.proof.validation.figures import ENOUGH, WORKING_POINT, binned

F64 = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
# Sums over the events of each replica, of values (n,) of the tracks in a mask.
_Sums = Callable[[F64, Mask], F64]

REPLICAS = 200
_SEED = 20_260_630
_EDGES = (GENUINE_P, 3000.0, 5000.0, 10_000.0, 20_000.0, 50_000.0, 100_000.0)  # MeV
_ROUNDS = 30  # each divides the distance from the fit by two at least


def paired(own: Sample, published: Sample) -> dict[str, Any]:
    """Measure a published set against the run's own, as two fits of the same candidates, row by row.

    The result has ``crossings`` and ``figures``: ``bias`` and ``core`` of δp/p and the width of the q/p
    ``pull`` in bins of true momentum (GeV), and ``ghosts``, the fraction that χ²/ndof keeps where it keeps
    91 % of genuine tracks. The bias is also in cells, by the signs of tx and of ``bend``, the side of x to
    which the magnet bends. In the pull, the biases of the cells are corrected: a set whose errors are too
    large must not gain by a bias. Each figure is
    ``{figure, p_min, p_max, tx, bend, n, own, published, error, worse, worse_error}``. `error` is that of the
    difference. `worse` is by how much the published set is worse: for bias and pull the difference of the
    distances from 0 and 1, for the others the difference over the mean.

    Means and widths are those of cores (:func:`smooth_core`). Errors are from a bootstrap of events with a
    fixed seed: Poisson weights, the same for both sets, of the influence of each event.
    """
    both = (own.rows, published.rows)
    crossings, event = np.unique(
        np.asarray(own.rows["file"], np.int64) << 32 | np.asarray(own.rows["event"], np.int64),
        return_inverse=True,
    )
    weights = np.random.default_rng(_SEED).poisson(1.0, (REPLICAS, len(crossings))) - 1.0
    figures: list[dict[str, Any]] = []

    def sums(influence: F64, mask: Mask) -> F64:
        return weights @ np.bincount(event[mask], influence, len(crossings))

    def measured(figure: str, values: F64, n: int, **place: float) -> None:
        worse = _worse(figure, *values)
        numbers = {
            "own": values[0, 0],
            "published": values[1, 0],
            "error": np.std((values[1] - values[0])[1:]),
        }
        numbers |= {"worse": worse[0], "worse_error": np.std(worse[1:])}
        numbers = {key: float(one) for key, one in numbers.items()}
        figures.append({"figure": figure, **place, "n": n, **numbers})

    def cores(of: list[F64], mask: Mask) -> F64:
        found = []
        for values in of:
            result, influence = smooth_core(values[mask])
            found.append(
                [np.append(x, x + sums(one, mask)) for x, one in zip(result, influence, strict=True)]
            )
        return np.stack(found, axis=1)

    genuine, ghosts = own.is_genuine, own.is_ghost
    pull = [pulls(rows, "qop", finite_only=False) for rows in both]
    in_errors = [np.asarray(rows["qop"]) / np.sqrt(np.asarray(rows["qopqop"], np.float64)) for rows in both]
    residual = [momentum_residual(rows) for rows in both]
    good = genuine & np.isfinite(pull).all(axis=0)
    good &= np.logical_and(*(is_good(rows["status"]) for rows in both))
    tx, bend = (
        np.asarray(own.rows["true_tx"]) > 0,
        np.asarray(own.rows["true_qop"] * own.rows["polarity"]) < 0,
    )
    for low, high, inside in binned(own.rows["p_true"], _EDGES):
        edges, mask = {"p_min": low / 1000, "p_max": high / 1000}, inside & good
        if (n := int(mask.sum())) < ENOUGH:
            continue
        bias, core = cores(residual, mask)
        measured("bias", bias, n, **edges)
        measured("core", core, n, **edges)
        for side, way in product((-1, 1), (-1, 1)):
            cell = mask & (tx == (side > 0)) & (bend == (way > 0))
            if (several := int(cell.sum())) >= ENOUGH:
                bias, _ = cores(residual, cell)
                measured("bias", bias, several, **edges, tx=side, bend=way)
                for values, shift, unit in zip(pull, bias[:, 0], in_errors, strict=True):
                    values[cell] += shift * unit[cell]
        measured("pull", cores(pull, mask)[1], n, **edges)
    if (n := int(ghosts.sum())) >= ENOUGH:
        kept = [_kept(chi2_per_ndof(rows), genuine, ghosts, sums) for rows in both]
        measured("ghosts", np.stack(kept), n)
    return {"crossings": len(crossings), "figures": figures}


def _worse(figure: str, own: F64, published: F64) -> F64:
    if figure in ("bias", "pull"):
        ideal = 0.0 if figure == "bias" else 1.0
        return np.abs(published - ideal) - np.abs(own - ideal)
    return 2 * (published - own) / np.maximum(published + own, 1e-9)


def smooth_core(values: F64) -> tuple[F64, F64]:
    """Return mean and width of the core of values (n,), and the influence of each value on both, (2, n).

    The range of :func:`parkf.proof.validation.core.fit_core` has sharp ends, so that two fits of the same
    tracks would differ by the few that are in the range of one of them alone. Here, tracks have the weight
    exp(−u²/2) at u widths from the mean. For a Gaussian the results are the same, and for residuals of tracks
    they agree to about 1 %.
    """
    low, mean, high = np.quantile(values, (0.1587, 0.5, 0.8413))
    width = (high - low) / 2
    for _ in range(_ROUNDS):
        u = (values - mean) / width
        weight = np.exp(-0.5 * u**2)
        mean += width * np.average(u, weights=weight)
        # A Gaussian times this weight has half the variance.
        width *= np.sqrt(2 * np.average(u**2, weights=weight))
    # Sums of u·weight and of (u² − 1/2)·weight are zero. From their slopes with u follows what a value does.
    slopes = weight * np.stack([1 - u**2, u * (2.5 - u**2)])
    slope = np.stack([slopes.mean(axis=1), (u * slopes).mean(axis=1)], axis=1)
    influence = width * np.linalg.solve(slope, weight * np.stack([u, u**2 - 0.5])) / len(values)
    return np.array([mean, width]), influence


def _kept(chi2: F64, genuine: Mask, ghosts: Mask, sums: _Sums) -> F64:
    """Return the fraction of ghosts below the cut that keeps 91 % of genuine tracks, (1 + replicas,)."""
    near = (WORKING_POINT - 0.04, WORKING_POINT, WORKING_POINT + 0.04)
    below, cut, above = np.quantile(chi2[genuine], near, method="lower")
    looser, kept, tighter = (float((chi2[ghosts] <= one).mean()) for one in (above, cut, below))
    slope = (looser - tighter) / (near[2] - near[0])
    passed = (chi2 <= cut).astype(np.float64)
    change = sums((passed[ghosts] - kept) / ghosts.sum(), ghosts)
    change -= sums(slope * (passed[genuine] - WORKING_POINT) / genuine.sum(), genuine)
    return np.append(kept, kept + change)
