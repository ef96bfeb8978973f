"""Causes of the tails of the q/p pull: wrong hits, hard scatterings, losses of energy, and the rest."""

import numpy as np
import numpy.typing as npt

from parkf.fit.sample import Sample, pulls
from parkf.proof.validation.figures import ENOUGH, binned

Mask = npt.NDArray[np.bool_]

EDGES = (2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0)  # GeV
BEYOND = 3.0  # |pull| of the tail
# A scattering is hard beyond this angle, in units of the layer's width; the track's hardest one counts.
HARD = 6.0
CAUSES = ("wrong_hits", "scatterings", "losses", "rest")
_PURE = 0.999


def tails(sample: Sample) -> list[dict[str, float | None]]:
    """Divide the tail of the q/p pull among its causes.

    A track with a wrong hit, or with a hard scattering, may be in the tail for another reason. For these
    causes only the excess of their tracks in the tail is counted, relative to tracks with neither. Among
    tracks with neither, the excess of tracks with p too low over tracks with p too high is assigned to
    losses of energy, because no other cause is one-sided. The rest is the 0.27 % of a Gaussian, scatterings
    below the limit, and all symmetric causes.

    Bins ``{p_min, p_max, n, beyond, beyond_error}`` of true p (GeV) have the number of genuine tracks with a
    good fit, and the fraction of them with |pull| > 3. The tail is divided into the fractions ``wrong_hits``,
    ``scatterings``, ``losses`` and ``rest``, which add up to one, with ``<name>_error`` from counting.
    Without fates ``scatterings`` is None, and scatterings are in the rest. All four are None if the tail is
    empty.
    """
    rows = sample.good
    pull = pulls(rows, "qop", finite_only=False)
    p = 1e-3 * np.asarray(rows["p_true"], np.float64)
    wrong = np.asarray(rows["purity"]) < _PURE
    hardest = np.asarray(rows["hardest"], np.float64)
    hard = hardest > HARD
    # The pull of q/p times the sign of q is positive where the fitted p is too low.
    low = pull * np.sign(rows["true_qop"]) > 0
    entries: list[dict[str, float | None]] = []
    for p_min, p_max, inside in binned(np.where(np.isfinite(pull), p, np.nan), EDGES, ENOUGH):
        n = int(inside.sum())
        tail = inside & (np.abs(pull) > BEYOND)
        beyond, error = float(tail.sum() / n), float(np.sqrt((tail.sum() + 1) / n**2))
        fractions = _fractions(inside, tail, wrong, hard, low)
        if not np.isfinite(hardest[inside]).any():
            fractions["scatterings"] = fractions["scatterings_error"] = None
        counts = {"p_min": p_min, "p_max": p_max, "n": n, "beyond": beyond, "beyond_error": error}
        entries.append({**counts, **fractions})
    return entries


def _fractions(inside: Mask, tail: Mask, wrong: Mask, hard: Mask, low: Mask) -> dict[str, float | None]:
    """Fractions of the tail by cause, each array (n,)."""
    total = int(tail.sum())
    clean = inside & ~wrong & ~hard
    if total == 0 or not clean.any():
        return dict.fromkeys(name for cause in CAUSES for name in (cause, f"{cause}_error"))
    usual = (tail & clean).sum() / clean.sum()

    def excess(group: Mask) -> float:
        return float((tail & group).sum() - usual * (inside & group).sum())

    only = {"wrong_hits": excess(wrong & ~hard), "scatterings": excess(hard & ~wrong)}
    both, alone = excess(wrong & hard), sum(max(count, 0.0) for count in only.values())
    counts = {
        name: count + both * (max(count, 0.0) / alone if alone > 0 else 0.5) for name, count in only.items()
    }
    # This includes tracks with a wrong hit or a hard scattering that are in the tail for another reason.
    left = total - sum(counts.values())
    sides = [int((tail & clean & side).sum()) for side in (low, ~low)]
    lopsided = max(sides[0] - sides[1], 0) / max(sum(sides), 1)
    counts |= {"losses": left * lopsided, "rest": left * (1 - lopsided)}
    known = {"wrong_hits": (tail & wrong).sum(), "scatterings": (tail & hard).sum()}
    known |= dict.fromkeys(("losses", "rest"), sum(sides) * (left / max(sum(sides), 1)) ** 2)
    fractions: dict[str, float | None] = {}
    for name in CAUSES:
        fractions[name] = float(counts[name] / total)
        fractions[f"{name}_error"] = float(np.sqrt(known[name] + 1) / total)
    return fractions
