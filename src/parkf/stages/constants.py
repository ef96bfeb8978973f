"""Stage ``constants``: what a set has beside its steps, for states at RICH planes and for electrons."""

from parkf.detector.field import load_field
from parkf.detector.geometry import load_geometry
from parkf.stages.files import Made, Read
from parkf.training.electron import train_electron
from parkf.training.rich import train_rich


def constants(
    *,
    geometry: Read,
    alignment: Read,
    field: Read,
    velo: Read,
    ut: Read,
    scifi: Read,
    rich: Made,
    electron: Made,
    seed: int,
    threads: int = 1,
) -> None:
    """Train the constants of RICH planes on datasets, and what electrons radiate on simulated electrons.

    `velo`, `ut` and `scifi` are the datasets of the steps VUT, UT and T. The electrons have full fits.
    """
    magnet = load_field(field)
    train_rich(velo, ut, scifi, magnet, threads=threads).save(rich)
    train_electron(load_geometry(geometry, alignment), magnet, seed=seed, threads=threads).save(electron)
