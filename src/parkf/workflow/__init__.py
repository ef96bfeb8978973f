"""Runs: configuration, jobs, the reasons for which jobs run again, clusters, and families of runs.

The Snakefile uses this room; physics is in the rooms below. A job runs again if and only if its inputs, its
parameters or the code of its command have changed in meaning.
"""
