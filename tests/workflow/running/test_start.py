"""Snakemake starts for jobs as for runs."""

import shlex
import subprocess
import sys
from importlib.metadata import version
from types import SimpleNamespace

from parkf.workflow.running.snakemake import SNAKEMAKE, start_jobs_alike
from snakemake_interface_executor_plugins.executors.real import RealExecutor


def test_jobs_start_as_their_run_does(monkeypatch):
    line = f"cd folder && {shlex.quote(sys.executable)} -m snakemake --snakefile Snakefile"
    monkeypatch.setattr(RealExecutor, "format_job_exec", lambda executor, job: line)
    start_jobs_alike()
    start_jobs_alike()
    called = RealExecutor.format_job_exec(SimpleNamespace(), SimpleNamespace())
    assert shlex.split(called)[3:6] == [*SNAKEMAKE]


def test_it_is_snakemake():
    called = subprocess.run([*SNAKEMAKE, "--version"], capture_output=True, text=True, check=True)
    assert called.stdout.strip() == version("snakemake")
