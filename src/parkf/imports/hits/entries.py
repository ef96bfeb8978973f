"""Particles or tracks with their hits, as every format of hits hands them over."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkf.detector.geometry import PLANES
from parkf.io.errors import ParkfError

PROPERTIES = ("event", "key", "pid", "p", "px", "py", "pz", "x", "y", "z", "matched")
HIT_COLUMNS = ("entry", "plane", "x", "y", "z", "dxdy", "dzdy", "sigma")


@dataclass(frozen=True)
class Entries:
    """Particles or tracks with their hits.

    Attributes
    ----------
    of : dict of str to (n,) array
        `PROPERTIES` of each: event, key, PDG number (0: not known), momentum in MeV, components, origin in
        mm (of tracks the state that is given), and whether a true particle made it: 1, 0, or -1 where that is
        not said. Hits without a particle belong to entries of p < 0.
    hits : dict of str to (m,) array
        `HIT_COLUMNS`: the row of the entry, plane, point in mm (UT and SciFi: x and z of the strip at y = 0,
        y in its middle), dx/dy, dz/dy, σ in mm.
    y_range : (m, 2) float64
        Ends of the strip; NaN in the VELO.
    measured : bool
        Whether hits and errors are the file's; else hits are where particles went, and errors the geometry's.
    """

    of: dict[str, NDArray[Any]]
    hits: dict[str, NDArray[Any]]
    y_range: NDArray[np.float64]
    measured: bool = True

    def checked(self, name: str) -> "Entries":
        """Give the entries back if they are numbers on known planes.

        Raises
        ------
        ParkfError
            When a number is not finite, a plane unknown, an error not positive, or nothing is there.
        """
        if not len(self.of["event"]):
            raise ParkfError(f"{name}: no particle or track in it")
        if not len(self.hits["x"]):
            raise ParkfError(f"{name}: no hit in it")
        for columns, of in ((self.of, "particle"), (self.hits, "hit")):
            for column, values in columns.items():
                bad = ~np.isfinite(values.astype(np.float64))
                if bad.any():
                    raise ParkfError(
                        f"{name}: '{column}' of {of} {int(np.argmax(bad))} is not a finite number"
                    )
        unknown = (self.hits["plane"] < 0) | (self.hits["plane"] >= PLANES)
        if unknown.any():
            raise ParkfError(f"{name}: hit {int(np.argmax(unknown))} lies on no plane of the detector")
        if (self.hits["sigma"] <= 0).any():
            raise ParkfError(f"{name}: hit {int(np.argmin(self.hits['sigma']))} has no positive error")
        return self
