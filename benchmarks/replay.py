"""Large runs on paper: the workflow's own jobs, started in turn on so many cores, with what each stage costs.

Run: python -m benchmarks.replay [--rows 1e9] [--cores 2 10 100 1000 10000] [--json FILE]

Snakemake plans the run of a cluster: `paper.yaml` with as many crossings as so many rows of all steps
need, in chunks. Jobs declare how large they are, and `workflow/costs.yaml` says what that costs. They start
as soon as what they read is there, they have waited in the queue, and a core is free; those first that most
other work waits for.
"""

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.plan import ROOT, plan

from parkf.workflow.cluster import COSTS_FILE, load_costs
from parkf.workflow.cluster.schedule import Job, cost_of, replay, seconds_of, to_the_end
from parkf.workflow.config_files import laid, read_layers
from parkf.workflow.run import ROWS_A_CROSSING
from parkf.workflow.running.plan import in_order

CONFIG = ROOT / "workflow/config/paper.yaml"
# Between the end of what a job reads and the start of its command: half of the 10 s between two looks at the
# queue, and as much again for the scheduler, a shared file system and Snakemake's own start.
LATENCY = 10.0
# Where less than this share of the cores has work, a run no longer scales.
STOPS = 0.5


def planned(rows: float, chunk: int, parts: int) -> list[Job]:
    """Let Snakemake plan a run, and give each job the time that it costs.

    Parameters
    ----------
    rows : float
        Of all steps together, all of which are trained on.
    chunk : int
        Crossings, of signals collisions, in a chunk.
    parts : int
        Jobs that share out the parameter sets of a step.

    Returns
    -------
    list of Job
        What it waits for comes before each job.
    """
    config = laid(read_layers(CONFIG))
    crossings = rows / sum(ROWS_A_CROSSING.values())
    config["events"]["training"] = round(crossings / len(config["polarities"]))
    config["training"]["max_rows"] = round(rows)
    sizes = {name: config["events"][name] for name in ("training", "validation")}
    sizes["signals"] = config["signals"]["collisions"]
    dag = plan(config, {name: -(-size // chunk) for name, size in sizes.items()} | {"sets": parts})
    costs = load_costs(ROOT / COSTS_FILE)
    order = in_order(dag)
    place = {job: number for number, job in enumerate(order)}
    return [
        Job(
            job.rule.name,
            seconds_of(costs, job),
            job.threads,
            job.resources.get("mem_mb", 0),
            tuple(place[before] for before in dag.dependencies[job]),
            cost_of(costs, job).alone_s(job.resources.get("units", 0)) if job.threads > 1 else 0.0,
        )
        for job in order
    ]


def critical_path(jobs: Sequence[Job], latency: float) -> dict[str, float]:
    """Seconds by rule along the longest chain of jobs, and in queues, in the chain's order."""
    longest = to_the_end(jobs, latency)
    following: dict[int, list[int]] = {}
    for number, job in enumerate(jobs):
        for before in job.after:
            following.setdefault(before, []).append(number)
    first = [number for number, job in enumerate(jobs) if not job.after]
    path: Counter[str] = Counter()
    while first:
        number = max(first, key=lambda number: longest[number])
        path[jobs[number].rule] += jobs[number].seconds
        path["queue"] += latency
        first = following.get(number, [])
    return dict(path)


def stops_scaling(jobs: Sequence[Job], latency: float) -> int:
    """Cores, to the power of two, on which less than half of all cores have work for the first time."""
    work = sum(job.on(1) for job in jobs)
    cores = 1
    while work / (cores * replay(jobs, cores, latency)) >= STOPS:
        cores *= 2
    return cores


def table(jobs: Sequence[Job], cores: Sequence[int], latency: float) -> list[dict[str, float]]:
    """Wall time and the share of cores at work, by number of cores."""
    work = sum(job.on(1) for job in jobs)
    walls = {count: replay(jobs, count, latency) for count in cores}
    return [
        {"cores": count, "wall_min": wall / 60, "at_work": work / (count * wall)}
        for count, wall in walls.items()
    ]


def main() -> None:
    """Print what a run would take."""
    parser = argparse.ArgumentParser(description="Replay the jobs of the workflow with their costs.")
    parser.add_argument("--rows", type=float, default=1e9, help="rows of all steps together")
    parser.add_argument("--chunk", type=int, default=2000, help="crossings in a chunk")
    parser.add_argument("--parts", type=int, default=8, help="jobs that share out a step's parameter sets")
    parser.add_argument("--latency", type=float, default=LATENCY, help="seconds in the queue, each job")
    parser.add_argument("--cores", type=int, nargs="+", default=[2, 10, 100, 1000, 10_000])
    parser.add_argument("--json", type=Path, help="write the figures, too")
    options = parser.parse_args()
    jobs = planned(options.rows, options.chunk, options.parts)
    lines = table(jobs, options.cores, options.latency)
    path = critical_path(jobs, options.latency)
    stops = stops_scaling(jobs, options.latency)
    work: Counter[str] = Counter()
    for job in jobs:
        work[job.rule] += job.on(1)
    counts = Counter(job.rule for job in jobs)
    print(
        f"{options.rows:.3g} rows, chunks of {options.chunk} crossings, {options.latency:g} s in each queue"
    )
    print(f"{len(jobs)} jobs, {sum(work.values()) / 3600:.1f} core hours, none above", end=" ")
    print(f"{max(job.memory for job in jobs) / 1000:.1f} GB\n")
    print("| cores | wall time (min) | cores at work |\n|---|---|---|")
    for line in lines:
        print(f"| {line['cores']} | {line['wall_min']:.1f} | {100 * line['at_work']:.0f} % |")
    print(f"\nCores for everyone: {sum(path.values()) / 60:.1f} min along the critical path:")
    print(", ".join(f"{rule} {seconds:.0f} s" for rule, seconds in path.items()))
    print(f"Less than half of the cores have work from {stops} cores on.\n")
    print("| rule | jobs | core hours |\n|---|---|---|")
    for rule, seconds in work.most_common():
        print(f"| {rule} | {counts[rule]} | {seconds / 3600:.2f} |")
    if options.json:
        content = {"table": lines, "critical_path_s": path, "stops_scaling": stops, "jobs": counts}
        options.json.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
