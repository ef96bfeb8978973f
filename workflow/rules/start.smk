"""Preparations before the first job starts."""

from parkf.workflow.running.rules import kernel_may_be_old, prepare


onstart:
    # Compile the code generated from the formulas before any job uses it.
    if kernel_may_be_old():
        shell("parkf kernel --compile")
    prepare(workflow, GRAPHS, needs_gpu=NEEDS_GPU)
