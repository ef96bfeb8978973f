"""Time and memory of a command: the last line on its error stream, when PARKF_USAGE is set.

The workflow sets it, so that every log of a job ends with such a line, and :mod:`parkf.report.stages` adds
them up.
"""

import json
import os
import re
import resource
import sys
import time
from dataclasses import asdict, dataclass
from multiprocessing import active_children
from pathlib import Path

from parkf.io.terminal import say

VARIABLE = "PARKF_USAGE"
TAKEN = "taken from"
"""Beginning of the line in a job's log that reports a file copied from another run."""
_LINE = re.compile(r"^parkf usage: (\{.*\})$", re.MULTILINE)
_OWN_PEAK = re.compile(r"^VmHWM:\s*(\d+) kB$", re.MULTILINE)
# Bytes in the unit of ru_maxrss.
_UNIT = 1 if sys.platform == "darwin" else 1024


@dataclass(frozen=True)
class Usage:
    """Time and memory of a process and all its descendants."""

    wall_s: float
    cpu_s: float  # processor time of all threads and children, including system calls, s
    # Upper limit of the memory used at once, MiB: the peak of the process, plus the largest peak of a child
    # times the largest number of children at a time. Each process counts shared pages, as batch systems do.
    peak_mb: float
    began: float | None = None  # seconds since 1970
    ended: float | None = None


class Meter:
    """Measures this process from the time when the meter is made."""

    def __init__(self) -> None:
        self._began, self._begin = time.time(), time.perf_counter()
        self._most_children = 0
        os.register_at_fork(after_in_parent=self._count_children)

    def report(self) -> None:
        """Print the line on the error stream, if the environment asks for it."""
        if os.environ.get(VARIABLE):
            say(f"parkf usage: {json.dumps(asdict(self.usage()))}", file=sys.stderr, flush=True)

    def usage(self) -> Usage:
        """Return time and memory so far; children count once they have ended."""
        own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        largest_child = children.ru_maxrss * _UNIT
        wall_s = time.perf_counter() - self._begin
        return Usage(
            wall_s=round(wall_s, 3),
            cpu_s=round(own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime, 3),
            peak_mb=round((_own_peak(own) + max(1, self._most_children) * largest_child) / 2**20, 1),
            began=round(self._began, 3),
            ended=round(self._began + wall_s, 3),
        )

    def _count_children(self) -> None:
        # The number of children grows when one is started, and the new one is not listed yet.
        self._most_children = max(self._most_children, len(active_children()) + 1)


def read_usage(log: str) -> Usage | None:
    """Combine the usage lines in a job's log, whose commands ran one after the other; None without a line."""
    found = [Usage(**json.loads(line)) for line in _LINE.findall(log)]
    if not found:
        return None
    return Usage(
        wall_s=sum(one.wall_s for one in found),
        cpu_s=sum(one.cpu_s for one in found),
        peak_mb=max(one.peak_mb for one in found),
        began=min((one.began for one in found if one.began is not None), default=None),
        ended=max((one.ended for one in found if one.ended is not None), default=None),
    )


def was_taken(log: str) -> bool:
    """Whether a job's log reports a file copied from another run, so that its usage measures no work."""
    return any(line.startswith(f"{TAKEN} ") for line in log.splitlines())


def _own_peak(own: resource.struct_rusage) -> int:
    """Peak memory of this program in bytes; on Linux, without the peak of the program that started it."""
    status = Path("/proc/self/status")
    held = _OWN_PEAK.search(status.read_text()) if status.is_file() else None
    return int(held[1]) * 1024 if held else own.ru_maxrss * _UNIT
