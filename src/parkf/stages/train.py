"""Stage ``train``: the fit of one step."""

from typing import Any

from parkf.detector.field import load_field
from parkf.detector.geometry import load_geometry
from parkf.io.errors import ParkfError
from parkf.io.option_types import FormsName
from parkf.stages.files import AllRead, Made, Read
from parkf.training.displaced import displaced_rows
from parkf.training.neighbour import neighbour
from parkf.training.result import Part
from parkf.training.train import train_part, train_step


def train(
    *,
    dataset: AllRead,
    output: Made,
    step: str,
    forms: FormsName = "improved",
    seed: int = 0,
    table: Read | None = None,
    field: Read | None = None,
    geometry: Read | None = None,
    start_from: Read | None = None,
    part: str | None = None,
    threads: int = 1,
) -> None:
    """Fit the parameters of a step, then its scattering.

    Parameters
    ----------
    dataset
        One file; for a `part` of the sets, such as 2-of-5, also the rows of several chunks.
    table
        Magnet table, for UTTF.
    field, geometry
        For T of forms 'improved', which is also fitted to tracks that are born in the magnet. They are drawn
        with the seed and carried through the field.
    start_from
        Fit of the step, or set, of a similar detector.
    """
    how: dict[str, Any] = {"forms": forms, "table": table, "workers": threads}
    how["neighbour"] = None if start_from is None else neighbour(start_from, step, forms)
    if (field is None) != (geometry is None):
        raise ParkfError("train: got --field or --geometry alone, expected both or neither")
    if field is not None and geometry is not None:
        place = load_field(field), load_geometry(geometry)
        how["displaced"] = displaced_rows(*place, seed=seed, threads=threads)
    if part is not None:
        train_part(dataset, step, Part.parse(part), **how).save(output)
    elif len(dataset) == 1:
        train_step(dataset[0], step, **how).save(output)
    else:
        raise ParkfError(
            f"train: got {len(dataset)} files of step {step}, expected one for a whole step; join the chunks"
            " with the stage datasets"
        )
