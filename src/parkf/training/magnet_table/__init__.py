"""The magnet table: 240,000 numbers trained as one linear problem, and measured on independent rays."""

from parkf.training.magnet_table.table import MagnetTable, load_table

__all__ = ["MagnetTable", "load_table"]
