"""Stage ``accuracy``: how far the steps and the table of a set are from Runge-Kutta."""

from parkf.io.files import write_sealed
from parkf.stages.files import AllRead, Made, Read, folder_of, set_folder
from parkf.training.accuracy import measure_accuracy
from parkf.training.assembly import check_made_of


def accuracy(
    *,
    set: AllRead,
    fits: AllRead,
    table: Read,
    table_accuracy: Read,
    closed: Read | None = None,
    closed_accuracy: Read | None = None,
    datasets: AllRead,
    output: Made,
    threads: int = 1,
) -> None:
    """Compare every step and the table of a set with Runge-Kutta, in momentum bins.

    The steps are measured with the table that they were fitted with. The table's own figures are those of the
    set's table, which may be the closed one.
    """
    blobs = check_made_of(set_folder(set), folder_of(fits), closed or table)
    measured = measure_accuracy(
        folder_of(fits),
        folder_of(datasets),
        table,
        closed_accuracy or table_accuracy,
        threads=threads,
    )
    write_sealed(output, {**measured, "set": blobs.fingerprints()})
