"""Exchange of sets with the trigger, by its two files.

Only production's forms can be exchanged, because the trigger has no others.
"""

from parkf.params.exchange.trigger import export_trigger, import_trigger

__all__ = ["export_trigger", "import_trigger"]
