"""Writes the table of docs/explanation/faults.md from the cases that were tried.

Run: python -m tools.faults.page
"""

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tools.faults import damage, kills, space

ROOT = Path(__file__).parents[2]
OUTCOME = ROOT / "benchmarks/results/faults.json"
_WORDS = {
    "kill": "the run and all its jobs are killed (SIGKILL)",
    "interrupt": "it is interrupted (Ctrl-C)",
    "terminate": "it is terminated (SIGTERM)",
    "worker killed": "one of its jobs is killed, as for want of memory",
    "power cut": "all is killed, and what Snakemake wrote down in the last five seconds is lost",
    "second run": "a second run is started beside it",
    "flip": "a bit of an intermediate flips",
    "truncate": "the end of an intermediate is lost",
    "empty": "an intermediate is emptied",
    "disk full": "the disk is full while a product is made, one product of each stage",
    "end": "the run that all this was done to, in the end",
}


def table(outcome: Mapping[str, Any]) -> str:
    """Write how many cases of each kind were planned, tried and survived, in Markdown."""
    seed, others = outcome["seed"], outcome["others"]
    planned = Counter(kills.plan(seed, outcome["kills"], others))
    planned += Counter(case.how for case in damage.plan(seed, outcome["damages"]))
    planned += Counter({"disk full": len(space.STAGES), "end": 1})
    lines = ["| what happens | planned | tried | survived |", "|---|---|---|---|"]
    none = {"tried": 0, "survived": 0}
    for kind, words in _WORDS.items():
        got = outcome["kinds"].get(kind, none)
        lines.append(f"| {words} | {planned[kind]} | {got['tried']} | {got['survived']} |")
    lines.append(f"| together | {sum(planned.values())} | {outcome['tried']} | {outcome['survived']} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(json.loads(OUTCOME.read_text())))
