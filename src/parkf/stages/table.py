"""Stage ``table``: the magnet table."""

import sys

from parkf.detector.field import load_field
from parkf.detector.geometry import load_geometry
from parkf.io.files import write_sealed
from parkf.io.option_types import FormsName
from parkf.io.terminal import say
from parkf.stages.files import Made, Read
from parkf.training.magnet_table.rays import Magnet
from parkf.training.magnet_table.train import train_table


def table(
    *,
    geometry: Read,
    field: Read,
    output: Made,
    accuracy: Made,
    rays: int,
    seed: int,
    forms: FormsName = "improved",
    threads: int = 1,
) -> None:
    """Train the 240,000 numbers of the table on rays, and measure it on independent rays."""
    say(f"table: forms {forms}, {rays} rays, seed {seed}", file=sys.stderr)
    nominal = load_geometry(geometry)
    magnet = Magnet(load_field(field), nominal.magnet.z_in, nominal.magnet.z_out, nominal.beam, threads)
    trained, measured = train_table(magnet, forms=forms, rays=rays, seed=seed)
    trained.save(output)
    write_sealed(accuracy, measured)
