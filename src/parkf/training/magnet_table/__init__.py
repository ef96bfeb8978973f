"""The magnet table: 240,000 numbers trained as one linear problem, and measured on independent rays.

:func:`parkf.training.magnet_table.train.train_table` trains it. It is not imported here, because its
libraries take long to load.
"""

from parkf.training.magnet_table.table import MagnetTable, load_table

__all__ = ["MagnetTable", "load_table"]
