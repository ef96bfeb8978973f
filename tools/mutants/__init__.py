"""Deliberate mistakes in the code, and whether a test notices."""
