"""Snakemake, as runs start it: ``python -m parkf.workflow.running`` with Snakemake's arguments.

Snakemake's modules, and the jobs of its plan, are a million objects that stay. Python would search them for
garbage many times, and once more at its exit, in a fifth of the time of a plan.
"""

import atexit
import gc

gc.set_threshold(100_000)
atexit.register(gc.freeze)

from snakemake.cli import main  # noqa: E402 (its import makes many objects, too)

main()
