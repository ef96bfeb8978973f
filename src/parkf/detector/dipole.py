"""An analytic magnet: magnetic charges outside the aperture, whose field obeys Maxwell's equations."""

from itertools import product
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from parkf.io.documents.models import Listed, Strict, load_document

Position = Annotated[float, Field(ge=-1e5, le=1e5, description="mm")]
Charge = Annotated[float, Field(ge=-100, le=100, description="T m2; those of LHCb's field are below 2")]

# Points that are computed together: few enough that their distances to all charges stay in a core's cache.
_POINTS = 128


Size = Annotated[tuple[float, float], Field(strict=False)]
Source = Annotated[tuple[Position, Position, Position, Charge], Field(strict=False)]


class Aperture(Strict):
    """Half sizes (at z = 0 in mm, growth per z) of the pyramid in which the field is valid."""

    x: Size
    y: Size


class DipoleSources(Strict):
    """A file of magnetic charges (x, y, z in mm, T m² for MagDown).

    Where `mirrored` is true, each stands for four: it is mirrored in x, and in y with opposite sign.
    """

    about: str
    form: str
    units: dict[str, str]
    mirrored: bool = True
    aperture: Aperture
    charges: Listed[Source] = Field(min_length=1)

    @classmethod
    def load(cls, path: Path) -> "DipoleSources":
        """Read a file of sources; a ParkfError when it is missing, not JSON, or has other content."""
        return load_document(path, cls)

    def field(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Field (n, 3) in T at points (n, 3) in mm, for MagDown.

        Beyond the aperture, the field is that at the nearest point inside (nearest in x and in y).
        """
        inside = np.array(points, dtype=np.float64)
        for axis, (size, growth) in enumerate((self.aperture.x, self.aperture.y)):
            limit = np.maximum(size + growth * inside[:, 2], 0.0)
            inside[:, axis] = np.clip(inside[:, axis], -limit, limit)
        # Of the points of a grid beyond the aperture, many have the same nearest point.
        order = np.lexsort(inside.T)
        is_new = np.diff(inside[order], axis=0, prepend=np.nan).any(axis=1)
        inside = inside[order[is_new]]
        field = np.zeros_like(inside)
        x, y, z, charge = np.array(self.charges).T
        images = list(product((1.0, -1.0), repeat=2)) if self.mirrored else [(1.0, 1.0)]
        for begin in range(0, len(inside), _POINTS):
            block = inside[begin : begin + _POINTS]
            for sign_x, sign_y in images:
                dx = block[:, :1] - sign_x * x
                dy = block[:, 1:2] - sign_y * y
                dz = block[:, 2:] - z
                square = dx * dx + dy * dy + dz * dz
                weight = sign_y * 1e6 * charge / (square * np.sqrt(square))
                for axis, distance in enumerate((dx, dy, dz)):
                    field[begin : begin + _POINTS, axis] += np.einsum("ij,ij->i", weight, distance)
        result = np.empty(points.shape)
        result[order] = field[np.cumsum(is_new) - 1]
        return result
