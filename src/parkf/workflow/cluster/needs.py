"""Resources that a rule declares, from what its stage costs and how much it has to do."""

import math
from collections.abc import Callable
from typing import Any

from parkf.io.errors import ParkfError
from parkf.workflow.cluster.costs import Costs

Size = Callable[[Any], float]


def needs(costs: Costs, stage: str, size: Size | float) -> dict[str, Callable[..., int]]:
    """Return a rule's ``resources:``; a repeated job asks for twice as much each time.

    Parameters
    ----------
    costs : Costs
        From :func:`parkf.workflow.cluster.load_costs`.
    stage : str
        Its name there.
    size : callable or float
        Units of work in a job, of its wildcards.

    Returns
    -------
    dict
        ``mem_mb`` and ``disk_mb`` in MB, ``runtime`` in minutes: functions of wildcards and attempt. The same
        again under the names that HTCondor's executor knows, the time in seconds. And ``units``, the size,
        for who reads the plan of a run.

    Raises
    ------
    ParkfError
        When the file of costs does not have the stage.
    """
    if stage not in costs.stages:
        raise ParkfError(f"costs: no stage {stage!r}; there are {', '.join(sorted(costs.stages))}")
    cost, margins = costs.stages[stage], costs.margins

    def units(wildcards: Any) -> float:
        return size(wildcards) if callable(size) else size

    def memory(wildcards: Any, attempt: int) -> int:
        once = margins.snakemake_mb + margins.memory * cost.memory_mb(units(wildcards))
        return math.ceil(once) * 2 ** (attempt - 1)

    def minutes(wildcards: Any, attempt: int) -> int:
        # Threads may have to share one core.
        seconds = margins.snakemake_s + cost.cpu_s(units(wildcards))
        return max(margins.minutes, math.ceil(margins.time * seconds / 60)) * 2 ** (attempt - 1)

    def disk(wildcards: Any, attempt: int) -> int:
        return math.ceil(100 + margins.memory * cost.written_mb(units(wildcards))) * 2 ** (attempt - 1)

    return {
        "units": lambda wildcards: math.ceil(units(wildcards)),
        "mem_mb": memory,
        "runtime": minutes,
        "disk_mb": disk,
        "htcondor_request_mem_mb": memory,
        "htcondor_request_disk_mb": disk,
        "allowed_execute_duration": lambda wildcards, attempt: 60 * minutes(wildcards, attempt),
    }
