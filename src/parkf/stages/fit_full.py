"""Stage ``fit_full``: the full fit with field and material, which uses no parameter set."""

from parkf.detector.field import load_field
from parkf.detector.geometry import load_geometry
from parkf.fit.fitter import fit_file_full
from parkf.stages.files import AllMade, AllRead, Read


def fit_full(
    *,
    geometry: Read,
    alignment: Read,
    field: Read,
    candidates: AllRead,
    outputs: AllMade,
    threads: int = 1,
) -> None:
    """Fit each file of candidates by Runge-Kutta through every layer of material, as a reference."""
    placed, magnet = load_geometry(geometry, alignment), load_field(field)
    for file, output in zip(candidates, outputs, strict=True):
        fit_file_full(file, output, geometry=placed, field=magnet, threads=threads).tell(file, output)
