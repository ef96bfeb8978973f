"""Figures of a pattern recognition on a sample, to compare them with those on another one."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from parkf.fit.sample import GHOST_PURITY, Sample, chi2_per_ndof
from parkf.io.errors import ParkfError
from parkf.io.tables import CANDIDATES, HITS, PARTICLES
from parkf.proof.validation.figures import WORKING_POINT
from parkf.proof.validation.likeness import (
    PLANES,
    Figure,
    Files,
    fraction_of,
    hits_of,
    mean_of,
    named,
    owners,
    with_momenta,
)

P_BINS = ((2, 3), (3, 5), (5, 10), (10, 20), (20, 100))
"""GeV."""

ETA_BINS = ((2, 3), (3, 4), (4, 5))

_SAMPLES = 200  # bootstrap samples of events, for errors of figures that are not fractions
_SEED = 91


def characterise_search(files: Files, sample: Sample) -> dict[str, Any]:
    """Describe the candidates of a search; `sample` has their fits.

    Returns
    -------
    dict
        ``figures.<name>.{value, error}``: ``ghosts`` (fraction of candidates), ``clones`` (fraction of the
        others whose particle has one already), ``efficiency_p_<low>_<high>`` (GeV) and
        ``efficiency_eta_<low>_<high>`` (of particles that left enough hits, above 2 GeV, 2 < η < 5, no
        electrons), ``wrong_<detector>`` (fraction of hits that are not their particle's, of such tracks),
        ``hits_<detector>`` (per track), ``cut`` (χ²/ndof that 91 % of genuine tracks stay below) and ``kept``
        (fraction of ghosts below it).

    Raises
    ------
    ParkfError
        When a file is no such table, or there are no genuine candidates or no ghosts.
    """
    particles = with_momenta(PARTICLES.open(files.particles).read().to_pandas())
    hits = HITS.open(files.hits).read(["event", "plane", "particle", "x"]).to_pandas()
    matched = CANDIDATES.open(files.matched).read(["event", "particle"]).to_pandas()
    candidates = CANDIDATES.open(files.found).read().to_pandas()

    owned = candidates[candidates.purity >= GHOST_PURITY]
    tracks = owned.merge(particles[particles.accepted], on=["event", "particle"])
    figures: dict[str, Figure] = {
        "ghosts": fraction_of(candidates.purity < GHOST_PURITY),
        "clones": fraction_of(owned.duplicated(["event", "particle"])),
        **_efficiencies(matched.merge(particles[particles.accepted], on=["event", "particle"]), owned),
        **{f"wrong_{name}": fraction_of(_wrong(tracks, hits_of(hits, name), name)) for name in PLANES},
        **{f"hits_{name}": mean_of(_used(tracks, name).sum(1)) for name in PLANES},
        **_separation(sample, files.found),
    }
    return {"figures": named(figures)}


def _efficiencies(wanted: pd.DataFrame, owned: pd.DataFrame) -> dict[str, Figure]:
    found = owners(wanted).isin(owners(owned))
    figures = {}
    for name, bins in (("p", P_BINS), ("eta", ETA_BINS)):
        for low, high in bins:
            inside = ((wanted[name] >= low) & (wanted[name] < high)).to_numpy()
            if inside.any():
                figures[f"efficiency_{name}_{low}_{high}"] = fraction_of(found[inside])
    return figures


def _used(tracks: pd.DataFrame, detector: str) -> npt.NDArray[np.bool_]:
    return np.isfinite(np.stack(tracks[f"{detector}_x"].to_list()))


def _wrong(tracks: pd.DataFrame, hits: pd.DataFrame, detector: str) -> npt.NDArray[np.bool_]:
    """Which hits of the tracks are none of the track's particle."""
    x = np.stack(tracks[f"{detector}_x"].to_list()).astype(np.float32)
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
    # The error is at least one ghost: zero among few is not certain.
    return {"cut": (cut, float(errors[0])), "kept": (kept, max(float(errors[1]), 1.0 / ghost.sum()))}
