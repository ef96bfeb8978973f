"""Why a scheduler ended a job, and whether more memory or time would have helped.

Snakemake repeats every failed job. That only helps a job that was killed for memory or time, since its next
attempt asks for more of both; a job that failed by itself would fail again, after another wait.
"""

import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Ending:
    """The scheduler's reason for the end of a job, advice, and whether more memory or time would help."""

    reason: str
    advice: str
    curable: bool


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
# Slurm ends a job that is over its memory in two ways. With control groups its state is OUT_OF_MEMORY. With
# sampling it is FAILED, and only the daemon's line in the job's log names the reason.
_OVER_MEMORY = re.compile(r"exceeded (?:job )?memory limit|oom[-_ ]kill|out[ -]of[ -]memory", re.I)


def slurm_ending(message: str, log: Path | None) -> Ending:
    """Report how a Slurm job ended.

    `message` is the executor's, with Slurm's state in quotes. Slurm's daemon writes to the job's `log`.
    """
    states = [state for state in re.findall(r"'([A-Z_]+)", message) if state in _SLURM]
    if not states:
        return Ending("FAILED", message, False)
    state = states[0]
    words = log.read_text(errors="replace") if log is not None and log.is_file() else ""
    if state == "FAILED" and _OVER_MEMORY.search(words):
        state = "OUT_OF_MEMORY"
    advice, curable = _SLURM[state]
    return Ending(state, advice, curable)


def htcondor_ending(message: str, log: Path | None) -> Ending:
    """Report how an HTCondor job ended; `message` contains the reason where the job is held."""
    held = re.search(r"(?:is held|Hold reason): (.*)", message)
    if held is None:
        if "removed" in message:
            return Ending("REMOVED", f"somebody removed it; {_AGAIN}", False)
        return Ending("FAILED", message, False)
    reason = held[1]
    if "memory" in reason.lower():
        return Ending("HELD", f"{_MEMORY} ({reason})", True)
    if "duration" in reason.lower():
        return Ending("HELD", f"{_TIME} ({reason})", True)
    return Ending("HELD", reason, False)
