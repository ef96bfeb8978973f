"""Writes the tables of docs/reference/mismatches.md from the cases that were tried.

Run: python -m tools.mismatches.page
"""

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
OUTCOME = ROOT / "benchmarks/results/mismatches.json"
_COLUMNS = ("refused", "named", "passed")


def mistakes(outcome: Mapping[str, Any]) -> str:
    """Write each mistake with its outcome and its first message, in Markdown."""
    lines = ["| mistake | outcome | message |", "|---|---|---|"]
    for case in outcome["cases"]:
        if case["kind"] == "mistake":
            message = case["messages"][0].split(": ", 1)[1] if case["messages"] else ""
            lines.append(f"| {case['what']} | {case['outcome']} | {message} |")
    return "\n".join(lines)


def counts(outcome: Mapping[str, Any]) -> str:
    """Write how many mistakes and honest samples were refused, named or passed."""
    lines = [f"| | tried | {' | '.join(_COLUMNS)} |", "|---|---|---|---|---|"]
    for kind, name in (("mistake", "mistakes"), ("honest", "honest samples")):
        of = Counter(case["outcome"] for case in outcome["cases"] if case["kind"] == kind)
        lines.append(f"| {name} | {of.total()} | {' | '.join(str(of[one]) for one in _COLUMNS)} |")
    return "\n".join(lines)


def costs(outcome: Mapping[str, Any]) -> str:
    """Write the processor times of the comparison and of the fit."""
    lines = ["| candidates | comparison | `parkf fit`, without it | share |", "|---|---|---|---|"]
    for one in outcome["cost"]:
        times = f"{1e3 * one['check']:.1f} ms | {1e3 * one['fit']:.0f} ms"
        lines.append(f"| {one['candidates']:,} | {times} | {100 * one['check'] / one['fit']:.1f} % |")
    return "\n".join(lines)


if __name__ == "__main__":
    content = json.loads(OUTCOME.read_text())
    print(counts(content), mistakes(content), costs(content), sep="\n\n")
