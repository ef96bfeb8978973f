"""Stage ``table``: the magnet table, and the steps inside the magnet."""

import sys

from parkf.detector.field import load_field
from parkf.detector.geometry import load_geometry
from parkf.io.files import write_sealed
from parkf.io.option_types import FormsName
from parkf.io.terminal import say
from parkf.stages.files import Made, Read
from parkf.training.magnet_table.rays import Magnet
from parkf.training.magnet_table.train import train_table
from parkf.training.slices import train_slices
from parkf.training.slices_accuracy import measure_slices


def table(
    *,
    geometry: Read,
    field: Read,
    output: Made,
    accuracy: Made,
    slices: Made,
    slices_accuracy: Made,
    rays: int,
    seed: int,
    forms: FormsName = "improved",
    threads: int = 1,
) -> None:
    """Train the 240,000 numbers of the table, and the steps inside the magnet; measure both on other rays.

    The `slices` are steps for states between UT and SciFi.
    """
    say(f"table: forms {forms}, {rays} rays, seed {seed}", file=sys.stderr)
    nominal, loaded = load_geometry(geometry), load_field(field)
    magnet = Magnet(loaded, nominal.magnet.z_in, nominal.magnet.z_out, nominal.beam, threads)
    trained, measured = train_table(magnet, forms=forms, rays=rays, seed=seed)
    trained.save(output)
    write_sealed(accuracy, measured)
    inside = train_slices(loaded, nominal, seed=seed, threads=threads)
    inside.save(slices)
    write_sealed(slices_accuracy, measure_slices(inside, loaded, nominal, seed=seed, threads=threads))
