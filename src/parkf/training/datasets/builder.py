"""Step datasets of a chunk of a sample."""

from contextlib import ExitStack
from pathlib import Path

from parkf.detector.description import Beam
from parkf.detector.field import FieldMap
from parkf.io.tables import STEP_DATA
from parkf.io.terminal import progress_bar
from parkf.training.datasets.gather import RowsBySet
from parkf.training.datasets.legs import Legs
from parkf.training.datasets.lottery import lottery
from parkf.training.datasets.pieces import EVENTS_PER_PIECE, read_pieces
from parkf.training.datasets.rows import rows_of_legs
from parkf.training.datasets.sets import SETS
from parkf.training.datasets.thresholds import load_thresholds


def build_rows(
    particles: Path,
    states: Path,
    thresholds: Path,
    folder: Path,
    *,
    beam: Beam,
    field: FieldMap,
    threads: int | None = None,
) -> None:
    """Write the rows of a chunk that are kept, ``<folder>/<step>.parquet``.

    Parameters
    ----------
    particles, states : Path
        Tables PARTICLES and STATES of the chunk, sorted by event and particle, of one polarity.
    thresholds : Path
        Of :func:`parkf.training.datasets.thresholds.find_thresholds`.
    folder : Path
        For the tables `parkf.io.tables.STEP_DATA`. A row group holds rows of one set, or of two that are
        `TOGETHER`, in the order of their tracks.
    threads : int, optional
        All cores by default; the result does not depend on it.

    Raises
    ------
    ParkfError
        When files cannot be read or do not belong together.
    """
    limits = load_thresholds(thresholds)
    with ExitStack() as stack:
        writers = {
            step: RowsBySet(stack.enter_context(STEP_DATA.writer(folder / f"{step}.parquet")), step)
            for step in SETS
        }
        bar = stack.enter_context(progress_bar("step datasets", "events"))
        for piece in read_pieces(particles, states, beam):
            numbers = lottery(piece)
            for step, legs in piece.legs.items():
                kept = numbers[legs.origin] <= limits[step][legs.set]
                thinned = Legs(legs.origin[kept], legs.target[kept], legs.set[kept])
                writers[step].add(rows_of_legs(piece, thinned, step, beam=beam, field=field, threads=threads))
            bar.update(EVENTS_PER_PIECE)
        for writer in writers.values():
            writer.finish()
