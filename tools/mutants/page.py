"""Writes the tables of mutants in docs/explanation/mutants.md.

Run: python -m tools.mutants.page
"""

import json
from collections.abc import Mapping
from typing import Any

from tools.mutants.mutant import ROOT

OUTCOME = ROOT / "benchmarks/results/mutants.json"
OUTCOME_OF_KNOWN = ROOT / "benchmarks/results/known_mistakes.json"


def table(outcome: Mapping[str, Any]) -> str:
    """Write how many mutants of each room were tried and killed, in Markdown."""
    lines = ["| room | tried | killed | equivalent | score |", "|---|---|---|---|---|"]
    for room, score in (*outcome["areas"].items(), ("together", outcome)):
        counts = " | ".join(str(score[name]) for name in ("mutants", "killed", "equivalent"))
        lines.append(f"| {room} | {counts} | {100 * score['score']:.0f} % |")
    return "\n".join(lines)


def known_table(outcome: Mapping[str, Any]) -> str:
    """Write which test has noticed each known mistake, in Markdown."""
    rows = (f"| {one['what']} | {one['killed_by'].partition('::')[2]} |" for one in outcome["tried"])
    return "\n".join(("| mistake | noticed by |", "|---|---|", *rows))


if __name__ == "__main__":
    print(table(json.loads(OUTCOME.read_text())))
    print(known_table(json.loads(OUTCOME_OF_KNOWN.read_text())))
