"""Stage ``adopt_dataset``: a user's own dataset of a step."""

from parkf.detector.field import load_field
from parkf.io.tables import STEP_DATA
from parkf.io.terminal import say
from parkf.stages.files import Made, Read
from parkf.training.datasets.checks import check_dataset
from parkf.training.datasets.gather import leave_out


def adopt_dataset(*, dataset: Read, field: Read, output: Made, step: str, threads: int = 1) -> None:
    """Check a dataset as `parkf check-dataset` does, and copy the rows that pass."""
    left, without = check_dataset(dataset, step, field=load_field(field), threads=threads)
    with STEP_DATA.open(dataset) as file, STEP_DATA.writer(output) as writer:
        begin = 0
        for number in range(file.num_row_groups):
            rows = file.read_row_group(number, columns=STEP_DATA.schema.names)
            writer.write_table(leave_out(rows, without, begin))
            begin += rows.num_rows
    left.write(output.with_suffix(".left_out.csv"))
    say(left.summary())
