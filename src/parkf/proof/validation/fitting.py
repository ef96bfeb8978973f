"""Candidates of samples that are chosen, fitted and joined with their truth, in scratch files."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from parkf.fit.sample import Sample, load_sample
from parkf.fit.truth import Files
from parkf.io.errors import ParkfError
from parkf.io.files import scratch_folder
from parkf.io.tables import CANDIDATES

if TYPE_CHECKING:
    from parkf.detector.field import FieldMap


def validation_files(run: Path) -> list[Files]:
    """Find the validation candidates of a run, with their particles; a ParkfError if any were deleted."""
    candidates = sorted((run / "candidates").glob("validation_*.parquet"))
    files = [Files(run / "particles" / path.name, path) for path in candidates]
    if not files or not all(one.particles.is_file() for one in files):
        raise ParkfError(
            f"{run}: no candidates and particles of its validation; name a run that has ended and kept them"
        )
    return files


def fitted_samples(
    samples: Sequence[Files], fit: Callable[[Path, Path], Any], field: "FieldMap | None" = None
) -> Sample:
    """Fit the candidates of samples, one file each, and return them beside the truth.

    `fit` is a function of the paths of candidates and of fitted tracks. With `field`, true states are carried
    through it.
    """
    with scratch_folder() as folder:
        files = []
        for number, sample in enumerate(samples):
            fitted = Path(folder) / f"fitted{number}.parquet"
            fit(sample.candidates, fitted)
            files.append(replace(sample, fitted=fitted))
        return load_sample(files, field)


def write_changed(candidates: Path, path: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    """Write a file of candidates again, changed some rows at a time."""
    with CANDIDATES.open(candidates) as file:
        made_with = {k.decode(): v.decode() for k, v in (file.schema_arrow.metadata or {}).items()}
        made_with.pop("parkf.table")
        with CANDIDATES.writer(path, made_with) as writer:
            for group in range(file.num_row_groups):
                writer.write_table(change(file.read_row_group(group)))
