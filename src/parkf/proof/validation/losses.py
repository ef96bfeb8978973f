"""Tracks that a fit loses, by momentum."""

from itertools import pairwise

import numpy as np

from parkf.fit.sample import Sample

EDGES = (1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0)  # GeV


def losses(sample: Sample) -> list[dict[str, float]]:
    """Count candidates of one particle that have no good fit.

    Parameters
    ----------
    sample : Sample

    Returns
    -------
    list of dict
        ``{p_min, p_max, n, lost, lost_error}`` of true momentum (GeV), below the 2 GeV of other figures,
        too: the number of candidates of which one particle, no electron, made 70 % of the hits, and the share
        of them without a good fit. The standard error is computed with half a loss more, so that it is not
        zero when none is lost. Bins without tracks are left out.
    """
    tracks = sample.rows[sample.is_track]
    p, bad = 1e-3 * np.asarray(tracks["p_true"], np.float64), np.asarray(tracks["status"]) != 0
    entries = []
    for low, high in pairwise(EDGES):
        inside = (p >= low) & (p < high)
        n, count = int(inside.sum()), int((inside & bad).sum())
        if n == 0:
            continue
        share = (count + 0.5) / (n + 1)
        error = float(np.sqrt(share * (1 - share) / n))
        entries.append({"p_min": low, "p_max": high, "n": n, "lost": count / n, "lost_error": error})
    return entries
