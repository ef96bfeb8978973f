"""Snakemake's executors for clusters: they report why jobs end or wait, and do not repeat jobs in vain.

Snakemake repeats every failed job. This only helps if the job was killed for memory or time, because its next
attempt requests more of both; a job that failed by itself would fail again, after another wait.
"""

import re
import subprocess
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from snakemake_interface_executor_plugins.registry import ExecutorPluginRegistry

# Reasons to wait that need no action.
_USUAL = {"None", "Priority", "Resources", "Dependency", "BeginTime", "JobArrayTaskLimit", "Cleaning"}
_MEMORY = "it needed more memory than it had asked for"
_TIME = "it needed more time than it had asked for"
_AGAIN = "start the run again"
_SLURM = {
    "OUT_OF_MEMORY": (_MEMORY, True),
    "TIMEOUT": (_TIME, True),
    "CANCELLED": (f"somebody cancelled it; {_AGAIN}", False),
    "NODE_FAIL": (f"its node failed; {_AGAIN}", False),
    "PREEMPTED": (f"another job took its place; {_AGAIN}", False),
    "FAILED": ("its log says why", False),
}
# Slurm ends a job that exceeds its memory in two ways. With control groups, the job's state is OUT_OF_MEMORY.
# With sampling, the state is FAILED, and only the daemon's line in the job's log has the reason.
_OVER_MEMORY = re.compile(r"exceeded (?:job )?memory limit|oom[-_ ]kill|out[ -]of[ -]memory", re.I)


@dataclass(frozen=True)
class Ending:
    """The scheduler's reason for the end of a job, advice, and whether more memory or time would help."""

    reason: str
    advice: str
    curable: bool


def slurm_ending(message: str, log: Path | None) -> Ending:
    """Report how a Slurm job ended.

    `message` is the executor's, with Slurm's state in quotes. Slurm's daemon writes to the job's `log`.
    """
    state = next((state for state in re.findall(r"'([A-Z_]+)", message) if state in _SLURM), None)
    if state is None:
        return Ending("FAILED", message, False)
    words = log.read_text(errors="replace") if log is not None and log.is_file() else ""
    if state == "FAILED" and _OVER_MEMORY.search(words):
        state = "OUT_OF_MEMORY"
    advice, curable = _SLURM[state]
    return Ending(state, advice, curable)


def htcondor_ending(message: str, log: Path | None) -> Ending:
    """Report how an HTCondor job ended; if the job is held, `message` contains the reason."""
    held = re.search(r"(?:is held|Hold reason): (.*)", message)
    if held is None:
        if "removed" in message:
            return Ending("REMOVED", f"somebody removed it; {_AGAIN}", False)
        return Ending("FAILED", message, False)
    reason = held[1]
    for word, advice in (("memory", _MEMORY), ("duration", _TIME)):
        if word in reason.lower():
            return Ending("HELD", f"{advice} ({reason})", True)
    return Ending("HELD", reason, False)


def slurm_waiting(jobs: Sequence[str]) -> dict[str, str]:
    """Return why Slurm lets jobs wait, for reasons that need an action, such as a drained node or a limit."""
    asked = subprocess.run(
        ["squeue", "--noheader", "--states=PENDING", "--format=%i|%r", f"--jobs={','.join(jobs)}"],
        capture_output=True,
        text=True,
        check=False,
    )
    told = (line.partition("|") for line in asked.stdout.splitlines())
    return {job: reason for job, _, reason in told if reason not in _USUAL}


def htcondor_names(resources: Any) -> dict[str, int]:
    """Return a job's memory and disk in MB and its time in s, under the names that HTCondor's executor reads.

    `resources` has ``mem_mb`` and ``disk_mb`` in MB, and ``runtime`` in minutes.
    """
    return {
        "htcondor_request_mem_mb": resources.mem_mb,
        "htcondor_request_disk_mb": resources.disk_mb,
        "allowed_execute_duration": 60 * resources.runtime,
    }


def _named(job: Any) -> str:
    """Return the names of a job's rules; a group of small jobs has several."""
    return ", ".join(sorted(set(job.rules)))


def _judging(
    executor: Any,
    ending: Callable[[str, Path | None], Ending],
    waiting: Callable[[Sequence[str]], dict[str, str]],
    names: Callable[[Any], dict[str, int]],
) -> type:
    """Derive a class from a plugin's executor that reports why jobs end, and why they wait.

    `names` turns the resources of a job into further ones, which only this executor reads. The rules do not
    declare them, since Snakemake evaluates every resource of every job.
    """

    class Executor(executor):
        judges = True

        def __post_init__(self) -> None:
            super().__post_init__()
            self._reported: dict[str, str] = {}

        def run_job(self, job: Any) -> None:
            more = names(job.resources)
            # A group's `resources` are a copy.
            job._resources.update(more)
            super().run_job(job)

        def report_job_error(self, job_info: Any, msg: str | None = None, **kwargs: Any) -> None:
            logs = [Path(log) for log in kwargs.get("aux_logs") or () if log]
            job = job_info.job
            end = ending(msg or "", logs[0] if logs else None)
            last = not end.curable or job.attempt > job.restart_times
            after = "" if last else f"; attempt {job.attempt + 1} gets twice of both"
            self.logger.error(f"Job {_named(job)}: {end.reason}: {end.advice}{after}.")
            if last:
                # Use up the job's attempts before the error is reported: otherwise Snakemake repeats the job
                # in another thread.
                job.attempt = job.restart_times + 1
            super().report_job_error(job_info, msg=f"{end.reason}: {end.advice}.", **kwargs)

        async def check_active_jobs(self, active_jobs: list[Any]) -> AsyncIterator[Any]:
            waits = []
            async for job_info in super().check_active_jobs(active_jobs):
                waits.append(job_info)
                yield job_info
            names = {str(job_info.external_jobid): _named(job_info.job) for job_info in waits}
            reasons = waiting(list(names)) if names else {}
            for job, reason in reasons.items():
                if self._reported.get(job) != reason:
                    self.logger.warning(f"Job {names[job]} ({job}) waits: {reason}.")
            self._reported = reasons
            # Slurm's executor lengthens the interval to up to three minutes, a delay for the following jobs.
            settings = self.workflow.executor_settings
            if (interval := getattr(settings, "init_seconds_before_status_checks", None)) is not None:
                self.next_seconds_between_status_checks = interval

    return Executor


def name_endings() -> None:
    """Replace Snakemake's executors for Slurm and HTCondor, if installed, by those of this module.

    Each member of a family calls this; only the first call has an effect.
    """
    registry = ExecutorPluginRegistry()
    for name, ending, waiting, names in (
        ("slurm", slurm_ending, slurm_waiting, lambda resources: {}),
        # HTCondor holds jobs that it cannot run, and its executor reports them.
        ("htcondor", htcondor_ending, lambda jobs: {}, htcondor_names),
    ):
        if registry.is_installed(name):
            plugin = registry.get_plugin(name)
            if not hasattr(plugin.executor, "judges"):
                plugin.executor = _judging(plugin.executor, ending, waiting, names)
