"""The figures of a fit in slices of one variable, and in cells of direction, charge and momentum."""

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from itertools import pairwise, product
from operator import or_
from typing import Any

import numpy as np
import numpy.typing as npt

from parkf.fit.fitted import is_good
from parkf.fit.sample import STATE, Sample, chi2_per_ndof, momentum_residual, pulls
from parkf.io.track_columns import Rows
from parkf.proof.validation.core import fit_core, smooth_core
from parkf.proof.validation.figures import (
    ENOUGH,
    binned,
    displacement,
    event_of,
    momentum_figures,
    share,
)

F64 = npt.NDArray[np.float64]
I16 = npt.NDArray[np.int16]
_Part = tuple[dict[str, Any], npt.NDArray[np.bool_]]  # names of a bin's edges, and its tracks (n,)

LOSS_EDGES = (1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0)  # GeV
IMPACT_EDGES = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0)  # 1/pT in 1/GeV
# Of cells.
ETA_EDGES = (2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0)
# Eighths of the full turn; the first has its centre at φ = 0, and others at the vertical plane.
PHI_EDGES = tuple(float(phi) for phi in np.pi / 8 * np.arange(-1, 16, 2))
MOMENTUM_EDGES = (3.0, 5.0, 10.0, 20.0, 50.0, 100.0)  # GeV
# The bend lies in the horizontal plane, so that φ, −φ, π − φ and π + φ are equivalent.
PLANES = {"horizontal": (0, 4), "diagonal": (1, 3, 5, 7), "vertical": (2, 6)}


# Slices that are compared with the full fit: those that gates ask for.
COMPARED = ("velo_hits", "origin_z", "displacement")
# Variables of the slices: the value in every row, and the edges. Fitted values are used where possible, so
# that ghosts have them, too; purity, hard scatterings and origins are known only from the truth.
VARIABLES: dict[str, tuple[Callable[[Rows], npt.NDArray[Any]], Sequence[float]]] = {
    "p": (lambda rows: 1e-3 / np.abs(rows["qop"]), (1.5, 3, 5, 10, 20, 50, 100)),
    "eta": (lambda rows: np.arcsinh(1 / np.hypot(rows["tx"], rows["ty"])), (2, 2.5, 3, 3.5, 4, 4.5, 5)),
    "phi": (lambda rows: np.arctan2(rows["ty"], rows["tx"]), tuple(np.linspace(-np.pi, np.pi, 9))),
    "charge": (lambda rows: np.sign(rows["qop"]), (-1.5, 0, 1.5)),
    "polarity": (lambda rows: rows["polarity"], (-1.5, 0, 1.5)),
    "side": (lambda rows: rows["tx"], (-1, 0, 1)),
    "half": (lambda rows: rows["ty"], (-1, 0, 1)),
    "velo_hits": (lambda rows: rows["velo_n"], (3, 4, 6, 8, 10, 13, 16, 27)),
    "ut_layers": (lambda rows: rows["ut_n"], (0, 1, 3, 4, 5)),
    "scifi_layers": (lambda rows: rows["scifi_n"], (9, 10, 11, 12, 13)),
    "purity": (lambda rows: rows["purity"], (0.7, 0.9, 0.999, 1.001)),
    "hardest": (lambda rows: rows["hardest"], (0, 3, 4, 6, 10, 1000)),
    "born": (lambda rows: rows["born"], (0, 0.5, 3, 6, 1000)),
    # In mm; the last one in m.
    "origin_z": (lambda rows: rows["true_z"], (-300, -100, 0, 100, 300, 600, 900)),
    "displacement": (displacement, (0, 0.1, 0.3, 1, 3, 10, 30, 100)),
    "scifi_x": (lambda rows: 1e-3 * np.abs(rows["scifi_x"]), (0, 0.5, 1, 1.5, 2.2, 3.3)),
}


