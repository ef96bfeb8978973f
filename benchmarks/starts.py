"""The time of every command before its work begins: it runs with an input that does not exist.

By the time a command misses its input, it has loaded everything that it needs. Alignment, field and set do
exist, because commands read them first. For commands that also read other files, the geometry exists as well.
"""

import json
import subprocess
import sys
from pathlib import Path

_INPUTS = {
    "geometry": "data/geometry/run3.yaml",
    "alignment": "data/geometry/alignment_nominal.yaml",
    "SET": "params/2026-run3-like-2-r003",
}
_FROM_NOTHING = ("generate", "generate-signal", "train-table")
# This text runs as a program in the environment of the version that is measured.
_LINES = """
import inspect, json, sys
from parkf.cli.main import app
from typing import Literal, get_args, get_origin, get_type_hints
from typer.models import OptionInfo

def callbacks(app, words=()):
    for command in app.registered_commands:
        name = command.name or command.callback.__name__.strip("_").replace("_", "-")
        yield (*words, name), command.callback
    for group in app.registered_groups:
        own = (group.name,) if isinstance(group.name, str) else ()
        yield from callbacks(group.typer_instance, (*words, *own))

def line(command, callback, inputs, from_nothing):
    if command in from_nothing:
        inputs = {**inputs, "geometry": None}
    options, arguments = [], []
    hints = get_type_hints(callback, include_extras=True)
    for name, parameter in inspect.signature(callback).parameters.items():
        kind, *said = get_args(hints[name]) if hasattr(hints[name], "__metadata__") else (hints[name],)
        said = said[0] if said else None
        if parameter.default is not inspect.Parameter.empty:
            continue
        value = inputs.get(getattr(said, "metavar", None)) or inputs.get(name) or f"missing/{command}/{name}"
        if kind in (int, float):
            value = str(said.min or 1)
        elif get_origin(kind) is Literal:
            value = get_args(kind)[0]
        if isinstance(said, OptionInfo):
            # The first declaration lies where a default would.
            said_first = [said.default] if isinstance(said.default, str) else []
            options += [[*said_first, *said.param_decls, "--" + name.replace("_", "-")][0], value]
        else:
            arguments.append(value)
    return [*options, *arguments]

rest = json.loads(sys.argv[1])
names = {" ".join(words): (words, one) for words, one in callbacks(app)}
print(json.dumps({name: [*words, *line(name, one, *rest)] for name, (words, one) in names.items()}))
"""
# Each command runs in a fork of a process that has loaded the program alone.
_LOADED = """
import json, os, sys
from parkf.cli.main import main
for line in json.loads(sys.argv[1]):
    if not (child := os.fork()):
        break
    os.waitpid(child, 0)
else:
    sys.exit()
told, sys.stdout, sys.argv[1:] = sys.stdout, sys.stderr, line
try:
    main()
except SystemExit:
    pass
print(json.dumps(sorted(sys.modules)), file=told)
"""


def command_lines(python: Path, root: Path, field: Path | None = None) -> dict[str, list[str]]:
    """Arguments of each command line, by the command's name, for a version of parkf.

    Parameters
    ----------
    python : Path
        Interpreter of the version's environment.
    root : Path
        Its checkout.
    field : Path, optional
        A field map. Without one, commands that need it stop when they try to read it.
    """
    inputs = {name: str(root / path) for name, path in _INPUTS.items()}
    if field is not None:
        inputs["field"] = str(field)
    text = json.dumps([inputs, _FROM_NOTHING])
    done = subprocess.run(
        [str(python), "-c", _LINES, text], cwd=root, check=True, capture_output=True, text=True
    )
    lines: dict[str, list[str]] = json.loads(done.stdout)
    return lines


def loaded_modules(lines: list[list[str]], folder: Path) -> list[set[str]]:
    """Modules that each command in this environment has loaded when it misses its input."""
    done = subprocess.run(
        [sys.executable, "-c", _LOADED, json.dumps(lines)],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    )
    return [set(json.loads(told)) for told in done.stdout.splitlines()]
