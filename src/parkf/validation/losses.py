"""Tracks that a fit loses, by momentum."""

from itertools import pairwise

import numpy as np

from parkf.validation.sample import Sample

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
        too: how many candidates one particle, no electron, made 70 % of, and the share of them that the fit
        gave up. The standard error counts half a loss more, so that none among few is no certainty. Bins
        without tracks are left out.
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