def breakdown(sample: Sample, cut: float, full: Sample | None = None) -> dict[str, list[dict[str, Any]]]:
    """Slice a fit's candidates by each of :data:`VARIABLES`.

    A slice is ``{low, high, n, core, width68, width95, bias, pulls.<component>, genuine, ghost, purity}``. It
    has the figures of :func:`parkf.proof.validation.figures.momentum_figures` with errors, and core widths of
    pulls with ``<component>_error``. With the full fits of the same candidates, slices of :data:`COMPARED`
    have ``bias_minus_full``. Fractions of genuine tracks and of ghosts (None without ghosts) are below the
    cut on χ²/ndof; ``purity`` is the genuine fraction there. Slices of fewer than 50 genuine tracks are left
    out. All fractions have errors.
    """
    genuine, ghosts = sample.genuine, sample.ghosts
    kept, kept_ghosts = (chi2_per_ndof(rows) < cut for rows in (genuine, ghosts))
    good, residual, event = is_good(genuine["status"]), momentum_residual(genuine), event_of(genuine)
    pull = {component: pulls(genuine, component, finite_only=False) for component in STATE}
    others = None if full is None else full.rows[sample.is_genuine]
    if others is not None:
        good, theirs = good & is_good(others["status"]), momentum_residual(others)
    slices: dict[str, list[dict[str, Any]]] = {name: [] for name in VARIABLES}
    for name, (of, edges) in VARIABLES.items():
        several = zip(binned(of(genuine), edges), binned(of(ghosts), edges), strict=True)
        for (low, high, inside), (_, _, inside_ghosts) in several:
            here = inside & good
            if here.sum() < ENOUGH:
                continue
            one: dict[str, Any] = {"low": float(low), "high": float(high), "n": int(inside.sum())}
            one |= momentum_figures(residual[here])
            if others is not None and name in COMPARED:
                bias = smooth_core(residual[here])[0].minus(smooth_core(theirs[here])[0])
                one |= bias.named("bias_minus_full", event[here])
            one["pulls"] = {}
            for component, values in pull.items():
                finite = values[here]
                one["pulls"] |= fit_core(finite[np.isfinite(finite)]).width_as(component)
            number, number_ghosts = int((inside & kept).sum()), int((inside_ghosts & kept_ghosts).sum())
            one |= share("genuine", kept[inside])
            ghost = share("ghost", kept_ghosts[inside_ghosts])
            one |= ghost if inside_ghosts.any() else dict.fromkeys(ghost)
            one |= share("purity", np.repeat([True, False], [number, number_ghosts]))
            slices[name].append(one)
    return slices


def fates(sample: Sample, cut: float) -> list[dict[str, Any]]:
    """Describe candidates by the fate of their particle; one that decayed or interacted left half a track.

    The entries ``{fate, n, kept, chi2_median}`` are for genuine tracks, tracks of particles that decay on
    their way, ghosts whose particle (the one with most hits) decays or interacts, and other ghosts. ``kept``
    is the fraction below the cut on χ²/ndof, ``chi2_median`` the median of χ²/ndof.
    """
    ended = np.isfinite(sample.ghosts["z_end"])
    several = {
        "genuine": sample.genuine,
        "track of a particle that decays": sample.decayed,
        "ghost of a particle that ends": sample.ghosts[ended],
        "other ghost": sample.ghosts[~ended],
    }
    entries: list[dict[str, Any]] = []
    for fate, rows in several.items():
        if len(rows) >= ENOUGH:
            chi2 = chi2_per_ndof(rows)
            known = {"fate": fate, "n": len(rows), **share("kept", chi2 < cut)}
            entries.append({**known, "chi2_median": float(np.median(chi2))})
    return entries


def losses(sample: Sample) -> list[dict[str, float]]:
    """Count candidates of one particle that have no good fit, by momentum.

    In bins ``{p_min, p_max, n, lost, lost_error}`` of true momentum (GeV), ``n`` counts candidates of which
    one particle, no electron, made 70 % of the hits. ``lost`` is the fraction of them without a good fit. The
    bins begin below the 2 GeV of other figures. The standard error is computed with half a loss more, so that
    it is not zero when no track is lost. Bins without tracks are left out.
    """
    tracks = sample.rows[sample.is_track]
    p, bad = 1e-3 * np.asarray(tracks["p_true"], np.float64), ~is_good(tracks["status"])
    entries = []
    for low, high, inside in binned(p, LOSS_EDGES, fewest=1):
        n, count = int(inside.sum()), int((inside & bad).sum())
        lost = (count + 0.5) / (n + 1)
        error = float(np.sqrt(lost * (1 - lost) / n))
        entries.append({"p_min": low, "p_max": high, "n": n, "lost": count / n, "lost_error": error})
    return entries


def impact_parameters(rows: Rows) -> list[dict[str, float]]:
    """Measure the resolution of both impact parameters and their pulls against 1/pT.

    The impact parameter along x is the distance in x between the fitted line and the true vertex, at the
    vertex's z; likewise along y. Its variance is that of the fit, propagated along the line. Bins ``{low,
    high, n}`` of 1/pT (1/GeV) have the core widths ``x`` and ``y`` (mm), the core widths of the pulls,
    ``pull_x`` and ``pull_y``, and ``<name>_error`` of all four.
    """
    inverse_pt = 1000.0 / (rows["p_true"] * np.sin(np.arctan(np.hypot(rows["true_tx"], rows["true_ty"]))))
    bins = []
    for low, high, inside in binned(inverse_pt, IMPACT_EDGES, ENOUGH):
        tracks = rows[inside]
        entry: dict[str, float] = {"low": low, "high": high, "n": len(tracks)}
        for axis in ("x", "y"):
            distance, sigma = _impact(tracks, axis)
            entry |= fit_core(distance).width_as(axis)
            entry |= fit_core(distance / sigma).width_as(f"pull_{axis}")
        bins.append(entry)
    return bins


