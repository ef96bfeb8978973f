"""What surrounds a run: its configuration, its jobs, what runs again and why, clusters, families of runs.

The Snakefile asks this room; physics is in the rooms below. A job runs again where its inputs, its
parameters or the code of its command have changed in meaning, and only there.
"""
