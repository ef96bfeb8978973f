"""The figures of a fit in slices of direction, charge, numbers of hits and other variables."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from parkf.fit.sample import STATE, Sample, chi2_per_ndof, momentum_residual, pulls
from parkf.io.track_columns import Rows
from parkf.proof.validation.core import fit_core
from parkf.proof.validation.spread import spread

_ENOUGH = 50  # tracks below which a slice says nothing


@dataclass(frozen=True)
class _Variable:
    """Something to slice by: its value in every row, and the edges of the slices."""

    of: Callable[[Rows], npt.NDArray[Any]]
    edges: Sequence[float]


def _eta(rows: Rows) -> npt.NDArray[Any]:
    eta: npt.NDArray[Any] = np.arcsinh(1 / np.hypot(rows["tx"], rows["ty"]))
    return eta


def _born(rows: Rows) -> npt.NDArray[np.float64]:
    """Distance of the particle's origin from x = y = 0, mm; the truth is a line through it."""
    way = rows["true_z"] - rows["z"]
    born: npt.NDArray[np.float64] = np.hypot(
        rows["true_x"] + rows["true_tx"] * way, rows["true_y"] + rows["true_ty"] * way
    )
    return born


# Fitted quantities where possible, so that ghosts have them too; purity, hard scatters and origins are known
# from truth only.
VARIABLES = {
    "p": _Variable(lambda rows: 1e-3 / np.abs(rows["qop"]), (1.5, 3, 5, 10, 20, 50, 100)),
    "eta": _Variable(_eta, (2, 2.5, 3, 3.5, 4, 4.5, 5)),
    "phi": _Variable(lambda rows: np.arctan2(rows["ty"], rows["tx"]), tuple(np.linspace(-np.pi, np.pi, 9))),
    "charge": _Variable(lambda rows: np.sign(rows["qop"]), (-1.5, 0, 1.5)),
    "polarity": _Variable(lambda rows: rows["polarity"], (-1.5, 0, 1.5)),
    "side": _Variable(lambda rows: rows["tx"], (-1, 0, 1)),
    "half": _Variable(lambda rows: rows["ty"], (-1, 0, 1)),
    "velo_hits": _Variable(lambda rows: rows["velo_n"], (3, 6, 8, 10, 13, 27)),
    "ut_layers": _Variable(lambda rows: rows["ut_n"], (0, 1, 3, 4, 5)),
    "scifi_layers": _Variable(lambda rows: rows["scifi_n"], (9, 10, 11, 12, 13)),
    "purity": _Variable(lambda rows: rows["purity"], (0.7, 0.9, 0.999, 1.001)),
    "hardest": _Variable(lambda rows: rows["hardest"], (0, 3, 4, 6, 10, 1000)),
    "born": _Variable(_born, (0, 0.5, 3, 6, 1000)),
}


def breakdown(sample: Sample, cut: float) -> dict[str, list[dict[str, Any]]]:
    """Slice a fit's candidates by each of :data:`VARIABLES`.

    Parameters
    ----------
    sample : Sample
    cut : float
        On χ²/ndof, whose efficiencies are quoted.

    Returns
    -------
    dict
        Per variable a list of ``{low, high, n, core, width68, width95, bias, pulls.<component>, genuine,
        ghost, purity}`` with errors of the second four: width of the core of δp/p, the two of
        :func:`parkf.proof.validation.spread.spread`, mean of the core; core widths of pulls, shares of
        genuine tracks and of ghosts below the cut (None without ghosts), and of genuine tracks among what is
        kept. Slices of fewer than 50 genuine tracks are left out.
    """
    return {name: _slices(sample, variable, cut) for name, variable in VARIABLES.items()}


def fates(sample: Sample, cut: float) -> list[dict[str, Any]]:
    """Tell candidates by what became of their particle: decays and interactions leave it half a track.

    Returns
    -------
    list of dict
        ``{fate, n, kept, chi2_median}``: candidates, share of them below the cut on χ²/ndof, and its median;
        of genuine tracks, of tracks of particles that decay on their way, of ghosts whose particle (the one
        with most hits) decays or interacts, and of other ghosts.
    """
    ended = np.isfinite(sample.ghosts["z_end"])
    several = {
        "genuine": sample.genuine,
        "track of a particle that decays": sample.decayed,
        "ghost of a particle that ends": sample.ghosts[ended],
        "other ghost": sample.ghosts[~ended],
    }
    return [
        {
            "fate": fate,
            "n": len(rows),
            "kept": float((chi2_per_ndof(rows) < cut).mean()),
            "chi2_median": float(np.median(chi2_per_ndof(rows))),
        }
        for fate, rows in several.items()
        if len(rows) >= _ENOUGH
    ]


def _slices(sample: Sample, variable: _Variable, cut: float) -> list[dict[str, Any]]:
    genuine, ghosts = sample.genuine, sample.ghosts
    places = [np.digitize(variable.of(rows), variable.edges) for rows in (genuine, ghosts)]
    slices = []
    for number, (low, high) in enumerate(pairwise(variable.edges), start=1):
        kept = genuine[places[0] == number], ghosts[places[1] == number]
        if (kept[0]["status"] == 0).sum() >= _ENOUGH:
            slices.append({"low": float(low), "high": float(high), **_figures(*kept, cut)})
    return slices


def _figures(genuine: Rows, ghosts: Rows, cut: float) -> dict[str, Any]:
    good = genuine[genuine["status"] == 0]
    residual = momentum_residual(good)
    core = fit_core(residual)
    below = [int((chi2_per_ndof(rows) < cut).sum()) for rows in (genuine, ghosts)]
    return {
        "n": len(genuine),
        "core": core.width,
        "core_error": core.width_error,
        **spread(residual),
        "bias": core.mean,
        "bias_error": core.mean_error,
        "pulls": {component: fit_core(pulls(good, component)).width for component in STATE},
        "genuine": below[0] / len(genuine),
        "ghost": below[1] / len(ghosts) if len(ghosts) else None,
        "purity": below[0] / max(sum(below), 1),
    }
