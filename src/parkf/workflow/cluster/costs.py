"""The measured costs of stages, from ``workflow/costs.yaml``, and the resources that rules declare."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import Field

from parkf.io.documents.models import Strict, load_document
from parkf.io.errors import ParkfError

COSTS_FILE = Path("workflow/costs.yaml")


class Cost(Strict):
    """Cost of a stage: one part for each job, and one for each unit of the job's size."""

    unit: str = Field(description="What the stage's size is counted in: event, track, row, ray, collision.")
    job_s: float = Field(ge=0, description="Processor seconds of a job of size 0.")
    unit_ms: float = Field(ge=0, description="Processor milliseconds a unit.")
    job_mb: float = Field(gt=0, description="Peak memory of a job of size 0, MB.")
    unit_kb: float = Field(default=0.0, ge=0, description="Peak memory a unit, kB; 0 if it does not grow.")
    disk_kb: float = Field(default=0.0, ge=0, description="What it writes, scratch included, kB a unit.")

    def cpu_s(self, size: float) -> float:
        """Processor seconds of a job with `size` units."""
        return self.job_s + 1e-3 * self.unit_ms * size


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
    a stage writes more than others, ``disk_mb`` in MB, and ``runtime`` in minutes. The executor for HTCondor
    reads these under names of its own, and the time in s.
    """
    if stage not in costs.stages:
        raise ParkfError(f"costs: no stage {stage!r}; there are {', '.join(sorted(costs.stages))}")
    cost, margins = costs.stages[stage], costs.margins

    def doubled(once: Callable[[float], float], factor: int = 1) -> Callable[[Any, int], int]:
        def request(wildcards: Any, attempt: int) -> int:
            units = size(wildcards) if callable(size) else size
            return math.ceil(once(units)) * factor * 2 ** (attempt - 1)

        return request

    def memory(units: float) -> float:
        return margins.snakemake_mb + margins.memory * (cost.job_mb + 1e-3 * cost.unit_kb * units)

    def minutes(units: float) -> float:
        # Threads may have to use the same core.
        return max(margins.minutes, margins.time * (margins.snakemake_s + cost.cpu_s(units)) / 60)

    def disk(units: float) -> float:
        return 100 + margins.memory * 1e-3 * cost.disk_kb * units

    asked = {
        "mem_mb": doubled(memory),
        "htcondor_request_mem_mb": doubled(memory),
        "runtime": doubled(minutes),
        "allowed_execute_duration": doubled(minutes, 60),
    }
    if cost.disk_kb:
        asked |= {"disk_mb": doubled(disk), "htcondor_request_disk_mb": doubled(disk)}
    return asked
