"""Snakemake's executors for clusters: they report why jobs end, and repeat no job in vain."""

import subprocess
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

from snakemake_interface_executor_plugins.registry import ExecutorPluginRegistry

from parkf.workflow.cluster.endings import Ending, htcondor_ending, slurm_ending

_INTERVAL = "init_seconds_before_status_checks"
# Reasons to wait that need no action.
_USUAL = {"None", "Priority", "Resources", "Dependency", "BeginTime", "JobArrayTaskLimit", "Cleaning"}


def slurm_waiting(jobs: Sequence[str]) -> dict[str, str]:
    """Return why Slurm lets each job wait, if that needs an action: a drained node, a limit."""
    asked = subprocess.run(
        ["squeue", "--noheader", "--states=PENDING", "--format=%i|%r", f"--jobs={','.join(jobs)}"],
        capture_output=True,
        text=True,
        check=False,
    )
    told = (line.partition("|") for line in asked.stdout.splitlines())
    return {job: reason for job, _, reason in told if reason not in _USUAL}


def _nothing_waits(jobs: Sequence[str]) -> dict[str, str]:
    """HTCondor holds jobs that it cannot run, and its executor reports them."""
    return {}


def _named(job: Any) -> str:
    """Return the names of a job's rules; a group of small jobs has several."""
    return ", ".join(sorted(set(job.rules)))


def _judging(
    executor: Any,
    ending: Callable[[str, Path | None], Ending],
    waiting: Callable[[Sequence[str]], dict[str, str]],
) -> type:
    """Derive an executor from a plugin's that classifies the ends of jobs and reports why jobs wait."""

    class Executor(executor):
        judges = True

        def __post_init__(self) -> None:
            super().__post_init__()
            self._told: dict[str, str] = {}

        def report_job_error(self, job_info: Any, msg: str | None = None, **kwargs: Any) -> None:
            logs = [Path(log) for log in kwargs.get("aux_logs") or () if log]
            job = job_info.job
            end = ending(msg or "", logs[0] if logs else None)
            last = not end.curable or job.attempt > job.restart_times
            after = "" if last else f"; attempt {job.attempt + 1} gets twice of both"
            self.logger.error(f"Job {_named(job)}: {end.reason}: {end.advice}{after}.")
            if last:
                # Use up the job's attempts before the error is reported: otherwise Snakemake repeats it, in
                # another thread.
                job.attempt = job.restart_times + 1
            super().report_job_error(job_info, msg=f"{end.reason}: {end.advice}.", **kwargs)

        async def check_active_jobs(self, active_jobs: list[Any]) -> AsyncIterator[Any]:
            waits = []
            async for job_info in super().check_active_jobs(active_jobs):
                waits.append(job_info)
                yield job_info
            self._tell_waiting({str(job_info.external_jobid): _named(job_info.job) for job_info in waits})
            # Slurm's executor lengthens the interval up to three minutes, which following jobs would wait.
            if (interval := getattr(self.workflow.executor_settings, _INTERVAL, None)) is not None:
                self.next_seconds_between_status_checks = interval

        def _tell_waiting(self, jobs: dict[str, str]) -> None:
            reasons = waiting(list(jobs)) if jobs else {}
            for job, reason in reasons.items():
                if self._told.get(job) != reason:
                    self.logger.warning(f"Job {jobs[job]} ({job}) waits: {reason}.")
            self._told = reasons

    return Executor


def name_endings() -> None:
    """Replace Snakemake's executors for Slurm and HTCondor, where installed, by those of this module.

    Each member of a family calls this; only the first call has an effect.
    """
    registry = ExecutorPluginRegistry()
    for name, ending, waiting in (
        ("slurm", slurm_ending, slurm_waiting),
        ("htcondor", htcondor_ending, _nothing_waits),
    ):
        if registry.is_installed(name):
            plugin = registry.get_plugin(name)
            if not hasattr(plugin.executor, "judges"):
                plugin.executor = _judging(plugin.executor, ending, waiting)
