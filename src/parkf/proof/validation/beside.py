"""Two fits of the same tracks: the core of δp/p of one over the other's, with the error that this ratio has.

Both see the same scatterings and the same hits, so that their cores go up and down together, and their ratio
is known better than either.
"""

import numpy as np

from parkf.fit.sample import momentum_residual
from parkf.io.track_columns import Rows
from parkf.proof.validation.core import fit_core

GROUPS = 20
"""Into which events are dealt; each is left out once."""


def core_ratio(rows: Rows, others: Rows) -> tuple[float, float]:
    """Give the ratio of two fits' cores of δp/p, and its standard error.

    The error is that of the jackknife: from how the ratio changes when a group of events is left out.

    Parameters
    ----------
    rows, others : Rows
        The same tracks as both fit them; one may have a few more than the other. At least 50 each.

    Raises
    ------
    ValueError
        Where too few tracks are left for a core.
    """
    samples = [(momentum_residual(one), np.asarray(one["event"]) % GROUPS) for one in (rows, others)]

    def ratio(without: int | None) -> float:
        one, other = (fit_core(residual[group != without]).width for residual, group in samples)
        return one / other

    each = np.array([ratio(group) for group in range(GROUPS)])
    error = np.sqrt((GROUPS - 1) / GROUPS * np.square(each - each.mean()).sum())
    return ratio(None), float(error)
