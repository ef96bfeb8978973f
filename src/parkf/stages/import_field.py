"""Stage ``import_field``: the field from a foreign map."""

from pathlib import Path

from parkf.detector.dipole import DipoleSources
from parkf.imports.columns import sign_of
from parkf.imports.field.physics import inspect_field
from parkf.imports.field.read import Declared, read_field
from parkf.io.findings import settle
from parkf.io.option_types import Interpolation, Outside
from parkf.io.project import found
from parkf.stages.files import AllRead, Made, Read

DIPOLE = Path("data/field/dipole.json")


def import_field(
    *,
    source: str,
    reads: AllRead,
    output: Made,
    length: str | None = None,
    unit: str | None = None,
    symmetry: str = "none",
    polarity: str = "down",
    tree: str | None = None,
    outside: Outside = "error",
    interpolation: Interpolation = "linear",
    dipole: Read | None = None,
) -> None:
    """Import a field map of another program, compare it with a dipole, and print the findings.

    Parameters
    ----------
    source
        The map's file; for .cdf, a pattern of its four files. `reads` are these files.
    polarity
        Of the map: up or down.
    dipole
        Field to compare with (.json), by default the project's.
    """
    imported = read_field(
        source,
        Declared(length, unit, symmetry, sign_of(polarity), tree),
        interpolation=interpolation,
        outside=outside,
    )
    settle([inspect_field(imported, DipoleSources.load(dipole or found(DIPOLE)), source)])
    imported.save(output)
