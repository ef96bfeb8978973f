"""The command line of a benchmark, with its folders and the file that it writes, and stages that it runs."""

import json
import os
import subprocess
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from parkf.io.project import PROJECT

LHCB = PROJECT / "../shared/data/lhcb_fullsim"
"""Ten events of LHCb's full simulation."""


def parser(text: str | None, **folders: str | Path) -> ArgumentParser:
    """Return a parser with `--json`, and with an argument for each of the folders, which have defaults."""
    found = ArgumentParser(description=text, formatter_class=RawDescriptionHelpFormatter)
    for name, default in folders.items():
        found.add_argument(name, nargs="?", type=Path, default=Path(default))
    found.add_argument("--json", type=Path, help="write the figures here")
    return found


def write(path: Path | None, content: Any) -> None:
    """Write figures as JSON where a file is named."""
    if path is not None:
        path.write_text(json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def stage(name: str, **arguments: Any) -> None:
    """Run a stage of a run in this process."""
    getattr(import_module(f"parkf.stages.{name}"), name)(**arguments)


def stage_line(name: str, **arguments: Any) -> list[str]:
    """Return the command line of a stage, in a process of its own."""
    words = [sys.executable, "-m", "parkf.stages", name]
    for key, value in arguments.items():
        values = value if isinstance(value, list) else [value]
        words += [f"--{key}", *(json.dumps(one) if isinstance(one, dict) else str(one) for one in values)]
    return words


def usage_of(line: list[str]) -> tuple[float, float]:
    """Run a command line; return CPU seconds of all its processes, and the peak of the largest in MB."""
    with TemporaryFile() as said:
        process = subprocess.Popen(line, stdout=said, stderr=said)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            said.seek(0)
            raise SystemExit(f"{' '.join(line)} failed:\n{said.read()[-2000:].decode(errors='replace')}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
