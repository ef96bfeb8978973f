"""Predicts large runs: the workflow's jobs are simulated on some number of cores, with their stages' costs.

Run: python -m benchmarks.replay [--rows 1e9] [--cores 2 10 100 1000 10000] [--json FILE]

Snakemake plans the run of a cluster: `paper.yaml` in chunks, with as many crossings as the rows of all steps
need. Each job declares its size, and `workflow/costs.yaml` holds the cost for that size. A job starts when
its inputs exist, its wait in the queue is over and a core is free. Jobs on which most other work depends
start first.
"""

from collections import Counter
from collections.abc import Sequence

from benchmarks.command import parser, write
from benchmarks.plan import ROOT, plan

from parkf.workflow.cluster import COSTS_FILE, load_costs
from parkf.workflow.cluster.schedule import Job, cost_of, replay, seconds_of, to_the_end
from parkf.workflow.config_files import laid, read_layers
from parkf.workflow.run import ROWS_A_CROSSING
from parkf.workflow.running.plan import in_order

CONFIG = ROOT / "workflow/config/paper.yaml"
# Time from the completion of a job's inputs to the start of its command. Snakemake looks at the queue every
# 10 s, so 5 s pass on average; the scheduler, a shared file system and Snakemake's start take another 5 s.
LATENCY = 10.0
# A run no longer scales if less than this fraction of the cores has work.
STOPS = 0.5


def planned(rows: float, chunk: int, parts: int) -> list[Job]:
    """Let Snakemake plan a run, and assign each job the time that it takes.

    Parameters
    ----------
    rows : float
        Rows of all steps together; the training uses all of them.
    chunk : int
        Crossings in a chunk; for signals, collisions.
    parts : int
        Number of jobs among which the parameter sets of a step are divided.

    Returns
    -------
    list of Job
        Jobs in an order in which each comes after all jobs that it waits for.
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
    """Seconds of each rule, and of queues, along the longest chain of jobs, in the order of the chain."""
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
    """Find the smallest power of two of cores of which less than half have work."""
    work = sum(job.on(1) for job in jobs)
    cores = 1
    while work / (cores * replay(jobs, cores, latency)) >= STOPS:
        cores *= 2
    return cores


def table(jobs: Sequence[Job], cores: Sequence[int], latency: float) -> list[dict[str, float]]:
    """Wall time and fraction of cores at work, by number of cores."""
    work = sum(job.on(1) for job in jobs)
    walls = {count: replay(jobs, count, latency) for count in cores}
    return [
        {"cores": count, "wall_min": wall / 60, "at_work": work / (count * wall)}
        for count, wall in walls.items()
    ]


def main() -> None:
    """Print how long a run would take."""
    line = parser("Replay the jobs of the workflow with their costs.")
    line.add_argument("--rows", type=float, default=1e9, help="rows of all steps together")
    line.add_argument("--chunk", type=int, default=2000, help="crossings in a chunk")
    line.add_argument("--parts", type=int, default=8, help="jobs that share out a step's parameter sets")
    line.add_argument("--latency", type=float, default=LATENCY, help="seconds in the queue, each job")
    line.add_argument("--cores", type=int, nargs="+", default=[2, 10, 100, 1000, 10_000])
    options = line.parse_args()
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
    write(options.json, {"table": lines, "critical_path_s": path, "stops_scaling": stops, "jobs": counts})


if __name__ == "__main__":
    main()
