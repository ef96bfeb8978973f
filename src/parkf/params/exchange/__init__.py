"""Sets in other forms: the trigger's two files, the text files it had before, and a table.

Only production's forms can be exchanged with the trigger, because the trigger computes these.
"""

from parkf.params.exchange.parquet import export_parquet
from parkf.params.exchange.text_files import import_text_files
from parkf.params.exchange.trigger import export_trigger, import_trigger

__all__ = ["export_parquet", "export_trigger", "import_text_files", "import_trigger"]
