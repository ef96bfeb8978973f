"""Preparations before the first job starts."""

from parkf.workflow.running.rules import prepare


onstart:
    # Compile the code generated from the formulas before any job uses it.
    shell("parkf kernel --compile")
    prepare(workflow, GRAPHS, needs_gpu=NEEDS_GPU)
