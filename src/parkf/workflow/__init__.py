"""Runs: configuration, jobs, the reasons for which jobs run again, and families of runs.

The Snakefile uses this room; physics is in the rooms below. A job runs again if and only if the meaning of
its inputs, of its parameters or of its stage's code has changed.
"""
