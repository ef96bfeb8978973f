"""Histograms of a monitored sample: pulls of hits by layer and module, and χ²."""

from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from parkf.data.equations import Floats
from parkf.data.quantities import (
    DETECTORS,
    MOMENTA,
    STRIP_LAYERS,
    Stations,
    classes,
    usable,
)
from parkf.fit.candidates import Candidates
from parkf.fit.fitted import Fitted
from parkf.fit.residuals import Residuals
from parkf.io.tables import VELO_SLOTS

PULL_EDGES = np.linspace(-5.0, 5.0, 41)
CHI2_EDGES = np.linspace(0.0, 5.0, 41)


@dataclass
class Histograms:
    """Counts of a sample: of the pulls of hits from the other hits of their track, and of χ²/ndof."""

    pulls: dict[str, NDArray[np.int64]]  # by layer, and by axis of VELO modules: (momentum class, bin)
    chi2: dict[str, NDArray[np.int64]]  # by detector: (momentum class, bin)
    count: int = 0  # usable candidates
    all: int = 0  # candidates

    @classmethod
    def empty(cls, stations: Stations) -> Self:
        """Histograms of no candidate."""
        names = [*STRIP_LAYERS, *(f"{axis} of {name}" for axis in "xy" for name in stations.names)]
        pulls, chi2 = (
            {name: np.zeros((len(classes()), len(edges) - 1), np.int64) for name in of}
            for of, edges in ((names, PULL_EDGES), (DETECTORS, CHI2_EDGES))
        )
        return cls(pulls, chi2)

    def add(self, tracks: Candidates, fitted: Fitted, residuals: Residuals, stations: Stations) -> None:
        """Add candidates."""
        use = usable(fitted)
        self.count, self.all = self.count + int(use.sum()), self.all + tracks.count
        momentum = np.digitize(1e-3 / np.abs(fitted.qop[use]), MOMENTA)
        pull = residuals.pull[:, use]
        for name, values in zip(STRIP_LAYERS, pull[2 * VELO_SLOTS :], strict=True):
            _count(self.pulls[name], momentum, values, PULL_EDGES)
        modules = residuals.modules(tracks, stations.number)[:, use]
        for axis, begin in (("x", 0), ("y", VELO_SLOTS)):
            values = pull[begin : begin + VELO_SLOTS]
            for number, name in enumerate(stations.names):
                slots, of = np.nonzero((modules == number) & np.isfinite(values))
                _count(self.pulls[f"{axis} of {name}"], momentum[of], values[slots, of], PULL_EDGES)
        for name in DETECTORS:
            chi2, ndof = (getattr(fitted, f"{what}_{name.lower()}")[use] for what in ("chi2", "ndof"))
            _count(self.chi2[name], momentum, chi2 / np.where(ndof > 0, ndof, np.nan), CHI2_EDGES)

    def as_json(self) -> dict[str, Any]:
        """Return what :meth:`of_json` reads, with edges and names."""
        lists = {
            name: {key: counts.tolist() for key, counts in getattr(self, name).items()}
            for name in ("pulls", "chi2")
        }
        edges = {"pull_edges": PULL_EDGES.tolist(), "chi2_edges": CHI2_EDGES.tolist()}
        return edges | {"momenta": classes(), "count": self.count, "all": self.all} | lists

    @classmethod
    def of_json(cls, content: dict[str, Any]) -> Self:
        """Read what :meth:`as_json` returns."""
        own = {one.name: content[one.name] for one in fields(cls)}
        for name in ("pulls", "chi2"):
            own[name] = {key: np.array(counts) for key, counts in own[name].items()}
        return cls(**own)


def _count(into: NDArray[np.int64], momentum: NDArray[np.int64], values: Floats, edges: Floats) -> None:
    """Add values (n,) to the rows of their momentum classes; those outside the edges go to the end bins."""
    known = np.isfinite(values)
    bins = np.clip(np.digitize(values[known], edges) - 1, 0, len(edges) - 2)
    np.add.at(into, (momentum[known], bins), 1)
