"""Continuing killed runs: the lock of the folder, leftovers, and what has to be made again."""
