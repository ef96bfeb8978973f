"""The numbers with which a set fits electrons: in its manifest, because they are few.

The kernel lists them with their meanings and has the formulas (``src/kernel/fit/electron.hpp``).
"""

from typing import Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

import parkf._electron as _electron
from parkf.io.documents.models import StoredModel
from parkf.params.manifest import BlockDescription, Electron, NumberDescription, SetDescription, numbers_in

F64 = NDArray[np.float64]

# Version of the formulas, and of the order of the numbers.
VERSION = 1
BLOCK = "ELECTRON"
COUNT = len(_electron.names)


class ElectronFit(StoredModel):
    """Trained numbers, as their training writes them."""

    values: list[float] = Field(min_length=COUNT, max_length=COUNT)
    errors: list[float | None] = Field(min_length=COUNT, max_length=COUNT)
    tracks: int = Field(description="Electrons in the training.")

    @classmethod
    def of(cls, values: F64, errors: F64, tracks: int) -> Self:
        """Make it from values and errors (:data:`COUNT`,); an error that is NaN was not determined."""
        told = [float(one) if np.isfinite(one) else None for one in errors]
        return cls(values=values.tolist(), errors=told, tracks=tracks)

    def described(self) -> Electron:
        """Return the entry of the manifest."""
        sets: dict[str, list[NumberDescription]] = {}
        rows = zip(_electron.names, self.values, self.errors, strict=True)
        for (label, name, text), value, error in rows:
            # The laws of the loss do not depend on charge or polarity.
            number = NumberDescription(
                name=name, text=text, unit="1", scale=1.0, value=value, error=error, parity=1
            )
            sets.setdefault(label, []).append(number)
        described = [SetDescription(label=label, numbers=numbers) for label, numbers in sets.items()]
        return Electron(
            version=VERSION, tracks=self.tracks, layout=[BlockDescription(name=BLOCK, sets=described)]
        )


def numbers_of(described: Electron | None) -> F64 | None:
    """Return a set's numbers, (:data:`COUNT`,); None where it has none, or has those of another version."""
    if described is None or described.version != VERSION:
        return None
    found = list(numbers_in(described.layout))
    if [(label, n.name) for _, label, _, n in found] != [(label, name) for label, name, _ in _electron.names]:
        return None
    return np.array([n.value for *_, n in found])
