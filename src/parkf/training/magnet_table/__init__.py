"""The magnet table: 240,000 numbers trained as one linear problem, and measured on independent rays.

Its training is :func:`parkf.training.magnet_table.train.train_table`, whose libraries nobody else waits for.
"""

from parkf.training.magnet_table.table import MagnetTable, load_table

__all__ = ["MagnetTable", "load_table"]
