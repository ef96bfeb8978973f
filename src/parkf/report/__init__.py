"""Pages that a physicist opens after a run."""
