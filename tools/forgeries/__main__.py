"""Tests whether forged, rolled-back and cut registries are refused by both readers, and honest ones by none.

Run: python -m tools.forgeries --json FILE

A registry with four sets and two withdrawals is built and signed. Each case is done to a copy of it, whose
sets are then read in Python and in C++. A case counts as refused if every set that it is about is refused,
and the message has the name of what is wrong. Honest cases count if both readers read all sets.
"""

import argparse
import json
from pathlib import Path
from shutil import copytree
from tempfile import TemporaryDirectory
from typing import Any

from tools.forgeries import readers
from tools.forgeries.cases import CASES, HONEST, Case
from tools.forgeries.registry import World, build


def tried(case: Case, world: World, program: Path, folder: Path) -> dict[str, Any]:
    """Do what a case says, and read the sets: of each reader, whether it refused, and its last message."""
    registry = copytree(world.registry, folder / "params")
    case.act(registry, world)
    sets, trust = [registry / name for name in case.sets], world.registry if case.trust else None
    outcome: dict[str, Any] = {"kind": case.kind, "what": case.what, "by_copy": case.trust}
    for reader, messages in (
        ("python", readers.python(sets, trust)),
        ("cpp", readers.cpp(program, sets, trust)),
    ):
        said = [message for message in messages if message is not None]
        named = any(case.named in message for message in said)
        good = (len(said) == len(sets) and named) if case.named else not said
        # Paths are written from the folder of the case, and of the copy from that of all cases.
        last = said[-1].replace(f"{folder}/", "").replace(f"{folder.parent}/", "../") if said else None
        outcome[reader] = {"good": good, "said": last}
    return outcome


def try_all(folder: Path, cases: tuple[Case, ...] = (*CASES, *HONEST)) -> list[dict[str, Any]]:
    """Try cases in an empty folder."""
    world, program = build(folder), readers.compiled(folder / "cpp")
    outcomes = []
    for number, case in enumerate(cases):
        with TemporaryDirectory(prefix=f"case{number}-", dir=folder) as own:
            outcomes.append(tried(case, world, program, Path(own)))
    return outcomes


def table(outcomes: list[dict[str, Any]]) -> str:
    """Count cases by kind, in Markdown."""
    lines = [
        "| what is forged | cases | only with a copy | right in Python | right in C++ |",
        "|---|---|---|---|---|",
    ]
    for kind in dict.fromkeys(one["kind"] for one in outcomes):
        own = [one for one in outcomes if one["kind"] == kind]
        counts = [len(own), *(sum(bool(f(one)) for one in own) for f in (_copy, _python, _cpp))]
        lines.append(f"| {kind} | {' | '.join(map(str, counts))} |")
    return "\n".join(lines)


def _copy(one: dict[str, Any]) -> bool:
    return bool(one["by_copy"])


def _python(one: dict[str, Any]) -> bool:
    return bool(one["python"]["good"])


def _cpp(one: dict[str, Any]) -> bool:
    return bool(one["cpp"]["good"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, required=True, help="takes the outcome")
    options = parser.parse_args()
    with TemporaryDirectory(prefix="forgeries-") as folder:
        outcomes = try_all(Path(folder))
    options.json.write_text(json.dumps({"cases": outcomes}, indent=1, ensure_ascii=False) + "\n")
    print(table(outcomes))
    for one in outcomes:
        if not (_python(one) and _cpp(one)):
            print(f"WRONG: {one}")


if __name__ == "__main__":
    main()
