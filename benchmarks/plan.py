"""The jobs that Snakemake would run for a configuration, with their resources and dependencies.

Run: python -m benchmarks.plan [--jobs 1e3 1e4 1e5] [--json FILE]

This plans runs of as many jobs as on a cluster, each in a process of its own. It prints the number of jobs,
the processor time from Snakemake's start to the start of the first job, and the largest memory. The time
includes the content of each job's file, and the predicted time of the run.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from benchmarks.command import parser, write
from parkf.workflow.running.plan import in_order
from parkf.workflow.running.plan import plan as planned
from parkf.workflow.running.rules import planned as described

from parkf.workflow.cluster import COSTS_FILE, load_costs
from parkf.workflow.cluster.schedule import Job, listed, replay, seconds_of
from parkf.workflow.config_files import laid, read_layers

ROOT = Path(__file__).parents[1]
# Crossings in a chunk; for signals, collisions.
CHUNK = 2000
PARTS = 8
# Jobs of a run for each of its chunks, and jobs that do not depend on their number.
JOBS_A_CHUNK, OTHER_JOBS = 60, 130


def plan(config: Mapping[str, Any], chunks: Mapping[str, int]) -> Any:
    """Plan a run from nothing, as on a cluster.

    Parameters
    ----------
    config : mapping
        The run's configuration.
    chunks : mapping of str to int
        Number of chunks of each kind, as for `--set-scatter`.

    Returns
    -------
    snakemake.dag.DAG
        The jobs, and the jobs that each of them waits for.
    """
    profile = yaml.safe_load((ROOT / "workflow/profiles/slurm/profile.yaml").read_text())
    # There must be at least as many cores as any rule has threads.
    resources = {
        "cores": 1024,
        "overwrite_threads": profile["set-threads"],
        "overwrite_scatter": dict(chunks),
    }
    with tempfile.TemporaryDirectory(prefix="parkf-plan-") as name:
        folder = Path(name)
        (folder / "data").symlink_to(ROOT / "data")
        (folder / "config.yaml").write_text(yaml.safe_dump(dict(config)))
        groups = {
            "overwrite_groups": profile["groups"],
            "group_components": profile["group-components"],
        }
        return planned(ROOT / "Snakefile", folder / "config.yaml", folder, resources, groups=groups)


def wide(chunks: int) -> tuple[dict[str, Any], dict[str, int]]:
    """Return a configuration whose samples have as many chunks, and the number of chunks of each kind."""
    config = laid(read_layers(ROOT / "workflow/config/default.yaml"))
    config["events"] |= {"training": chunks * CHUNK, "validation": chunks * CHUNK}
    config["signals"]["collisions"] = chunks * CHUNK
    return config, {"training": chunks, "validation": chunks, "signals": chunks, "sets": PARTS}


def measured(chunks: int) -> dict[str, float]:
    """Plan a run with as many chunks of each sample, and measure it."""
    begin = time.process_time()
    dag = plan(*wide(chunks))
    jobs, costs = in_order(dag), load_costs(ROOT / COSTS_FILE)
    for job in jobs:
        described(job)
    timed = {job: Job(job.rule.name, seconds_of(costs, job), job.threads) for job in jobs}
    replay(listed(timed, dag.dependencies), 1000, 0.0)
    used = time.process_time() - begin
    return {"jobs": len(jobs), "cpu_s": used, "mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3}


def table(lines: Sequence[Mapping[str, float]]) -> str:
    """Write measurements as a table in Markdown."""
    rows = (f"| {line['jobs']:.0f} | {line['cpu_s']:.1f} | {line['mb']:.0f} |" for line in lines)
    return "\n".join(["| jobs | processor time (s) | memory (MB) |", "|---|---|---|", *rows])


def main() -> None:
    """Print the measurements of runs of several sizes."""
    line = parser("Measure how long the plans of large runs take.")
    line.add_argument("--jobs", type=float, nargs="+", default=[1e3, 1e4, 1e5])
    options = line.parse_args()
    lines = []
    for jobs in options.jobs:
        chunks = max(1, round((jobs - OTHER_JOBS) / JOBS_A_CHUNK))
        code = f"import json; from benchmarks.plan import measured; print(json.dumps(measured({chunks})))"
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
        )
        lines.append(json.loads(done.stdout.splitlines()[-1]))
    print(table(lines))
    write(options.json, {"plans": lines})


if __name__ == "__main__":
    main()
