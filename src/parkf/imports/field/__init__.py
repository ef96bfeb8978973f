"""Field maps in the formats of LHCb and ACTS."""

from parkf.imports.field.read import FORMATS, Declared, read_field

__all__ = ["FORMATS", "Declared", "read_field"]
