"""Half widths of central intervals of a distribution, which include tails, unlike a fit of the core."""

import numpy as np
import numpy.typing as npt

# Share of a Gaussian within so many of its widths.
SHARES = {"width68": (0.6826894921370859, 1.0), "width95": (0.95, 1.959963984540054)}


def spread(values: npt.NDArray[np.floating], prefix: str = "") -> dict[str, float]:
    """Measure the widths of the central 68 % and 95 %, scaled so that both are σ for a Gaussian.

    Parameters
    ----------
    values : (n,) float
        Entries, at least one.
    prefix : str
        Of the names.

    Returns
    -------
    dict
        ``width68``: half of what the central 68.27 % take; ``width95``: half of what the central 95 % take,
        over 1.96; in the unit of `values`. Their standard errors, ``<name>_error``, are those of order
        statistics: between which entries a quantile lies, by the binomial law, whatever the distribution.
    """
    result = {}
    for name, (share, gaussian) in SHARES.items():
        tail = (1 - share) / 2
        shift = np.sqrt(tail * (1 - tail) / len(values))
        low, high = np.quantile(values, (tail, 1 - tail))
        # Error of each end: the quantiles at the share beyond it, moved by one standard deviation either way.
        moved = np.quantile(values, np.clip((tail - shift, tail + shift), 0, 1))
        below = (moved[1] - moved[0]) / 2
        moved = np.quantile(values, np.clip((1 - tail - shift, 1 - tail + shift), 0, 1))
        above = (moved[1] - moved[0]) / 2
        # The two ends are positively correlated: their correlation is tail / (1 − tail).
        variance = below**2 + above**2 - 2 * tail / (1 - tail) * below * above
        result[f"{prefix}{name}"] = float(high - low) / (2 * gaussian)
        result[f"{prefix}{name}_error"] = float(np.sqrt(variance)) / (2 * gaussian)
    return result
