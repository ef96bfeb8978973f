"""Runs that are killed, damaged or without disk space must end with the same bytes, or name the reason."""
