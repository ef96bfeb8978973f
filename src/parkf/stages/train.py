"""Stage ``train``: the fits of steps."""

from parkf.detector.field import load_field
from parkf.detector.geometry import load_geometry
from parkf.io.errors import ParkfError
from parkf.io.option_types import FormsName
from parkf.model.steps import FORMS
from parkf.stages.files import AllMade, AllRead, Read
from parkf.training.displaced import displaced_rows
from parkf.training.train import train_step


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
    threads: int = 1,
) -> None:
    """Fit the parameters of each step, then its scattering.

    Parameters
    ----------
    datasets
        A file for each of the `steps`, in their order.
    outputs
        One file for each of the `steps`, in their order.
    table
        Magnet table, for UTTF.
    field, geometry
        For T of forms 'improved', which is also fitted to tracks that are born in the magnet. They are drawn
        with the seed and carried through the field.
    """
    if (field is None) != (geometry is None):
        raise ParkfError("train: got --field or --geometry alone, expected both or neither")
    if len(datasets) != len(steps):
        raise ParkfError(f"train: got {len(datasets)} datasets of {len(steps)} steps, expected one of each")
    born = None
    if field is not None and geometry is not None:
        place = load_field(field), load_geometry(geometry)
        born = displaced_rows(*place, seed=seed, threads=threads)
    of_born = [name for name, step in FORMS[forms].steps.items() if step.displaced]
    for step, dataset, output in zip(steps, datasets, outputs, strict=True):
        train_step(
            dataset,
            step,
            forms=forms,
            table=table if step == "UTTF" else None,
            displaced=born if step in of_born else None,
            workers=threads,
        ).save(output)
