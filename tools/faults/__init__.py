"""Runs that are killed, damaged or out of room must end with the same bytes, or say why not."""
