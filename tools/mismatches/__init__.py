"""Mismatches of candidates and parameter sets, and honest samples, fitted to see which are refused."""
