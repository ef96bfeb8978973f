"""The numbers of the steps inside the magnet, which a parameter set may have in a file of its own."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

import parkf._slices as _slices
from parkf.io.files import replacing
from parkf.io.npz import load_arrays
from parkf.params.binary_form import SLICES_FILE
from parkf.params.blobs import aligned, blob_of, read_blob
from parkf.params.manifest import Scatterer, Slices
from parkf.params.set_folder import SetFolder

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]

# Version of the formulas in `parkf.model.steps.slices`, and of the order of the numbers.
VERSION = 1
# Floats of a node: one for each map, then zeros.
ROW = _slices.row


@dataclass(frozen=True, eq=False)
class MagnetSlices:
    """Numbers of the slices that the magnet is cut into."""

    numbers: NDArray[np.float32]  # (slices, nodes in x, nodes in y, ROW): maps at the nodes, MeV/mm
    described: Slices  # entry of the manifest

    @classmethod
    def of(
        cls,
        numbers: NDArray[np.floating],
        centre: NDArray[np.floating],
        scatterers: tuple[Scatterer, ...],
        losses: tuple[float, float],
    ) -> Self:
        """Make the numbers from maps (slices, maps, nodes in x, nodes in y).

        `centre` (slices,) is the bend in the centre of each slice, MeV/mm. `losses` of momentum, MeV, are
        those before the UT and before the SciFi.
        """
        # Imported here, because the formulas take time to import and only the training needs them.
        from parkf.model.steps import slices

        rows = np.zeros((*numbers.shape[:1], *numbers.shape[2:], ROW), dtype="<f4")
        rows[..., : numbers.shape[1]] = np.moveaxis(numbers, 1, -1)
        described = Slices(
            version=VERSION,
            blob=blob_of(rows.ravel()),
            z_first=slices.Z_FIRST,
            z_last=slices.Z_LAST,
            edge_x=slices.EDGES[0],
            edge_y=slices.EDGES[1],
            nodes_x=slices.NODES[0],
            nodes_y=slices.NODES[1],
            maps=[one.name for one in slices.MAPS],
            centre=centre.tolist(),
            scatterers=list(scatterers),
            loss_before_ut=losses[0],
            loss_before_scifi=losses[1],
        )
        return cls(rows, described)

    @property
    def maps(self) -> F32:
        """The numbers of the maps, (slices, nodes in x, nodes in y, maps)."""
        return self.numbers[..., : len(self.described.maps)]

    def loss_before(self, *, ut: bool) -> float:
        """Median loss of momentum, MeV, before the first layer of the UT, or else of the SciFi."""
        return self.described.loss_before_ut if ut else self.described.loss_before_scifi

    @cached_property
    def for_kernel(self) -> tuple[F32, list[float], F64, F64]:
        """Numbers, place, centre and scatterers, as functions of the kernel take them.

        The numbers begin with a line of the caches: then no node of the grid lies in two lines.
        """
        described = self.described
        layers = np.array([[one.z, one.angle, one.opening] for one in described.scatterers]).reshape(-1, 3)
        length = (described.z_last - described.z_first) / len(described.centre)
        place = [described.z_first, length, described.edge_x, described.edge_y]
        return aligned(self.numbers), place, np.array(described.centre), layers

    def save(self, path: Path) -> None:
        """Write as arrays in one .npz; equal numbers have equal bytes."""
        with replacing(path) as temporary, temporary.open("wb") as stream:
            described = np.array(self.described.model_dump_json())
            np.savez(stream, allow_pickle=False, numbers=self.numbers, described=described)


def load_slices(path: Path) -> MagnetSlices:
    """Read what :meth:`MagnetSlices.save` wrote; a ParkfError reports a file that is damaged."""
    arrays = load_arrays(path, ("numbers", "described"))
    return MagnetSlices(arrays["numbers"], Slices.model_validate_json(str(arrays["described"])))


def read_slices(files: SetFolder, described: Slices | None) -> MagnetSlices | None:
    """Read a set's slices; None where it has none, or has those of a newer version of the formulas.

    A file that is not as described, or has a number that is not finite, raises a ParkfError.
    """
    if described is None or described.version != VERSION:
        return None
    shape = len(described.centre), described.nodes_x, described.nodes_y, ROW
    numbers = read_blob(files, SLICES_FILE, described.blob, int(np.prod(shape)))
    return MagnetSlices(numbers.reshape(shape), described)
