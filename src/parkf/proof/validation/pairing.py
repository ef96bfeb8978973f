"""Two sets on the same tracks: how much worse one is than the other, with errors that know of the pairs."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from parkf.fit.fitted import is_good
from parkf.fit.sample import GENUINE_P, Sample, chi2_per_ndof, momentum_residual, pulls
from parkf.proof.validation.core import Estimate, smooth_core
from parkf.proof.validation.figures import ENOUGH, binned, event_of
from parkf.proof.validation.separation import ghosts_kept

F64 = npt.NDArray[np.float64]

REPLICAS = 200
_SEED = 20_260_630
_EDGES = (GENUINE_P, 3000.0, 5000.0, 10_000.0, 20_000.0, 50_000.0, 100_000.0)  # MeV


def compare_fits(own: Sample, published: Sample) -> dict[str, Any]:
    """Measure a published set against the run's own, as two fits of the same candidates, row by row.

    The result has ``crossings`` and ``figures``: ``bias`` and ``core`` of δp/p and the width of the q/p
    ``pull`` in bins of true momentum (GeV), and ``ghosts``, the fraction that χ²/ndof keeps
    (:func:`parkf.proof.validation.separation.ghosts_kept`). The bias is also in cells, by the signs of tx and
    of ``bend``, the side of x to which the magnet bends. In the pull, the biases of the cells are corrected:
    a set whose errors are too large must not gain by a bias. The widths of the pulls of x, y, tx and ty are
    those of all good genuine tracks; they have a ``component``. Each figure is ``{figure, p_min, p_max, tx,
    bend, component, n, own, published, error, worse, worse_error}``. `error` is that of the difference.
    `worse` is by how much the published set is worse: for bias and pull the difference of the distances from
    0 and 1, for the others the difference over the mean.

    Means and widths are those of cores (:func:`parkf.proof.validation.core.smooth_core`). Errors add the
    influences of all tracks of an event. The distance of a bias from zero has a kink there, so that the error
    of `worse` is from a bootstrap with a fixed seed: Poisson weights of events, the same for both sets.
    """
    both = (own.rows, published.rows)
    event = event_of(own.rows)
    crossings = int(event.max()) + 1
    weights = np.random.default_rng(_SEED).poisson(1.0, (REPLICAS, crossings)) - 1.0
    figures: list[dict[str, Any]] = []

    def measured(figure: str, found: Sequence[Estimate], at: npt.NDArray[Any], **place: float | str) -> None:
        one, other = found
        again = [each.value + weights @ np.bincount(at, each.influence, crossings) for each in found]
        numbers = {
            "own": one.value,
            "published": other.value,
            "error": other.minus(one).error(at),
            "worse": float(_worse(figure, one.value, other.value)),
            "worse_error": float(np.std(_worse(figure, *again))),
        }
        figures.append({"figure": figure, **place, "n": len(at), **numbers})

    pull = [pulls(rows, "qop", finite_only=False) for rows in both]
    in_errors = [np.asarray(rows["qop"]) / np.sqrt(np.asarray(rows["qopqop"], np.float64)) for rows in both]
    residual = [momentum_residual(rows) for rows in both]
    good = own.is_genuine & np.isfinite(pull).all(axis=0)
    good &= np.logical_and(*(is_good(rows["status"]) for rows in both))
    tx, bend = (
        np.asarray(own.rows["true_tx"]) > 0,
        np.asarray(own.rows["true_qop"] * own.rows["polarity"]) < 0,
    )
    for low, high, inside in binned(own.rows["p_true"], _EDGES):
        edges, mask = {"p_min": low / 1000, "p_max": high / 1000}, inside & good
        if mask.sum() < ENOUGH:
            continue
        for figure, found in zip(("bias", "core"), _cores(residual, mask), strict=True):
            measured(figure, found, event[mask], **edges)
        for side, way in product((-1, 1), (-1, 1)):
            cell = mask & (tx == (side > 0)) & (bend == (way > 0))
            if cell.sum() >= ENOUGH:
                bias, _ = _cores(residual, cell)
                measured("bias", bias, event[cell], **edges, tx=side, bend=way)
                for values, shift, unit in zip(pull, bias, in_errors, strict=True):
                    values[cell] += shift.value * unit[cell]
        measured("pull", _cores(pull, mask)[1], event[mask], **edges)
    for component in ("x", "y", "tx", "ty") if good.sum() >= ENOUGH else ():
        several = [pulls(rows, component, finite_only=False) for rows in both]
        finite = good & np.isfinite(several).all(axis=0)
        measured("pull", _cores(several, finite)[1], event[finite], component=component)
    if (n := int(own.is_ghost.sum())) >= ENOUGH:
        measured("ghosts", [ghosts_kept(fit, -chi2_per_ndof(fit.rows)) for fit in (own, published)], event)
        figures[-1]["n"] = n
    return {"crossings": crossings, "figures": figures}


def _cores(of: Sequence[F64], mask: npt.NDArray[np.bool_]) -> list[tuple[Estimate, ...]]:
    """Return the means of the cores of both fits, and their widths."""
    return list(zip(*(smooth_core(values[mask]) for values in of), strict=True))


def _worse(figure: str, own: Any, published: Any) -> Any:
    if figure in ("bias", "pull"):
        ideal = 0.0 if figure == "bias" else 1.0
        return np.abs(published - ideal) - np.abs(own - ideal)
    return 2 * (published - own) / np.maximum(published + own, 1e-9)
