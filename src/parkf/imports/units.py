"""Units that foreign files use, and what a number in them is in this project's: mm, MeV, 1/MeV, T, slopes."""

from collections.abc import Mapping

from parkf.io.errors import ParkfError

LENGTHS = {"mm": 1.0, "cm": 10.0, "m": 1000.0, "um": 1e-3}
MOMENTA = {"MeV": 1.0, "GeV": 1000.0}
Q_OVER_P = {"1/MeV": 1.0, "1/GeV": 1e-3}
SLOPES = {"1": 1.0, "mrad": 1e-3}
# Gaudi's unit of magnetic flux density: one tesla is the number 0.001.
FIELDS = {"T": 1.0, "kG": 0.1, "G": 1e-4, "Gaudi": 1000.0}


def factor(unit: str | None, units: Mapping[str, float], what: str) -> float:
    """Give what to multiply a number by to have it in this project's unit.

    Parameters
    ----------
    unit : str or None
        None where nobody has said it.
    units : mapping of str to float
        The units that such a number may have.
    what : str
        Of what, for the message: "field.csv: column 'By'".

    Raises
    ------
    ParkfError
        When the unit is not said, or is unknown: it is never guessed.
    """
    if unit is None:
        raise ParkfError(f"{what}: its unit is said nowhere; say one of {', '.join(units)}")
    if unit not in units:
        raise ParkfError(f"{what}: unit '{unit}', expected one of {', '.join(units)}")
    return units[unit]
