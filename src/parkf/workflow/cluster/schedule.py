"""Prediction of the time of a run: its jobs, with their costs, are started in turn on a number of cores."""

import heapq
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from graphlib import TopologicalSorter
from typing import Any, TypeVar

from parkf.workflow.cluster.costs import Cost, Costs

Key = TypeVar("Key", bound=Hashable)
TINY = Cost(unit="job", job_s=1.0, unit_ms=0.0, job_mb=200.0)
"""Cost of a rule without an entry in the file of costs: the start of a command."""


@dataclass(frozen=True)
class Job:
    """One job of the workflow."""

    rule: str
    seconds: float  # from its start to its end, with its own number of cores
    cores: int
    memory: int = 0  # requested, MB
    after: tuple[int, ...] = ()  # positions of the jobs in the list that it waits for
    alone: float = 0.0  # part of `seconds` in which only one core works

    def on(self, cores: int) -> float:
        """Return the job's time in s on a number of cores, at most its own."""
        return self.alone + (self.seconds - self.alone) * self.cores / cores


def stage_of(costs: Costs, rule: str) -> str | None:
    """Return the stage of a rule; None if the file of costs has none for it."""
    # The name of a rule is a prefix (purpose, step or member of a family), followed by the name of its stage.
    named = [stage for stage in costs.stages if rule == stage or rule.endswith(f"_{stage}")]
    return max(named, key=len) if named else None


def cost_of(costs: Costs, job: Any) -> Cost:
    """Return the cost of the stage of one of Snakemake's jobs."""
    stage = stage_of(costs, job.rule.name)
    return TINY if stage is None else costs.stages[stage]


def seconds_of(costs: Costs, job: Any) -> float:
    """Return the time that one of Snakemake's jobs takes on its own cores, s."""
    return cost_of(costs, job).wall_s(job.resources.get("units", 0), job.threads)


def listed(jobs: Mapping[Key, Job], after: Mapping[Key, Iterable[Key]]) -> list[Job]:
    """List jobs, each with the positions in the list of the jobs that it waits for."""
    positions = {key: position for position, key in enumerate(jobs)}
    return [
        replace(job, after=tuple(positions[before] for before in after[key] if before in positions))
        for key, job in jobs.items()
    ]


def to_the_end(jobs: Sequence[Job], latency: float) -> list[float]:
    """Return the time in s from each job's start to the end of all jobs after it, with unlimited cores."""
    longest = [0.0] * len(jobs)
    for number in reversed(range(len(jobs))):
        longest[number] += latency + jobs[number].seconds
        for before in jobs[number].after:
            longest[before] = max(longest[before], longest[number])
    return longest


def replay(jobs: Sequence[Job], cores: int, latency: float) -> float:
    """Return the time in s that a run takes on a number of cores, by list scheduling."""
    urgency = to_the_end(jobs, latency)
    waiting = TopologicalSorter({number: job.after for number, job in enumerate(jobs)})
    waiting.prepare()
    # Time, number of a job, and whether the job ends at this time; otherwise it may start.
    events = [(latency, number, False) for number in waiting.get_ready()]
    heapq.heapify(events)
    # Jobs that may start, by the number of cores that they need; the most urgent of each list comes first.
    needed = [min(job.cores, cores) for job in jobs]
    ready: dict[int, list[tuple[float, int]]] = {count: [] for count in set(needed)}
    now, free = 0.0, cores
    while events:
        now = events[0][0]
        while events and events[0][0] <= now:
            _, number, has_ended = heapq.heappop(events)
            if not has_ended:
                heapq.heappush(ready[needed[number]], (-urgency[number], number))
                continue
            free += needed[number]
            waiting.done(number)
            for behind in waiting.get_ready():
                heapq.heappush(events, (now + latency, behind, False))
        # The most urgent job comes first; if it does not fit, a smaller job may start before it.
        while fitting := [queue for count, queue in ready.items() if queue and count <= free]:
            _, number = heapq.heappop(min(fitting))
            free -= needed[number]
            heapq.heappush(events, (now + jobs[number].on(needed[number]), number, True))
    return now
