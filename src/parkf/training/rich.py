"""Fits of the extrapolations to the planes of the RICH detectors.

True states at the last VELO hit, in the first UT layer, or in the last SciFi layer are carried to the planes
by Runge-Kutta. Behind the end of the field map the track is straight.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np
from threadpoolctl import threadpool_limits

from parkf.detector.field import FieldMap
from parkf.io.documents.models import StoredModel
from parkf.io.files import scratch_folder
from parkf.io.planes import SCIFI_LAYERS
from parkf.model.codegen.numpy_step import NumpyStep, numpy_step
from parkf.model.steps.rich import PLANES_OF, RICH_STEPS
from parkf.params.rich import RichConstants
from parkf.training import ROWS_OF_A_PLANE
from parkf.training.datasets.carry import carry_rows
from parkf.training.extrapolation import fit_extrapolation
from parkf.training.minimise import Fits
from parkf.training.result import SetResult
from parkf.training.rows import COMPONENTS, Rows, StoredRows, group_of_event, read_batches, select
from parkf.training.train import set_result

# The two sets of T whose target is the last layer, above and below y = 0.
LAST_GAP = range(2 * (SCIFI_LAYERS - 2), 2 * (SCIFI_LAYERS - 1))
# A step uses the dataset, and the sets in it, that begin where the step begins. VUT has only one set; the set
# of UT begins at the first layer.
SETS = {"VUT": range(1), "UT": range(1), "T": LAST_GAP}
DATASET = {"RICH1": "VUT", "RICH_VELO": "VUT", "RICH_UT": "UT", "RICH2": "T", "RICH_SCIFI": "T"}


class RichFit(StoredModel):
    """Fits of the steps to the RICH planes: the sets of each step by its name, in the order of planes."""

    version: Literal[4] = 4
    sets: dict[str, list[SetResult]]

    def constants(self) -> RichConstants:
        """Return the numbers as a part of a parameter set."""
        numbers = {name: np.array([one.values for one in sets]) for name, sets in self.sets.items()}
        errors = {
            (name, one.label, j): error
            for name, sets in self.sets.items()
            for one in sets
            for j, error in enumerate(one.errors)
        }
        return RichConstants.of(numbers, errors)


def train_rich(velo: Path, ut: Path, scifi: Path, field: FieldMap, *, threads: int | None = None) -> RichFit:
    """Fit all steps to Runge-Kutta, plane by plane, both polarities together.

    The files are the datasets of the steps VUT, whose rows begin at the last VELO hit, UT and T. The true
    states went through `field`. The result does not depend on `threads`, by default all cores.
    """
    files = {"VUT": velo, "UT": ut, "T": scifi}
    with threadpool_limits(1), scratch_folder() as folder:
        fitted = {}
        for name, step in RICH_STEPS.items():
            dataset = DATASET[name]
            fitted[name] = [
                fit_plane(numpy_step(step), label, rows, Path(folder) / f"{name}{z}")
                for label, z in zip(step.sets, PLANES_OF[name], strict=True)
                for rows in [rows_at(files[dataset], dataset, z, field, threads=threads)]
            ]
    return RichFit(sets=fitted)


def rows_at(
    file: Path, dataset: str, z: float, field: FieldMap, *, threads: int | None = None
) -> Iterator[Rows]:
    """Yield rows of a step's dataset with their Runge-Kutta target at z (mm), as xe, ye, txe, tye.

    `dataset` is the step's name: VUT, UT or T. Tracks that leave the map on the way are left out. There is no
    true state at these planes, so x1, y1, tx1, ty1 are the same as the target.
    """
    sets = SETS[dataset]
    for batch in read_batches(file, sets, most=ROWS_OF_A_PLANE):
        # A row group may hold rows of other sets, too.
        yield to_plane(select(batch, np.isin(batch["set"], sets)), dataset, z, field, threads=threads)


def to_plane(rows: Rows, dataset: str, z: float, field: FieldMap, *, threads: int | None = None) -> Rows:
    """Return rows of a step's dataset, of its sets :data:`SETS`, with their target at z; see `rows_at`."""
    if dataset == "T":
        rows = rows | {"z0": rows["z1"], **{f"{c}0": rows[f"{c}1"] for c in COMPONENTS}}
    end = np.full(len(rows["qop"]), min(z, field.upper[2]))
    states, arrived = carry_rows({**rows, "charge": np.sign(rows["qop"]), "z1": end}, field, threads)
    states[:, :2] += (z - end)[:, None] * states[:, 2:]
    targets = {f"{c}{which}": states[:, i] for i, c in enumerate(COMPONENTS) for which in "1e"}
    rows = rows | {**targets, "z1": np.full(len(end), float(z)), "group": group_of_event(rows)}
    return select(rows, arrived)


def fit_plane(functions: NumpyStep, label: str, batches: Iterator[Rows], scratch: Path) -> SetResult:
    """Fit a step to one plane to rows of :func:`rows_at`; `scratch` is a file for them."""
    stored = StoredRows(scratch)
    for rows in batches:
        stored.append(rows)
    start = np.array([parameter.start for parameter in functions.step.parameters])
    fits = Fits(stored, len(start), f"step {functions.step.name}, {label}")
    values, minima, note = fit_extrapolation(functions, fits, start)
    result = set_result(functions, label, stored, values, minima, scatters=False)
    return result.model_copy(update={"note": note})
