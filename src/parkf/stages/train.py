"""Stage ``train``: the fits of steps."""

import sys
from typing import Any

from parkf.detector.field import load_field
from parkf.detector.geometry import load_geometry
from parkf.io.errors import ParkfError
from parkf.io.option_types import FormsName
from parkf.io.terminal import say
from parkf.model.steps import FORMS
from parkf.stages.files import AllMade, AllRead, Read
from parkf.training.datasets.left_out import LeftOut
from parkf.training.displaced import displaced_rows
from parkf.training.neighbour import neighbour
from parkf.training.result import Part
from parkf.training.train import train_part, train_step


def train(
    *,
    datasets: AllRead,
    outputs: AllMade,
    steps: list[str],
    forms: FormsName = "improved",
    seed: int = 0,
    table: Read | None = None,
    field: Read | None = None,
    geometry: Read | None = None,
    start_from: AllRead | None = None,
    part: str | None = None,
    threads: int = 1,
) -> None:
    """Fit the parameters of each step, then its scattering.

    Parameters
    ----------
    datasets
        A file ``<step>.parquet`` for each step; for a `part` of the sets, such as 2-of-5, also the rows of
        several chunks.
    outputs, start_from
        One file for each of the `steps`, in their order; a fit may start from the fit of the step, or the
        set, of a similar detector.
    table
        Magnet table, for UTTF.
    field, geometry
        For T of forms 'improved', which is also fitted to tracks that are born in the magnet. They are drawn
        with the seed and carried through the field.
    """
    if (field is None) != (geometry is None):
        raise ParkfError("train: got --field or --geometry alone, expected both or neither")
    born = place = None
    if field is not None and geometry is not None:
        place = load_field(field), load_geometry(geometry)
        born = displaced_rows(*place, seed=seed, threads=threads)
    of_forms = FORMS[forms].steps
    of_tables, of_born = ["UTTF"], [step for step in steps if step in of_forms and of_forms[step].displaced]
    for number, (step, output) in enumerate(zip(steps, outputs, strict=True)):
        rows = [path for path in datasets if path.stem == step] if len(steps) > 1 else datasets
        if part is None and len(rows) != 1:
            raise ParkfError(
                f"train: got {len(rows)} files of step {step}, expected one for a whole step; join the chunks"
                " with the stage datasets"
            )
        how: dict[str, Any] = {
            "forms": forms,
            # What no step takes is given to the first one, which refuses it.
            "table": table if step in of_tables or not {*of_tables} & {*steps} else None,
            "displaced": born if step in of_born or not of_born else None,
            "neighbour": neighbour(start_from[number], step, forms) if start_from else None,
            "workers": threads,
        }
        how["left"] = left = LeftOut(str(rows[0]), step)
        how["field"] = None if place is None else place[0]
        if part is None:
            train_step(rows[0], step, **how).save(output)
        else:
            train_part(rows, step, Part.parse(part), **how).save(output)
        if left.count:
            say(left.summary(), file=sys.stderr)
            left.write(output.with_suffix(".left_out.csv"))
