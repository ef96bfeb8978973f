"""Predicts large runs: the workflow's jobs are simulated on some number of cores, with their stages' costs.

Run: python -m benchmarks.replay [--rows 1e9 | --run default] [--cores 2 10 100 1000 10000] [--json FILE]

Snakemake plans the run of a cluster: `paper.yaml` in chunks, with as many crossings as the rows of all steps
need, or the run that is named. Each job declares its size, and `workflow/costs.yaml` holds the cost for that
size. A job starts when its inputs exist, its wait in the queue is over and a core is free; Snakemake's own
start takes this core, too. Jobs on which most other work depends start first. Jobs that the profile of a
Slurm cluster groups wait once, together.
"""

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from graphlib import TopologicalSorter
from typing import Any

from benchmarks.command import parser, write
from benchmarks.plan import ROOT, plan
from parkf.workflow.running.plan import in_order

from parkf.workflow.cluster import COSTS_FILE, load_costs
from parkf.workflow.cluster.schedule import Job, cost_of, listed, replay, seconds_of, to_the_end
from parkf.workflow.config_files import laid, read_layers
from parkf.workflow.run import ROWS_A_CROSSING

CONFIGS = ROOT / "workflow/config"
# Time from the completion of a job's inputs to its start on a node. Snakemake looks at the queue every 10 s,
# so 5 s pass on average; the scheduler and a shared file system take the rest.
LATENCY = 7.5
# Time that a job's core is busy before the job's command: Snakemake starts twice for each, for 1.0 s each.
START = 2.0
# A run no longer scales if less than this fraction of the cores has work.
STOPS = 0.5


def large(rows: float) -> dict[str, Any]:
    """Return the configuration of a run that trains with `rows` rows of all steps together."""
    config = laid(read_layers(CONFIGS / "paper.yaml"))
    crossings = rows / sum(ROWS_A_CROSSING.values())
    config["events"]["training"] = round(crossings / len(config["polarities"]))
    config["training"]["max_rows"] = round(rows)
    return config


