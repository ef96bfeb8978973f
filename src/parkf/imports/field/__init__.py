"""Field maps in the formats of LHCb and ACTS."""

from parkf.imports.field.points import Declared
from parkf.imports.field.read import FORMATS, read_field

__all__ = ["FORMATS", "Declared", "read_field"]
