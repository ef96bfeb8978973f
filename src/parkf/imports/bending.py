"""What a field does to a track, in the units of the doors' tables."""

import math

# p [GeV] = 0.299792458 B [T] rho [m].
GEV_PER_TESLA_METRE = 0.299792458


def power_of_ten(ratio: float) -> int:
    """Power of ten that a ratio is within a third of, where it is not one: 9.8 gives 1, 0.97 and 4 give 0.

    This reveals wrong units, whatever smaller deviations there are besides.
    """
    if not ratio > 0.0:
        return 0
    nearest = round(math.log10(ratio))
    return nearest if 0.75 < ratio / 10.0**nearest < 4 / 3 else 0


def times(ratio: float) -> str:
    """Say a ratio in words: "1000 times too strong" needs "1000 times"."""
    power = power_of_ten(ratio)
    if power:
        return f"{10 ** abs(power)} times"
    return f"{max(ratio, 1 / ratio):.3g} times"
