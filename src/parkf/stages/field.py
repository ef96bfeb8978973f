"""Stage ``field``: the field on a grid."""

from parkf.detector.field import make_field_map
from parkf.io.option_types import Interpolation, Outside
from parkf.stages.files import Made, Read


def field(
    *,
    source: Read,
    output: Made,
    spacing: float = 100.0,
    outside: Outside = "error",
    interpolation: Interpolation = "linear",
) -> None:
    """Evaluate a dipole (.json) onto a grid of `spacing` mm, or check and copy a user's grid (.npz)."""
    make_field_map(source, spacing=spacing, outside=outside, interpolation=interpolation).save(output)
