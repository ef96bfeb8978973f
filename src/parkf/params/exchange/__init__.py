"""Exchange of sets: the trigger's two files, its older text files, and a table.

Only production's forms can be exchanged with the trigger, because it has no others.
"""

from parkf.params.exchange.parquet import export_parquet
from parkf.params.exchange.text_files import import_text_files
from parkf.params.exchange.trigger import export_trigger, import_trigger

__all__ = ["export_parquet", "export_trigger", "import_text_files", "import_trigger"]
