"""Events, their transport through the detector, hits and track candidates."""
