"""What a search finds of the tracks of a kind, and the ghosts among its candidates."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, VELO_PLANES
from parkf.fit.sample import GHOST_PURITY, Sample, chi2_per_ndof
from parkf.io.errors import ParkfError
from parkf.io.tables import CANDIDATES, HITS, PARTICLES
from parkf.io.track_columns import Rows
from parkf.proof.validation.figures import ENOUGH, WORKING_POINT, binned, share
from parkf.proof.validation.separation import measure_cut

PLANES = {"velo": VELO_PLANES, "ut": UT_PLANES, "scifi": SCIFI_PLANES}
Figure = tuple[float, float]  # value and statistical error

_ELECTRON = 11
# Tracks that count, and bins of the efficiency of a search: GeV, and η.
_P_MIN, _ETA = 2.0, (2.0, 5.0)
_P_BINS = ((2, 3), (3, 5), (5, 10), (10, 20), (20, 100))
_ETA_BINS = ((2, 3), (3, 4), (4, 5))
_SAMPLES = 200  # bootstrap samples of events, for errors of figures that are not fractions
_SEED = 91


@dataclass(frozen=True)
class Files:
    """Tables of one sample: hits, particles, candidates by truth (matched) and from the search (found)."""

    hits: Path
    particles: Path
    matched: Path
    found: Path


def measure_search(found: Sample, true: Sample, edges: Sequence[float]) -> dict[str, Any]:
    """Measure a search by its candidates and by those of the truth, both fitted by a set.

    Return ``candidates``, ``ghosts`` (the share of ghosts among them) with its error, and ``efficiency``, the
    share of true candidates whose particle was found, with its error and their number in bins of momentum
    with `edges` in MeV. ``chi2`` is what a cut on χ²/ndof keeps
    (:func:`parkf.proof.validation.separation.measure_cut`); it is missing if there are few candidates.
    """
    genuine, ghosts = found.genuine, found.ghosts
    there = np.isin(_particles(true.genuine), _particles(genuine))
    is_ghost = np.repeat([True, False], [len(ghosts), len(genuine)])
    figures: dict[str, Any] = {"candidates": len(is_ghost), **share("ghosts", is_ghost)}
    figures["efficiency"] = [
        {"p_min": low / 1000, "p_max": high / 1000, "n": int(here.sum())} | share("efficiency", there[here])
        for low, high, here in binned(true.genuine["p_true"], edges)
    ]
    if min(len(genuine), len(ghosts)) >= ENOUGH:
        figures["chi2"] = measure_cut(-chi2_per_ndof(genuine), -chi2_per_ndof(ghosts), genuine)
    return figures


def _particles(rows: Rows) -> np.ndarray:
    """Name the particles (n,): no two of an event have the same momentum."""
    return np.rec.fromarrays([np.asarray(rows[name]) for name in ("file", "event", "p_true")])


def characterise_search(files: Files, sample: Sample) -> dict[str, Any]:
    """Describe the candidates of a search; `sample` has their fits.

    The result has ``figures.<name>.{value, error}``: ``ghosts`` (fraction of candidates) and ``clones``
    (fraction of the other candidates whose particle already has one); ``efficiency_p_<low>_<high>`` (GeV) and
    ``efficiency_eta_<low>_<high>`` for particles with enough hits, above 2 GeV, 2 < η < 5, no electrons; for
    such tracks ``wrong_<detector>`` (fraction of hits that are not the particle's) and ``hits_<detector>``
    (per track); ``cut`` (the χ²/ndof below which 91 % of genuine tracks are) and ``kept`` (fraction of ghosts
    below it). A file that is no such table, or a sample without genuine candidates or ghosts, raises a
    ParkfError.
    """
    particles = _with_momenta(PARTICLES.open(files.particles).read().to_pandas())
    hits = HITS.open(files.hits).read(["event", "plane", "particle", "x"]).to_pandas()
    matched = CANDIDATES.open(files.matched).read(["event", "particle"]).to_pandas()
    candidates = CANDIDATES.open(files.found).read().to_pandas()

    owned = candidates[candidates.purity >= GHOST_PURITY]
    accepted = particles[particles.accepted]
    tracks = owned.merge(accepted, on=["event", "particle"])
    figures: dict[str, Figure] = {
        "ghosts": _fraction_of(candidates.purity < GHOST_PURITY),
        "clones": _fraction_of(owned.duplicated(["event", "particle"])),
        **_efficiencies(matched.merge(accepted, on=["event", "particle"]), owned),
        **{f"wrong_{name}": _fraction_of(_wrong(tracks, hits_of(hits, name), name)) for name in PLANES},
        **{f"hits_{name}": _mean_of(np.isfinite(_x(tracks, name)).sum(1)) for name in PLANES},
        **_separation(sample, files.found),
    }
    return {"figures": {name: {"value": value, "error": error} for name, (value, error) in figures.items()}}


def hits_of(hits: pd.DataFrame, detector: str) -> pd.DataFrame:
    """Rows of a table with a column ``plane`` that are of one detector."""
    planes = PLANES[detector]
    return hits[(hits.plane >= planes.start) & (hits.plane < planes.stop)]


def _with_momenta(particles: pd.DataFrame) -> pd.DataFrame:
    """Return momenta (GeV), η, and which particles are accepted."""
    p = np.sqrt(particles.px**2 + particles.py**2 + particles.pz**2)
    eta = np.arctanh(particles.pz / p)
    accepted = (p > 1000.0 * _P_MIN) & (eta > _ETA[0]) & (eta < _ETA[1]) & (particles.charge != 0)
    return particles[["event", "particle", "pdg_id", "charge"]].assign(
        p=p / 1000.0,
        eta=eta,
        accepted=accepted & (particles.pdg_id.abs() != _ELECTRON),
    )


def _owners(rows: pd.DataFrame) -> pd.MultiIndex:
    """Event and particle of each row."""
    return pd.MultiIndex.from_frame(rows[["event", "particle"]])


def _mean_of(values: npt.ArrayLike) -> Figure:
    """Return the mean and its statistical error."""
    several = np.asarray(values, np.float64)
    return float(several.mean()), float(several.std(ddof=1) / len(several) ** 0.5)


def _fraction_of(which: npt.ArrayLike) -> Figure:
    """Return the fraction of true values and its binomial error, at least 1/n, even if the fraction is 0."""
    chosen = np.asarray(which, bool)
    fraction, number = float(chosen.mean()), len(chosen)
    return fraction, max((fraction * (1 - fraction) / number) ** 0.5, 1 / number)


def _efficiencies(wanted: pd.DataFrame, owned: pd.DataFrame) -> dict[str, Figure]:
    found = _owners(wanted).isin(_owners(owned))
    figures = {}
    for name, bins in (("p", _P_BINS), ("eta", _ETA_BINS)):
        for low, high in bins:
            inside = ((wanted[name] >= low) & (wanted[name] < high)).to_numpy()
            if inside.any():
                figures[f"efficiency_{name}_{low}_{high}"] = _fraction_of(found[inside])
    return figures


def _x(tracks: pd.DataFrame, detector: str) -> npt.NDArray[np.floating]:
    """X of each hit of the tracks, (n, slots); NaN where there is none."""
    return np.stack(tracks[f"{detector}_x"].to_list())


def _wrong(tracks: pd.DataFrame, hits: pd.DataFrame, detector: str) -> npt.NDArray[np.bool_]:
    """Find the hits of tracks that do not belong to the track's particle."""
    x = _x(tracks, detector).astype(np.float32)
    row, slot = np.nonzero(np.isfinite(x))
    used = pd.MultiIndex.from_arrays(
        [tracks.event.to_numpy()[row], tracks.particle.to_numpy()[row], x[row, slot]]
    )
    own = pd.MultiIndex.from_arrays([hits.event, hits.particle, hits.x.to_numpy(np.float32)])
    return ~np.asarray(used.isin(own))


def _separation(sample: Sample, path: Path) -> dict[str, Figure]:
    """Cut and fraction of ghosts kept; their errors are from a bootstrap over events."""
    chi2, event = chi2_per_ndof(sample.rows), np.asarray(sample.rows["event"])
    genuine, ghost = sample.is_genuine, sample.is_ghost
    if not (genuine.any() and ghost.any()):
        raise ParkfError(f"{path}: {genuine.sum()} genuine candidates and {ghost.sum()} ghosts, need both")

    def at(weight: npt.NDArray[np.float64]) -> tuple[float, float]:
        order = np.argsort(chi2[genuine], kind="stable")
        sums = np.cumsum(weight[genuine][order])
        cut = chi2[genuine][order][np.searchsorted(sums, WORKING_POINT * sums[-1])]
        total = weight[ghost].sum()
        return float(cut), float(weight[ghost][chi2[ghost] <= cut].sum() / total) if total else 0.0

    random = np.random.Generator(np.random.Philox(_SEED))
    events, which = np.unique(event, return_inverse=True)
    again = []
    for _ in range(_SAMPLES):
        times = np.bincount(random.integers(0, len(events), len(events)), minlength=len(events))
        again.append(at(times[which].astype(float)))
    cut, kept = at(np.ones(len(chi2)))
    errors = np.std(again, axis=0)
    # The error is at least one ghost, because a small sample without ghosts does not prove a fraction of 0.
    return {"cut": (cut, float(errors[0])), "kept": (kept, max(float(errors[1]), 1.0 / ghost.sum()))}