def _impact(rows: Rows, axis: str) -> tuple[F64, F64]:
    """Distance from the vertex along an axis and its σ, mm."""
    names = [axis, f"true_{axis}", f"t{axis}", f"true_t{axis}", axis * 2, f"{axis}t{axis}", f"t{axis}t{axis}"]
    fitted, true, slope, true_slope, xx, xt, tt = (np.asarray(rows[name], np.float64) for name in names)
    # true_x lies on the true line at the fitted z.
    way = np.asarray(rows["true_z"] - rows["z"], np.float64)
    distance = fitted - true + (slope - true_slope) * way
    return distance, np.sqrt(xx + 2 * way * xt + way**2 * tt)


def cells(rows: Rows, full: Rows | None = None) -> list[dict[str, Any]]:
    """Measure good genuine tracks by true pseudorapidity, azimuth, charge and momentum.

    There are 6 × 8 × 2 × 5 cells; cells with fewer than 50 tracks are left out. A cell has ``{eta_min,
    eta_max, phi_min, phi_max, charge, p_min, p_max, n, bias, pull_width, tx_mean, ty_mean}`` (rad; GeV) and
    ``<name>_error`` of the last four. ``bias`` is the mean of the core of δp/p, ``pull_width`` the core width
    of the q/p pull; ``tx_mean`` and ``ty_mean`` are the means of the pulls' cores. With full fits of the same
    tracks, there are also ``<name>_minus_full`` of bias and means, with errors that know of the pairs.
    """
    eighth, positive = _eighth(rows), np.asarray(rows["true_qop"]) > 0
    phi = [
        ({"phi_min": low, "phi_max": high}, eighth == i) for i, (low, high) in enumerate(pairwise(PHI_EDGES))
    ]
    return _measured(rows, full, phi, [({"charge": -1}, ~positive), ({"charge": 1}, positive)])


def directions(rows: Rows, full: Rows | None = None) -> list[dict[str, Any]]:
    """Measure a fit in cells that combine equivalent tracks: both charges, and all φ of one plane.

    If the field is symmetric left to right and up to down, tracks differ only in η, in the angle to the plane
    of the bend, and in momentum. Cells ``{eta_min, eta_max, plane, p_min, p_max, n, …}`` have the figures of
    :func:`cells` and four to eight times as many tracks; ``plane`` is ``horizontal``, ``diagonal`` or
    ``vertical``.
    """
    eighth = _eighth(rows)
    planes = [({"plane": name}, np.isin(eighth, eighths)) for name, eighths in PLANES.items()]
    return _measured(rows, full, planes)


def _slopes(rows: Rows) -> tuple[F64, F64]:
    return np.asarray(rows["true_tx"], np.float64), np.asarray(rows["true_ty"], np.float64)


def _eighth(rows: Rows) -> I16:
    tx, ty = _slopes(rows)
    turn = np.mod(np.arctan2(ty, tx) - PHI_EDGES[0], 2 * np.pi)
    # Rounding may result in a whole turn.
    return np.minimum((turn / (np.pi / 4)).astype(np.int16), len(PHI_EDGES) - 2)


def _by_edges(name: str, values: F64, edges: Sequence[float]) -> Iterator[_Part]:
    return (({f"{name}_min": low, f"{name}_max": high}, of) for low, high, of in binned(values, edges))


def _measured(rows: Rows, full: Rows | None, *others: Sequence[_Part]) -> list[dict[str, Any]]:
    """Measure the tracks of each cell in η, the other axes and momentum."""
    with np.errstate(divide="ignore"):
        eta = _by_edges("eta", np.arcsinh(1 / np.hypot(*_slopes(rows))), ETA_EDGES)
    p = _by_edges("p", 1e-3 * np.asarray(rows["p_true"], np.float64), MOMENTUM_EDGES)
    event = event_of(rows)
    values, theirs = (_values(one) for one in (rows, full if full is not None else rows))
    finite = np.logical_and.reduce([np.isfinite(one) for of in (values, theirs) for one in of.values()])
    entries = []
    for parts in product(eta, *others, p):
        inside = np.flatnonzero(np.logical_and.reduce([finite, *(of for _, of in parts)]))
        if len(inside) < ENOUGH:
            continue
        figures = fit_core(values["pull"][inside]).width_as("pull_width")
        for figure in ("bias", "tx_mean", "ty_mean"):
            figures |= fit_core(values[figure][inside]).mean_as(figure)
            if full is not None:
                own, other = (smooth_core(of[figure][inside])[0] for of in (values, theirs))
                figures |= own.minus(other).named(f"{figure}_minus_full", event[inside])
        entries.append({**reduce(or_, (name for name, _ in parts)), "n": len(inside), **figures})
    return entries


def _values(rows: Rows) -> dict[str, F64]:
    """Return what the figures of a cell are made of, (n,) each."""
    named = {"pull": "qop", "tx_mean": "tx", "ty_mean": "ty"}
    pull = {name: pulls(rows, component, finite_only=False) for name, component in named.items()}
    return pull | {"bias": momentum_residual(rows)}