def planned(config: Mapping[str, Any], chunk: int, parts: int) -> tuple[list[Job], list[Hashable]]:
    """Let Snakemake plan a run, and assign each job the time that it takes.

    Parameters
    ----------
    config : mapping
        The run's configuration.
    chunk : int
        Crossings in a chunk; for signals, collisions.
    parts : int
        Number of jobs among which the parameter sets of a step are divided.

    Returns
    -------
    list of Job
        Jobs in an order in which each comes after all jobs that it waits for.
    list
        The group of each job; jobs of one group are equal here.
    """
    sizes = {name: config["events"][name] for name in ("training", "validation")}
    sizes["signals"] = config["signals"]["collisions"]
    chunks = {name: max(1, -(-size // chunk)) for name, size in sizes.items()}
    dag = plan(config, chunks | {"sets": parts})
    costs = load_costs(ROOT / COSTS_FILE)
    order = in_order(dag)
    place = {job: number for number, job in enumerate(order)}
    jobs = [
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
    return jobs, [dag.get_job_group(job) or job for job in order]


def submitted(jobs: Sequence[Job], groups: Sequence[Hashable]) -> list[Job]:
    """Join the jobs of each group to one; of those that do not wait for each other, all run at a time."""
    numbers = {group: number for number, group in enumerate(dict.fromkeys(groups))}
    members: list[list[list[Job]]] = [[] for _ in numbers]
    after: list[set[int]] = [set() for _ in numbers]
    levels: list[int] = []
    for job, group in zip(jobs, groups, strict=True):
        own = numbers[group]
        before = {place: numbers[groups[place]] for place in job.after}
        level = max((levels[place] + 1 for place, other in before.items() if other == own), default=0)
        levels.append(level)
        members[own].extend([] for _ in range(level + 1 - len(members[own])))
        members[own][level].append(job)
        after[own] |= set(before.values()) - {own}
    joined = {
        own: replace(
            one[0][0],
            rule="+".join(dict.fromkeys(job.rule for level in one for job in level)),
            seconds=sum(max(job.seconds for job in level) for level in one) + START * len(one),
            cores=max(sum(job.cores for job in level) for level in one),
            memory=max(sum(job.memory for job in level) for level in one),
            alone=one[0][0].alone if len(one) == len(one[0]) == 1 else 0.0,
        )
        for own, one in enumerate(members)
    }
    order = list(TopologicalSorter(dict(enumerate(after))).static_order())
    return listed({own: joined[own] for own in order}, dict(enumerate(after)))


def longest_chain(jobs: Sequence[Job], latency: float) -> Iterator[Job]:
    """Yield the jobs of the longest chain, each of which waits for the one before."""
    longest = to_the_end(jobs, latency)
    following: dict[int, list[int]] = {}
    for number, job in enumerate(jobs):
        for before in job.after:
            following.setdefault(before, []).append(number)
    first = [number for number, job in enumerate(jobs) if not job.after]
    while first:
        number = max(first, key=lambda number: longest[number])
        yield jobs[number]
        first = following.get(number, [])


def critical_path(jobs: Sequence[Job], latency: float) -> dict[str, float]:
    """Seconds of each rule, and of queues, along the longest chain of jobs, in the order of the chain."""
    path: Counter[str] = Counter()
    for job in longest_chain(jobs, latency):
        path[job.rule] += job.seconds
        path["queue"] += latency
    return dict(path)


def stops_scaling(jobs: Sequence[Job], work: float, latency: float) -> int:
    """Find the smallest power of two of cores of which less than half have work; `work` in s on one core."""
    cores = 1
    while work / (cores * replay(jobs, cores, latency)) >= STOPS:
        cores *= 2
    return cores


def table(jobs: Sequence[Job], work: float, cores: Sequence[int], latency: float) -> list[dict[str, float]]:
    """Wall time and fraction of cores at work, by number of cores; `work` is what one core takes, s."""
    walls = {count: replay(jobs, count, latency) for count in cores}
    return [
        {"cores": count, "wall_min": wall / 60, "at_work": work / (count * wall)}
        for count, wall in walls.items()
    ]


def main() -> None:
    """Print how long a run would take."""
    line = parser("Replay the jobs of the workflow with their costs.")
    line.add_argument("--rows", type=float, default=1e9, help="rows of all steps together")
    line.add_argument(
        "--run", help="a run as its configuration is, such as default, instead of one with these rows"
    )
    line.add_argument("--chunk", type=int, default=2000, help="crossings in a chunk")
    line.add_argument("--parts", type=int, default=8, help="jobs that share out a step's parameter sets")
    line.add_argument("--latency", type=float, default=LATENCY, help="seconds in the queue, each job")
    line.add_argument("--cores", type=int, nargs="+", default=[2, 10, 100, 1000, 10_000])
    options = line.parse_args()
    config = laid(read_layers(CONFIGS / f"{options.run}.yaml")) if options.run else large(options.rows)
    jobs, groups = planned(config, options.chunk, options.parts)
    work: Counter[str] = Counter()
    for job in jobs:
        work[job.rule] += job.on(1)
    queued = submitted(jobs, groups)
    lines = table(queued, work.total(), options.cores, options.latency)
    path = critical_path(queued, options.latency)
    stops = stops_scaling(queued, work.total(), options.latency)
    counts = Counter(job.rule for job in jobs)
    what = options.run or f"{options.rows:.3g} rows"
    print(f"{what}, chunks of {options.chunk} crossings, {options.latency:g} s in each queue")
    print(f"{len(jobs)} jobs in {len(queued)} submissions, {work.total() / 3600:.1f} core hours,", end=" ")
    print(f"none above {max(job.memory for job in queued) / 1000:.1f} GB\n")
    print("| cores | wall time (min) | cores at work |\n|---|---|---|")
    for line in lines:
        print(f"| {line['cores']} | {line['wall_min']:.1f} | {100 * line['at_work']:.0f} % |")
    print(f"\nCores for everyone: {sum(path.values()) / 60:.1f} min along the critical path:")
    print(
        f"{options.latency:g} s in a queue, then the work of each of these, which waits for the one above:\n"
    )
    print("| begins at (s) | jobs | cores | work (s) |\n|---|---|---|---|")
    begin = 0.0
    for job in longest_chain(queued, options.latency):
        begin += options.latency
        print(f"| {begin:.0f} | {job.rule} | {job.cores} | {job.seconds:.1f} |")
        begin += job.seconds
    print()
    print(f"Less than half of the cores have work from {stops} cores on.\n")
    print("| rule | jobs | core hours |\n|---|---|---|")
    for rule, seconds in work.most_common():
        print(f"| {rule} | {counts[rule]} | {seconds / 3600:.2f} |")
    write(options.json, {"table": lines, "critical_path_s": path, "stops_scaling": stops, "jobs": counts})


if __name__ == "__main__":
    main()
