"""Stage ``electron``: what electrons radiate."""

from parkf.detector.field import load_field
from parkf.detector.geometry import load_geometry
from parkf.stages.files import Made, Read
from parkf.training.electron import train_electron


def electron(
    *, geometry: Read, alignment: Read, field: Read, output: Made, seed: int, threads: int = 1
) -> None:
    """Train what electrons radiate in front of the magnet, on simulated electrons and their full fits."""
    place = load_geometry(geometry, alignment), load_field(field)
    train_electron(*place, seed=seed, threads=threads).save(output)
