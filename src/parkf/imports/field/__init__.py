"""Field maps in the formats of LHCb, and as CSV."""
