"""What single precision costs: the same candidates fitted in float32 and float64."""

from typing import Any

import numpy as np
import numpy.typing as npt

from parkf.fit.sample import DETECTORS, STATE, VARIANCES, Sample
from parkf.io.track_columns import Rows

F64 = npt.NDArray[np.float64]

QUANTILES = {"q50": 0.5, "q99": 0.99, "q999": 0.999}


def compare_precision(single: Sample, double: Sample) -> dict[str, Any]:
    """Compare two fits of the same candidates.

    Parameters
    ----------
    single, double : Sample
        Fits in float32 and in float64.

    Returns
    -------
    dict
        Quantiles ``{q50, q99, q999}`` of the size of the difference: per component in units of the error
        (``x``, ``y``, ``tx``, ``ty``, ``qop``), and relative for ``chi2``; and ``n``, the tracks with a good
        fit in both.
    """
    good = np.asarray((single.rows["status"] == 0) & (double.rows["status"] == 0))
    a, b = single.rows[good], double.rows[good]
    return {
        "n": int(good.sum()),
        **{component: _quantiles(_in_errors(a, b, component)) for component in STATE},
        "chi2": _quantiles(_chi2(a) / _chi2(b) - 1),
    }


def _in_errors(a: Rows, b: Rows, component: str) -> F64:
    return np.asarray(a[component] - b[component], np.float64) / np.sqrt(b[VARIANCES[component]])


def _chi2(rows: Rows) -> F64:
    return np.sum([np.asarray(rows[f"chi2_{name}"], np.float64) for name in DETECTORS], axis=0)


def _quantiles(differences: F64) -> dict[str, float]:
    size = np.abs(differences)
    return {q: float(np.quantile(size, share)) for q, share in QUANTILES.items()}
