"""Stage ``accuracy``: how far the steps and the table of a set are from Runge-Kutta."""

from parkf.io.files import write_sealed
from parkf.params import load
from parkf.stages.files import AllRead, Made, Read, folder_of, set_folder
from parkf.training.accuracy import measure_accuracy


def accuracy(
    *,
    set: AllRead,
    fits: AllRead,
    table: Read,
    table_accuracy: Read,
    closed_accuracy: Read | None = None,
    datasets: AllRead,
    output: Made,
    threads: int = 1,
) -> None:
    """Compare every step and the table of a set with Runge-Kutta, in momentum bins.

    The steps are measured with the table that they were fitted with. The table's own figures are those of the
    set's table, which may be the closed one.
    """
    measured = measure_accuracy(
        folder_of(fits),
        folder_of(datasets),
        table,
        closed_accuracy or table_accuracy,
        threads=threads,
    )
    write_sealed(output, {**measured, "set": load(set_folder(set)).manifest.blobs.fingerprints()})
