"""A check of a plan's groups whose time grows with the number of jobs; Snakemake's own grows with its square.

A group whose jobs wait for jobs that wait for the group could never start. For each job of a group, Snakemake
looks for such a loop among all jobs that the job waits for. All candidates' fits wait for the whole training:
for 100,000 jobs, these searches take two thirds of the plan.
"""

from graphlib import CycleError, TopologicalSorter
from typing import Any

from snakemake.dag import DAG
from snakemake.exceptions import WorkflowError

_validate, _check = DAG.validate_group, DAG._check_groups


def check_groups_once() -> None:
    """Let the plans of this process be checked with one search; Snakemake's own names the jobs of a loop."""
    DAG.validate_group = _pass
    DAG._check_groups = _check_once


def _pass(dag: Any, group: Any) -> None:
    """Leave the check of a group to that of all groups, which follows."""


def _check_once(dag: Any) -> None:
    # A group counts as one job.
    names = {id(group): group.groupid for group in dag._group.values()}
    one = {job: id(group) for job, group in dag._group.items()}
    graph: TopologicalSorter[Any] = TopologicalSorter()
    for job, before in dag.dependencies.items():
        here = one.get(job, job)
        graph.add(here, *(there for other in before if (there := one.get(other, other)) != here))
    try:
        graph.prepare()
    except CycleError as error:
        for group in set(dag._group.values()):
            _validate(dag, group)
        _check(dag)
        # Snakemake does not see a loop that enters a group at one job and leaves it at another.
        loop = " → ".join(str(names.get(node, node)) for node in error.args[1])
        raise WorkflowError(f"groups wait for each other: {loop}") from None
