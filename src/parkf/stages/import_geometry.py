"""Stage ``import_geometry``: geometry and alignment from Allen's dumps."""

from parkf.imports.geometry.folder import import_dumps
from parkf.io.files import write_text
from parkf.io.terminal import say
from parkf.stages.files import AllRead, Made, Read


def import_geometry(*, dumps: AllRead, base: Read, geometry: Made, alignment: Made, told: Made) -> None:
    """Import Allen's dumps; what they lack is as in the geometry `base`. The report goes to `told`, too."""
    report = import_dumps(dumps, base=base, geometry=geometry, alignment=alignment)
    say(report)
    write_text(told, report + "\n")
