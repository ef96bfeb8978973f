"""Records which functions a process calls and which files it opens: put its folder on PYTHONPATH.

Python imports a module of this name as it starts. Each process that runs a command of parkf writes a JSON
file to the folder PARKF_TRACED. Processes that skip Python's cleanup, as forked workers do, write none.
"""

import atexit
import cProfile
import json
import os
import sys
from pathlib import Path


def _record(folder: Path) -> None:
    opened: set[str] = set()

    def audit(event: str, arguments: tuple[object, ...]) -> None:
        if event == "open" and isinstance(arguments[0], str | os.PathLike):
            opened.add(str(arguments[0]))

    sys.addaudithook(audit)
    profile = cProfile.Profile(builtins=False)
    number = os.getpid()

    def write() -> None:
        profile.disable()
        if os.getpid() != number:
            return
        calls = {
            f"{one.code.co_filename}:{one.code.co_firstlineno}": sorted(
                {f"{inner.code.co_filename}:{inner.code.co_firstlineno}" for inner in one.calls or ()}
            )
            for one in profile.getstats()
        }
        record = {"calls": calls, "opened": sorted(opened), "arguments": sys.argv}
        (folder / f"{number}.json").write_text(json.dumps(record))

    atexit.register(write)
    profile.enable()


if "PARKF_TRACED" in os.environ and any(Path(word).name == "parkf" for word in sys.orig_argv[:2]):
    _record(Path(os.environ["PARKF_TRACED"]))
