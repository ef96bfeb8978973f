"""Other people's files of the same numbers: the trigger's two, and the text files it had before.

Only production's forms can be exchanged: they are what the trigger computes.
"""

from parkf.parameters.exchange.text_files import import_text_files
from parkf.parameters.exchange.trigger import export_trigger, import_trigger

__all__ = ["export_trigger", "import_text_files", "import_trigger"]
