"""Parts of a trained set: each parameter set of a step or of a RICH plane, with its rows and its fit."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from parkf.detector.field import FieldMap
from parkf.io.events import select
from parkf.io.files import scratch_folder
from parkf.model.codegen.numpy_step import numpy_step
from parkf.model.steps import FORMS, Step
from parkf.model.steps.rich import PLANES_OF, RICH_STEPS
from parkf.training import ROWS_OF_A_PLANE
from parkf.training.result import FitResult, SetResult
from parkf.training.rich import DATASET, SETS, RichFit, fit_plane, to_plane
from parkf.training.rows import Rows, read_batches, store_sets
from parkf.training.train import train_sets

SAMPLE = 1000
"""Rows of a part that tell its planes, and how far it moves."""


@dataclass(frozen=True)
class Part:
    """A parameter set, and the `sets` of the dataset at `path` that it is fitted to."""

    step: Step
    number: int
    fitted: SetResult
    path: Path
    sets: range
    shaped: Callable[[Rows], Rows]  # rows as the fit takes them
    is_rich: bool

    @property
    def name(self) -> str:
        """Name of the step and label of the set."""
        return f"{self.step.name} {self.step.sets[self.number]}"

    def rows(self) -> Iterator[Rows]:
        """Yield the rows of the dataset, not yet shaped."""
        most = ROWS_OF_A_PLANE if self.is_rich else None
        for batch in read_batches(self.path, self.sets, most=most):
            yield select(batch, np.isin(batch["set"], self.sets))

    def sample(self) -> Rows:
        """Return some rows, numbered in a column ``row``; empty without rows."""
        rows = next((rows for rows in self.rows() if len(rows["qop"])), None)
        if rows is None:
            return {}
        chosen = np.unique(np.linspace(0, len(rows["qop"]) - 1, SAMPLE).astype(np.int64))
        return {**select(rows, chosen), "row": np.arange(len(chosen))}

    def trained(self, carried: Callable[[Rows], Rows], displaced: list[Rows] | None) -> SetResult:
        """Fit the part to its rows, carried to other planes; `displaced` as for ``train_step``."""
        own = range(self.number, self.number + 1)
        with threadpool_limits(1), scratch_folder() as folder:
            rows = map(carried, self.rows())
            if self.is_rich:
                label, scratch = self.step.sets[self.number], Path(folder, "rows")
                return fit_plane(numpy_step(self.step), label, map(self.shaped, rows), scratch)
            stored = store_sets(rows, own, self.step.joined, Path(folder))
            born = displaced if self.step.displaced else None
            return train_sets(stored, self.step, own, displaced=born, where=str(self.path))[0]


def parts_of(
    results: Mapping[str, FitResult], rich: RichFit | None, datasets: Path, field: FieldMap
) -> list[Part]:
    """Return the parts of a set but the step through the magnet, whose rows begin and end in fixed planes.

    Folder `datasets` has ``<step>.parquet``. Without `rich`, parts to RICH planes are left out.
    """
    found = []
    for name, result in results.items():
        step = FORMS[result.forms].steps[name]
        for number, fitted in enumerate(result.sets):
            sets = range(step.joined * number, step.joined * (number + 1))
            if not step.through_magnet:
                path = datasets / f"{name}.parquet"
                found.append(Part(step, number, fitted, path, sets, lambda rows: rows, False))
    for name, fits in rich.sets.items() if rich else ():
        dataset = DATASET[name]
        for number, (fitted, z) in enumerate(zip(fits, PLANES_OF[name], strict=True)):
            shaped = partial(to_plane, dataset=dataset, z=z, field=field, threads=1)
            path, sets = datasets / f"{dataset}.parquet", SETS[dataset]
            found.append(Part(RICH_STEPS[name], number, fitted, path, sets, shaped, True))
    return found
