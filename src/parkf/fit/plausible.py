"""Units of track candidates, by what LHCb's tracks and detectors have."""

from pathlib import Path
from typing import TYPE_CHECKING

from parkf.io.units import Unit, require_units

if TYPE_CHECKING:
    import pyarrow as pa

_UNITS = {
    "qop": Unit("1/MeV", 1e-6, 1.5e-4, 3e-3),
    "velo_z": Unit("mm", 5.0, 300.0, 1000.0),
    "ut_z": Unit("mm", 1500.0, 2500.0, 4000.0),
    "scifi_z": Unit("mm", 5000.0, 8500.0, 12000.0),
    "ut_sigma": Unit("mm", 5e-3, 0.03, 1.0),
    "scifi_sigma": Unit("mm", 0.02, 0.11, 3.0),
}


def check_units(rows: "pa.RecordBatch", path: Path) -> None:
    """Check rows of the table ``candidates``; a ParkfError names a column that is in another unit."""
    from parkf.io.arrow import numbers

    columns = {}
    for name in _UNITS:
        column = rows.column(name)
        columns[name] = numbers(column).ravel()
    require_units(path, columns, _UNITS)
