"""Stage ``import_alignment``: an alignment from LHCb's conditions."""

from parkf.imports.geometry.folder import import_conditions
from parkf.io.files import write_text
from parkf.io.terminal import say
from parkf.stages.files import Made, Read


def import_alignment(*, conditions: Read, geometry: Read, output: Made, told: Made) -> None:
    """Import LHCb's conditions for a geometry. The report goes to `told`, too."""
    report = import_conditions([conditions], output, geometry=geometry, tag=None)
    say(report)
    write_text(told, report + "\n")
