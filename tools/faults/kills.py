"""Kills a run again and again at random moments; it has to end with the bytes of an undisturbed one.

Run: python -m tools.faults.kills --json benchmarks/results/faults.json [--runs 20] [--plain 10]

A small run with every stage is started by `parkf run`, as `make run` does, and killed. It is started again
and goes on, until it was killed `--runs` times. Another one is started by Snakemake itself, and killed
`--plain` times. The moment comes when up to three more stages have ended, and some seconds have passed.
Then no process may be left, and in the end no unfinished file, scratch or lock.
"""

import argparse
import os
import random
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tools.faults.project import ROOT, Project

from parkf.io.files import write_json
from parkf.io.ledger import Ledger

KINDS = {
    "leader": "the leading process is killed (SIGKILL)",
    "process": "one of its processes is killed, as for want of memory",
    "terminate": "all are terminated (SIGTERM)",
    "interrupt": "all are interrupted (Ctrl-C)",
}
STARTERS = {False: "`parkf run`", True: "`snakemake`"}
_MOST_STAGES, _MOST_S = 3, 5.0
# What a killed process has started ends by itself within this time, s.
_PATIENCE_S = 15.0


def kill(project: Project, kind: str, draw: random.Random, *, plain: bool) -> dict[str, Any] | None:
    """Start the run, and kill it at a random moment; None if it has ended before."""
    stages, seconds, number = draw.randint(0, _MOST_STAGES), draw.uniform(0, _MOST_S), draw.random()
    before = _ended(project)
    run = project.start(plain=plain)
    while _ended(project) < before + stages and run.poll() is None:
        time.sleep(0.05)
    try:
        run.wait(seconds)
        return None
    except subprocess.TimeoutExpired:
        pass
    if kind in ("terminate", "interrupt"):
        os.killpg(run.pid, signal.SIGTERM if kind == "terminate" else signal.SIGINT)
    elif kind == "process":
        all_of_it = project.processes()
        all_of_it[int(number * len(all_of_it))].kill()
    else:
        run.kill()
    code, begin = project.end(run).code, time.monotonic()
    left, waited = project.left(_PATIENCE_S), round(time.monotonic() - begin, 1)
    case = {"by": STARTERS[plain], "kind": kind, "stages": before, "code": code}
    return case | {"all_ended_after_s": waited, "left": left}


def finished(project: Project, undisturbed: Mapping[str, str], *, plain: bool) -> dict[str, Any]:
    """Start the run until it ends, and compare it with the undisturbed one."""
    ended = project.run(plain=plain)
    left, files = project.left(_PATIENCE_S), project.files()
    differ = sorted(name for name in {*files, *undisturbed} if files.get(name) != undisturbed.get(name))
    return {
        **{"by": STARTERS[plain], "code": ended.code, "said": ended.said[-500:] if ended.code else ""},
        **{"products": len(files), "differ": differ, "left": left, "leftovers": project.leftovers()},
        "verified": project.run("verify", f"results/{project.results.name}").code == 0,
    }


def passed(outcome: Mapping[str, Any]) -> bool:
    """Whether all runs ended with the undisturbed bytes, and left nothing.

    A killed Snakemake leaves an empty folder of its own in TMPDIR, which is not counted.
    """
    return not any(one["left"] for one in (*outcome["kills"], *outcome["ends"])) and all(
        one["verified"]
        and not (one["code"] or one["differ"])
        and all(name.startswith("tmp/snakemake") for name in one["leftovers"])
        for one in outcome["ends"]
    )


def table(outcome: Mapping[str, Any]) -> str:
    """Write the number of kills of each kind, and of those that left a process, in Markdown."""
    lines = ["| what happens | by `parkf run` | by `snakemake` | a process is left |", "|---|---|---|---|"]
    for kind, words in {**KINDS, "": "together"}.items():
        cases = [one for one in outcome["kills"] if kind in ("", one["kind"])]
        counts = (sum(one["by"] == by for one in cases) for by in STARTERS.values())
        lines.append(
            "| " + " | ".join([words, *map(str, counts), str(sum(bool(c["left"]) for c in cases))]) + " |"
        )
    return "\n".join(lines)


def _ended(project: Project) -> int:
    return sum(bool(entry.stage) for entry in Ledger(project.results).entries())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, required=True, help="takes the outcome")
    parser.add_argument("--folder", type=Path, default=ROOT / "build/faults", help="for the runs")
    parser.add_argument("--runs", type=int, default=20, help="kills of runs by `parkf run`")
    parser.add_argument("--plain", type=int, default=10, help="kills of runs by Snakemake itself")
    parser.add_argument("--seed", type=int, default=2026)
    options = parser.parse_args()
    folder, draw = options.folder.resolve(), random.Random(options.seed)
    project = Project(folder / "undisturbed")
    if (ended := project.run()).code:
        raise SystemExit(f"the undisturbed run failed:\n{ended.said}")
    undisturbed = project.files()
    outcome: dict[str, Any] = {"seed": options.seed, "kills": [], "ends": []}
    for plain, count in ((False, options.runs), (True, options.plain)):
        project, killed = Project(folder / "killed"), 0
        while killed < count:
            case = kill(project, list(KINDS)[killed % len(KINDS)], draw, plain=plain)
            if case is None:
                outcome["ends"].append(finished(project, undisturbed, plain=plain))
                project = Project(folder / "killed")
                continue
            killed += 1
            outcome["kills"].append(case)
            print(case, flush=True)
        outcome["ends"].append(finished(project, undisturbed, plain=plain))
        print(outcome["ends"][-1], flush=True)
    write_json(options.json, outcome)
    print(table(outcome))
    if not passed(outcome):
        raise SystemExit("error: not all runs ended with the undisturbed bytes, or something is left")


if __name__ == "__main__":
    main()
