"""Stage ``likeness``: figures of the fits on hits of another simulation, for the gates."""

from parkf.io.files import read_json, write_sealed
from parkf.stages.files import AllRead, Made


def likeness(*, measured: AllRead, fits: list[str], output: Made) -> None:
    """Join the figures by ``measure`` of each of the `fits`."""
    figures = {name: read_json(path) for name, path in zip(fits, measured, strict=True)}
    # The full fit uses no set; all other fits used the same one.
    sets = [fit.pop("set") for fit in figures.values()]
    write_sealed(output, {"set": next((one for one in sets if one), None), "fits": figures})
