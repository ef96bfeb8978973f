"""What single precision costs: the same candidates fitted in float32 and float64."""

from typing import Any

import numpy as np

from parkf.validation.sample import DETECTORS, STATE, VARIANCES, Sample

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
    differences = {
        component: np.asarray(a[component] - b[component], np.float64) / np.sqrt(b[VARIANCES[component]])
        for component in STATE
    }
    chi2 = [sum(np.asarray(rows[f"chi2_{name}"], np.float64) for name in DETECTORS) for rows in (a, b)]
    differences["chi2"] = chi2[0] / chi2[1] - 1
    return {
        "n": int(good.sum()),
        **{
            name: {q: float(np.quantile(np.abs(values), share)) for q, share in QUANTILES.items()}
            for name, values in differences.items()
        },
    }
