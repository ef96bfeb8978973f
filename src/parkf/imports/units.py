"""Units and polarities of foreign files, converted to this project's: mm, MeV, 1/MeV, T, slopes, +1 or -1."""

from collections.abc import Mapping

from parkf.io.errors import ParkfError

LENGTHS = {"mm": 1.0, "cm": 10.0, "m": 1000.0, "um": 1e-3}
MOMENTA = {"MeV": 1.0, "GeV": 1000.0}
Q_OVER_P = {"1/MeV": 1.0, "1/GeV": 1e-3}
SLOPES = {"1": 1.0, "mrad": 1e-3}
# Gaudi's unit of magnetic flux density: one tesla is the number 0.001.
FIELDS = {"T": 1.0, "kG": 0.1, "G": 1e-4, "Gaudi": 1000.0}
_SIGNS = {"up": 1, "down": -1}


def factor(unit: str | None, units: Mapping[str, float], what: str) -> float:
    """Return the factor that converts a number to this project's unit, one of the values of `units`.

    Messages name the quantity `what`: "field.csv: column 'By'". A ParkfError is raised when the unit is None,
    which means not declared, or unknown: it is never guessed.
    """
    if unit is None:
        raise ParkfError(f"{what}: its unit is said nowhere; say one of {', '.join(units)}")
    if unit not in units:
        raise ParkfError(f"{what}: unit '{unit}', expected one of {', '.join(units)}")
    return units[unit]


def sign_of(polarity: str) -> int:
    """+1 of "up" (MagUp), -1 of "down" (MagDown); a ParkfError for anything else."""
    if polarity not in _SIGNS:
        raise ParkfError(f"polarity '{polarity}', expected up (MagUp) or down (MagDown)")
    return _SIGNS[polarity]
