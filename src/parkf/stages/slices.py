"""Stage ``slices``: the steps inside the magnet, for states between UT and SciFi."""

from parkf.detector.field import load_field
from parkf.detector.geometry import load_geometry
from parkf.io.files import write_sealed
from parkf.stages.files import Made, Read
from parkf.training.slices import train_slices
from parkf.training.slices_accuracy import measure_slices


def slices(*, geometry: Read, field: Read, output: Made, accuracy: Made, seed: int, threads: int = 1) -> None:
    """Train the steps inside the magnet, and measure them on independent tracks."""
    magnet, nominal = load_field(field), load_geometry(geometry)
    trained = train_slices(magnet, nominal, seed=seed, threads=threads)
    trained.save(output)
    write_sealed(accuracy, measure_slices(trained, magnet, nominal, seed=seed, threads=threads))
