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

# A fork has opened what the process before it has: modules that this one imported, for example.
_OPENED: set[str] = set()


def _audit(event: str, arguments: tuple[object, ...]) -> None:
    if event == "open" and isinstance(arguments[0], str | os.PathLike):
        _OPENED.add(str(arguments[0]))


def _record(folder: Path) -> None:
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
        record = {"calls": calls, "opened": sorted(_OPENED), "arguments": sys.argv}
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


if "PARKF_TRACED" in os.environ:
    sys.addaudithook(_audit)
    if Path(sys.orig_argv[1]).name == "parkf":
        _record(Path(os.environ["PARKF_TRACED"]))
    elif "parkf.workflow.running.ready" in sys.orig_argv:
        # Each fork of this process is a job.
        os.register_at_fork(after_in_child=lambda: _record(Path(os.environ["PARKF_TRACED"])))
