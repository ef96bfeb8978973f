"""Runs that were killed go on: who holds the folder, what a dead one left, what has to be made again."""
