"""Stages of a run: one function a file, which rules call by `python -m parkf.stages NAME`.

An argument of a function is a file that it reads or makes (:mod:`parkf.stages.files`), or a plain value.
A stage finds nothing by itself: its arguments name all that it reads. One function runs all stages, and
writes into the run's ledger what a stage has made of what (:mod:`parkf.stages.run`).
"""
