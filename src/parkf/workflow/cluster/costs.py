"""The measured costs of stages, from ``workflow/costs.yaml``, and the resources that rules declare."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import Field

from parkf.io.documents.models import Strict, load_document
from parkf.io.errors import ParkfError

COSTS_FILE = Path("workflow/costs.yaml")
EFFICIENCY = 0.85
"""Speed of each of several threads, as a fraction of the speed of a single thread."""


class Cost(Strict):
    """Cost of a stage: one part for each job, and one for each unit of the job's size."""

    unit: str = Field(description="What the stage's size is counted in: event, track, row, ray, collision.")
    job_s: float = Field(ge=0, description="Processor seconds of a job of size 0.")
    unit_ms: float = Field(ge=0, description="Processor milliseconds a unit.")
    alone_ms: float = Field(default=0.0, ge=0, description="Of unit_ms, what one core does alone.")
    job_mb: float = Field(gt=0, description="Peak memory of a job of size 0, MB.")
    unit_kb: float = Field(default=0.0, ge=0, description="Peak memory a unit, kB; 0 if it does not grow.")
    disk_kb: float = Field(default=0.0, ge=0, description="What it writes, scratch included, kB a unit.")

    def cpu_s(self, size: float) -> float:
        """Processor seconds of a job with `size` units."""
        return self.job_s + 1e-3 * self.unit_ms * size

    def alone_s(self, size: float) -> float:
        """Time in s of a job with `size` units in which only one core works."""
        return 1e-3 * self.alone_ms * size

    def wall_s(self, size: float, threads: int) -> float:
        """Time in s of a job with `size` units on a number of cores."""
        if threads == 1:
            return self.cpu_s(size)
        alone = self.alone_s(size)
        return alone + (self.cpu_s(size) - alone) / (EFFICIENCY * threads)


class Margins(Strict):
    """Resources that jobs request beyond the measured ones."""

    snakemake_mb: float = Field(gt=0, description="Memory of the Snakemake processes around a job, MB.")
    snakemake_s: float = Field(gt=0, description="Time from a job's start to that of its command, s.")
    memory: float = Field(ge=1, description="Factor on memory.")
    time: float = Field(ge=1, description="Factor on time, for slower nodes and busy file systems.")
    minutes: int = Field(ge=1, description="The least time to ask for.")


class Costs(Strict):
    """Costs of stages, by rule."""

    origin: str = Field(min_length=1, description="Machine, commit and command of the figures.")
    margins: Margins
    stages: dict[str, Cost]


def load_costs(path: Path) -> Costs:
    """Read the file of costs; a ParkfError names a missing file or an unknown key."""
    return load_document(path, Costs)


def needs(costs: Costs, stage: str, size: Callable[[Any], float] | float) -> dict[str, Callable[..., int]]:
    """Return a rule's ``resources:``; a repeated job requests twice as much each time.

    `size` is the number of units of work in a job, or a function of its wildcards that returns it. An unknown
    `stage` raises a ParkfError. The resources are functions of wildcards and attempt: ``mem_mb`` and, where
    a stage writes more than others, ``disk_mb`` in MB, ``runtime`` in minutes, and ``units``, the size, for
    readers of a run's plan.
    """
    if stage not in costs.stages:
        raise ParkfError(f"costs: no stage {stage!r}; there are {', '.join(sorted(costs.stages))}")
    cost, margins = costs.stages[stage], costs.margins

    def units(wildcards: Any) -> float:
        return size(wildcards) if callable(size) else size

    def doubled(once: Callable[[float], float]) -> Callable[[Any, int], int]:
        return lambda wildcards, attempt: math.ceil(once(units(wildcards))) * 2 ** (attempt - 1)

    disk = {"disk_mb": doubled(lambda count: 100 + margins.memory * (1e-3 * cost.disk_kb * count))}
    return {
        "units": lambda wildcards: math.ceil(units(wildcards)),
        "mem_mb": doubled(
            lambda count: margins.snakemake_mb + margins.memory * (cost.job_mb + 1e-3 * cost.unit_kb * count)
        ),
        # Threads may have to use the same core.
        "runtime": doubled(
            lambda count: max(margins.minutes, margins.time * (margins.snakemake_s + cost.cpu_s(count)) / 60)
        ),
        # Snakemake keeps each resource of each job of a plan in three forms.
        **(disk if cost.disk_kb else {}),
    }
