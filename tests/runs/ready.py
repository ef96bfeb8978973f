"""Snakemake, ready to run: one process imports it for all runs; that takes three times as long as a plan.

It also imports what the rules import. These are modules of the installed package. Where other sources replace
it, another process does the runs, and has imported no more than SymPy.
"""

import json
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

# Modules that the rules import.
_OF_RULES = ("parkf.model.steps", "parkf.workflow.rules", "parkf.training.ghost_score")
# A copy of the process does each run. It has planned nothing, and imported only Snakemake and the arguments.
_SERVE = """
import atexit, gc, importlib, json, os, sys
gc.set_threshold(100_000)
atexit.register(gc.freeze)  # else the interpreter searches all modules at its exit
from snakemake.cli import get_argument_parser, main

for name in sys.argv[1:]:
    importlib.import_module(name)
get_argument_parser()  # finds the plug-ins
gc.freeze()

for line in sys.stdin:
    child = os.fork()
    if child == 0:
        break
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
else:
    sys.exit()

run = json.loads(line)
os.chdir(run["folder"])
os.environ.clear()
os.environ.update(run["environment"])
for number, path in enumerate((os.devnull, *run["said"])):
    os.dup2(os.open(path, os.O_RDWR), number)
if run["source"] is not None:
    # An editable installation finds its modules before any path does.
    sys.meta_path[:] = [one for one in sys.meta_path if "Redirect" not in type(one).__name__]
    sys.path.insert(0, run["source"])
main(run["arguments"])
"""


@cache
def _server(*imported):
    return subprocess.Popen(
        [sys.executable, "-P", "-c", _SERVE, *imported],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def snakemake(*arguments, folder, source=None):
    """Run Snakemake in a folder; return the process that has ended, with its output.

    `source` replaces the package's source.
    """
    server = _server(*(_OF_RULES if source is None else ("sympy",)))
    with tempfile.TemporaryDirectory(prefix="snakemake-") as place:
        said = [Path(place, name) for name in ("stdout", "stderr")]
        for path in said:
            path.touch()
        run = {
            # The server keeps the folder in which it was started.
            "folder": str(Path(folder).absolute()),
            # As the rules do when they are imported: stages find the bytecode of earlier ones.
            "environment": os.environ | {"PYTHONDONTWRITEBYTECODE": ""},
            "said": [str(path) for path in said],
            "source": None if source is None else str(source),
            "arguments": [str(one) for one in arguments],
        }
        print(json.dumps(run), file=server.stdin, flush=True)
        code = int(server.stdout.readline())
        return subprocess.CompletedProcess(arguments, code, *(path.read_text() for path in said))
