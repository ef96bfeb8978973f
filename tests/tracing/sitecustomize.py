"""Records which functions a process calls and which files it opens: put its folder on PYTHONPATH.

Python imports a module of this name as it starts. Each process that runs a command of parkf writes a JSON
file to the folder PARKF_TRACED. Processes that skip Python's cleanup, as forked workers do, write none.
"""

import atexit
import cProfile
import json
import os
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType


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
    _leave_out_imports(profile)
    profile.enable()


def _leave_out_imports(profile: cProfile.Profile) -> None:
    """Run the code at the top of modules unrecorded, since it takes as long as all the rest.

    The profile keeps its stack meanwhile, so that it still knows who calls what after the import.
    """
    execute = SourceFileLoader.exec_module

    def exec_module(self: SourceFileLoader, module: ModuleType) -> None:
        # Other threads and imports inside of imports are not recorded anyway.
        recorded = sys.getprofile() is profile
        if recorded:
            sys.setprofile(None)
        try:
            execute(self, module)
        finally:
            if recorded:
                profile.enable()

    SourceFileLoader.exec_module = exec_module  # type: ignore[method-assign]


if "PARKF_TRACED" in os.environ and any(Path(word).name == "parkf" for word in sys.orig_argv[:2]):
    _record(Path(os.environ["PARKF_TRACED"]))
