"""Decays behind the VELO: vertices and masses from tracks without VELO hits."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from parkf.fit.fitted import TRIANGLE
from parkf.fit.sample import Sample
from parkf.fit.vertices import Ends, Vertices, fit_vertices
from parkf.params.slices import MagnetSlices
from parkf.proof.validation.core import fit_core
from parkf.proof.validation.figures import width_ratio
from parkf.proof.validation.masses import MASSES, RANGE
from parkf.simulation.generate.decays import Decay

F64 = NDArray[np.float64]

FEWEST_PAIRS = 100
_STATE = ["x", "y", "tx", "ty", "qop"]
_OF_A_TRACK = ["file", "event", "pdg_id", "true_z", "polarity", "z", "seed_qop", *_STATE, *TRIANGLE]


def measure_late_decay(
    ours: Sample, full: Sample, decay: Decay, slices: MagnetSlices
) -> dict[str, Any] | None:
    """Measure the pairs of a sample of decays, one in each event, by a set's fit and by the full fit.

    Return ``{n, mean, width, width_over_full, seed_over_width, vertex: {pull_width, pull_mean, width}}``,
    each with its error, or None for too few pairs. ``mean`` and ``width`` are of the core of the mass, MeV,
    less the nominal mass for the mean. ``width_over_full`` compares with the full fit, and
    ``seed_over_width`` with the momenta of the pattern recognition. ``vertex`` is of z, mm.
    """
    pairs, others = _pairs(ours), _pairs(full)
    both = pairs.index.intersection(others.index)
    if len(both) < FEWEST_PAIRS:
        return None
    pairs, others = pairs.loc[both], others.loc[both]
    vertices, of_full = (_vertices(one, slices) for one in (pairs, others))
    good = vertices.ok & of_full.ok
    own = _masses(pairs, vertices, "qop") - decay.mass
    reference = _masses(others, of_full, "qop") - decay.mass
    seed = _masses(pairs, vertices, "seed_qop") - decay.mass
    good &= np.abs(own) < RANGE * decay.mass
    if good.sum() < FEWEST_PAIRS:
        return None
    event = pairs.index.get_level_values("event").to_numpy()[good]
    away = vertices.place[good, 2] - pairs["true_z_a"].to_numpy(np.float64)[good]
    pull = fit_core(away / vertices.z_error[good])
    core = fit_core(own[good])
    ratios = {}
    for name, above, below in (("width_over_full", own, reference), ("seed_over_width", seed, own)):
        ratios[name], ratios[f"{name}_error"] = width_ratio((above[good], event), (below[good], event))
    return {
        "n": int(good.sum()),
        **core.mean_as("mean"),
        **core.width_as("width"),
        **ratios,
        "vertex": {
            **pull.width_as("pull_width"),
            **pull.mean_as("pull_mean"),
            **fit_core(away).width_as("width"),
        },
    }


def _pairs(sample: Sample) -> pd.DataFrame:
    """Return pairs of good tracks of opposite charge, by file and event; ``_a`` is positive."""
    genuine = sample.good
    genuine = genuine[np.isin(np.abs(genuine["pdg_id"]), list(MASSES))]
    rows = pd.DataFrame({name: np.asarray(genuine[name]) for name in _OF_A_TRACK})
    sides = [rows[rows.qop > 0], rows[rows.qop < 0]]
    sides = [one.drop_duplicates(["file", "event"]).set_index(["file", "event"]) for one in sides]
    return sides[0].join(sides[1], how="inner", lsuffix="_a", rsuffix="_b").sort_index()


def _vertices(pairs: pd.DataFrame, slices: MagnetSlices) -> Vertices:
    def ends(suffix: str) -> Ends:
        def columns(names: list[str]) -> F64:
            return pairs[[f"{name}{suffix}" for name in names]].to_numpy(np.float64)

        return Ends(columns(_STATE), columns(list(TRIANGLE)), columns(["z"])[:, 0])

    return fit_vertices(slices, ends("_a"), ends("_b"), pairs["polarity_a"].to_numpy(np.float64))


def _masses(pairs: pd.DataFrame, vertices: Vertices, momentum: str) -> F64:
    """Return invariant masses (n,), MeV, with the particles' own masses."""
    energy, total = np.zeros(len(pairs)), np.zeros((len(pairs), 3))
    for suffix, at in zip(("_a", "_b"), vertices.directions, strict=True):
        qop = at[:, 2] if momentum == "qop" else pairs[f"{momentum}{suffix}"].to_numpy(np.float64)
        direction = np.column_stack([at[:, :2], np.ones(len(at))])
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        mass = pairs[f"pdg_id{suffix}"].abs().map(MASSES).to_numpy(np.float64)
        energy += np.sqrt(1 / qop**2 + mass**2)
        total += direction / np.abs(qop)[:, None]
    return np.sqrt(energy**2 - (total**2).sum(1))
