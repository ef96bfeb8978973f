"""The pages of a run. They are drawn from JSON files and tables only; no figure is computed here."""
