"""Why a scheduler ended a job, and whether more memory or time would have helped.

Snakemake repeats whatever failed. That is of use only for a job that was killed for memory or time, since its
next attempt asks for more of both; a job that failed by itself would fail again, after another wait in the queue.
"""

import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from snakemake_interface_executor_plugins.registry import ExecutorPluginRegistry


@dataclass(frozen=True)
class Ending:
    """How a job ended.

    Attributes
    ----------
    reason : str
        The scheduler's word for it.
    advice : str
        What follows from it, for the user.
    curable : bool
        Whether more memory or time would help.
    """

    reason: str
    advice: str
    curable: bool


_INTERVAL = "init_seconds_before_status_checks"
_MEMORY = "it needed more memory than it had asked for"
_TIME = "it needed more time than it had asked for"
_SLURM = {
    "OUT_OF_MEMORY": (_MEMORY, True),
    "TIMEOUT": (_TIME, True),
    "CANCELLED": ("somebody cancelled it, or its node was taken away; start the run again", False),
    "NODE_FAIL": ("its node failed; start the run again", False),
    "PREEMPTED": ("a more important job took its place; start the run again", False),
    "FAILED": ("its log says why", False),
}
# Slurm ends a job that is over its memory in two ways. With control groups its state says so; sampling, it is
# FAILED, and only the daemon's words in the job's log tell.
_OVER_MEMORY = re.compile(r"exceeded (?:job )?memory limit|oom[-_ ]kill|out[ -]of[ -]memory", re.I)


def slurm_ending(message: str, log: Path | None) -> Ending:
    """Say how a Slurm job ended.

    Parameters
    ----------
    message : str
        What the executor reports, with Slurm's state in quotes.
    log : Path or None
        What the job and Slurm's daemon wrote.
    """
    states = re.findall(r"'([A-Z_]+)", message)
    state = next((state for state in states if state in _SLURM), "FAILED")
    words = log.read_text(errors="replace") if log is not None and log.is_file() else ""
    if state == "FAILED" and _OVER_MEMORY.search(words):
        state = "OUT_OF_MEMORY"
    advice, curable = _SLURM[state]
    return Ending(state, advice, curable)


def htcondor_ending(message: str, log: Path | None) -> Ending:
    """Say how an HTCondor job ended; `message` has the reason why it is held, if it is. There is no `log`."""
    held = re.search(r"held: (.*)|Hold reason: (.*)", message)
    if held is not None and "memory" in message.lower():
        return Ending("HELD", _MEMORY, True)
    if held is not None and "duration" in message.lower():
        return Ending("HELD", _TIME, True)
    if held is not None:
        return Ending("HELD", "the reason is above; `condor_rm` takes it out of the queue", False)
    if "removed" in message:
        return Ending("REMOVED", "somebody removed it; start the run again", False)
    return Ending("FAILED", "its log says why", False)


def _judging(plugin: Any, ending: Callable[[str, Path | None], Ending]) -> type:
    class Executor(plugin):
        """The plugin's executor, which names how a job ended and repeats it only where that helps."""

        def report_job_error(self, job_info: Any, msg: str | None = None, **kwargs: Any) -> None:
            logs = [Path(log) for log in kwargs.get("aux_logs") or () if log]
            job = job_info.job
            end = ending(msg or "", logs[0] if logs else None)
            last = not end.curable or job.attempt > job.restart_times
            super().report_job_error(job_info, msg=msg, **kwargs)
            after = "" if last else f"; attempt {job.attempt + 1} gets twice of both"
            self.logger.error(f"Job {job.name}: {end.reason}: {end.advice}{after}.")
            if last:
                # Snakemake repeats a job as long as it has attempts left.
                job.attempt = job.restart_times + 1

        async def check_active_jobs(self, active_jobs: list[Any]) -> AsyncIterator[Any]:
            async for job_info in super().check_active_jobs(active_jobs):
                yield job_info
            # Slurm's executor would look ever more rarely, in the end every three minutes, and what follows a
            # job would wait as long.
            if (interval := getattr(self.workflow.executor_settings, _INTERVAL, None)) is not None:
                self.next_seconds_between_status_checks = interval

    return Executor


def name_endings() -> None:
    """Let Snakemake's executors for Slurm and HTCondor, where installed, name and judge how a job ended."""
    registry = ExecutorPluginRegistry()
    for name, ending in (("slurm", slurm_ending), ("htcondor", htcondor_ending)):
        if registry.is_installed(name):
            plugin = registry.get_plugin(name)
            plugin.executor = _judging(plugin.executor, ending)
