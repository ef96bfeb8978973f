"""Measures what the command line prints: help, texts of arguments, and a whole run off a terminal.

    python -m tools.output [--json benchmarks/results/output.json]

The run is `parkf run smoke` in a new folder; it takes some minutes.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

from parkf.cli.main import app

ROOT = Path(__file__).parents[1]
PARKF = Path(sys.executable).with_name("parkf")
MOST_LINES, WIDEST = 60, 120


def commands(group: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Yield every command below a group with its name."""
    for name, command in getattr(group, "commands", {}).items():
        yield " ".join((*words, name)), command
        yield from commands(command, (*words, name))


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", type=Path)
    to = parser.parse_args().json
    known = list(commands(get_command(app)))
    parameters = [one for _, command in known for one in command.params]
    shown = subprocess.run([PARKF, "--help"], capture_output=True, text=True, check=True).stdout
    with tempfile.TemporaryDirectory() as name:
        for folder in ("data", "workflow", "params"):
            (Path(name) / folder).symlink_to(ROOT / folder)
        words = [PARKF, "run", "smoke"]
        done = subprocess.run(words, cwd=name, capture_output=True, text=True, check=False)
        lines = (done.stderr + done.stdout).splitlines()
        logs = [line for line in lines if line.endswith("snakemake.txt")]
    measured: dict[str, Any] = {
        "commands": len(known),
        "lines of --help": len(shown.splitlines()),
        "arguments and options": len(parameters),
        "of these without a text": sum(not one.help for one in parameters),
        "exit code of a run off a terminal": done.returncode,
        f"its lines (at most {MOST_LINES})": len(lines),
        f"its longest line (at most {WIDEST})": max(map(len, lines)),
        "its lines about schedulers": sum("condor" in line.lower() for line in lines),
        "its lines that name the log": len(logs),
    }
    for what, value in measured.items():
        print(f"{what:40}{value}")
    if to is not None:
        to.write_text(json.dumps(measured | {"output": lines}, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
