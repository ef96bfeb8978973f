"""The graph of a run's rules as data, from Snakemake at the start of the run."""

from pathlib import Path
from typing import Any

from parkf.io.files import write_sealed

# Name of the file in a run's folder.
GRAPH_FILE = "graph.json"


def write_graph(dag: Any, run: Path, prefix: str = "") -> None:
    """Write ``rules.<rule> = {jobs, needs}``: the number of a rule's jobs, and rules whose files they read.

    Rules whose names begin with `prefix` are written without it; other rules are left out. Jobs that have
    already run count, too. A run that does not make the report, for example to publish a set, does not change
    the file. `dag` is Snakemake's graph, `run` the folder of the run.
    """
    rules: dict[str, dict[str, Any]] = {}
    for job in dag.jobs:
        name = job.rule.name
        # The rule `all` only requests the files of other rules.
        if name.startswith(prefix) and name != f"{prefix}all":
            rule = rules.setdefault(name.removeprefix(prefix), {"jobs": 0, "needs": set()})
            rule["jobs"] += 1
            needed = (one.rule.name for one in dag.dependencies[job])
            rule["needs"] |= {one.removeprefix(prefix) for one in needed if one.startswith(prefix)}
    if "report" not in rules and (run / GRAPH_FILE).exists():
        return
    for name, rule in rules.items():
        rule["needs"] = sorted(rule["needs"] - {name})
    write_sealed(run / GRAPH_FILE, {"rules": rules})
