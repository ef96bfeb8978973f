"""Prediction of the time of a run: its jobs are started in turn on so many cores, each with its cost."""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from parkf.workflow.cluster.costs import Cost, Costs

TINY = Cost(unit="job", job_s=1.0, unit_ms=0.0, job_mb=200.0)
"""A rule that the file of costs does not name: a command's start."""


@dataclass(frozen=True)
class Job:
    """One job of the workflow.

    Attributes
    ----------
    rule : str
        The rule that it is one of.
    seconds : float
        From its start to its end, on its own cores.
    cores : int
        How many it takes.
    memory : int
        What it asks for, MB.
    after : tuple of int
        Jobs that it waits for, by their place in the list.
    alone : float
        Seconds of those in which one core works, however many it has.
    """

    rule: str
    seconds: float
    cores: int
    memory: int
    after: tuple[int, ...]
    alone: float = 0.0

    def on(self, cores: int) -> float:
        """Seconds on so many cores, of which it needs no more than it takes."""
        return self.alone + (self.seconds - self.alone) * self.cores / cores


def stage_of(costs: Costs, rule: str) -> str | None:
    """Return the stage of a rule; None if it costs next to nothing."""
    # Names of rules begin with what is theirs: purpose, step, in a family the member.
    named = [stage for stage in costs.stages if rule == stage or rule.endswith(f"_{stage}")]
    return max(named, key=len) if named else None


def cost_of(costs: Costs, job: Any) -> Cost:
    """Return the cost of the stage of one of Snakemake's jobs."""
    stage = stage_of(costs, job.rule.name)
    return TINY if stage is None else costs.stages[stage]


def seconds_of(costs: Costs, job: Any) -> float:
    """Return the time that one of Snakemake's jobs takes on its own cores, s."""
    return cost_of(costs, job).wall_s(job.resources.get("units", 0), job.threads)


def to_the_end(jobs: Sequence[Job], latency: float) -> list[float]:
    """Seconds from each job's place in the queue to the end of all that waits for it, cores without end."""
    longest = [0.0] * len(jobs)
    for number in reversed(range(len(jobs))):
        longest[number] += latency + jobs[number].seconds
        for before in jobs[number].after:
            longest[before] = max(longest[before], longest[number])
    return longest


def replay(jobs: Sequence[Job], cores: int, latency: float) -> float:
    """Seconds that a run takes on so many cores, by list scheduling."""
    urgency = to_the_end(jobs, latency)
    waits_for = [len(job.after) for job in jobs]
    following: list[list[int]] = [[] for _ in jobs]
    for number, job in enumerate(jobs):
        for before in job.after:
            following[before].append(number)
    # When something happens: a job may start, or has ended.
    queued = [(latency, number) for number, count in enumerate(waits_for) if count == 0]
    ready: list[tuple[float, int]] = []
    running: list[tuple[float, int]] = []
    now, free = 0.0, cores
    heapq.heapify(queued)
    while queued or ready or running:
        now = min(heap[0][0] for heap in (queued, running) if heap)
        while running and running[0][0] <= now:
            _, ended = heapq.heappop(running)
            free += min(jobs[ended].cores, cores)
            for number in following[ended]:
                waits_for[number] -= 1
                if waits_for[number] == 0:
                    heapq.heappush(queued, (now + latency, number))
        while queued and queued[0][0] <= now:
            number = heapq.heappop(queued)[1]
            heapq.heappush(ready, (-urgency[number], number))
        # The most urgent job comes first; where it does not fit, a smaller one may start before it.
        passed = []
        while ready and free:
            entry = heapq.heappop(ready)
            wanted = min(jobs[entry[1]].cores, cores)
            if wanted > free:
                passed.append(entry)
                continue
            free -= wanted
            heapq.heappush(running, (now + jobs[entry[1]].on(wanted), entry[1]))
        for entry in passed:
            heapq.heappush(ready, entry)
    return now
