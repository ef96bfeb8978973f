"""Stages of a run: one function a file, which rules call by `python -m parkf.stages NAME`.

The arguments of a stage's function have the type of a file that it reads or makes (:mod:`.files`), or a plain
type. :mod:`.run` calls it, and writes what it made of what into the run's ledger.
"""
