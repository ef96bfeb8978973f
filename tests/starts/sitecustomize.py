"""Starts of Snakemake and parkf that take less time: put this folder on PYTHONPATH.

Python imports a module of this name as it starts. Snakemake then imports only the plug-ins that its command
line and its profile name. All that are installed take a third of the time of its start, and a job of a
cluster starts it twice.

Where the variable PARKF_READY names the socket of a process that is ready (ready.py), a job of Slurm starts
neither Snakemake nor parkf: a fork of that process does the work, and this process waits for it. If
PARKF_READY_FOR is "batch", only the job's first Snakemake is a fork. What Slurm limits is the second one.
"""

import os
import re
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

_PLUGIN = re.compile(r"snakemake_[a-z]+_plugin_(\w+)")


def _named() -> set[str]:
    """Return the words of the command line and of its profile."""
    words = [one for argument in sys.argv for one in argument.split("=", 1)]
    profiles = (folder for option, folder in pairwise(words) if option == "--workflow-profile")
    texts = [*words, *(Path(folder, "profile.yaml").read_text() for folder in profiles)]
    return {name for text in texts for name in re.findall(r"[\w-]+", text)}


_IS_BATCH = "slurm-jobstep" in sys.orig_argv

if {"PARKF_READY", "SLURM_JOB_ID"} <= os.environ.keys() and (
    _IS_BATCH or os.environ.get("PARKF_READY_FOR") != "batch"
):
    name, *words = sys.orig_argv[2:] if sys.orig_argv[1] == "-m" else sys.orig_argv[1:]
    if Path(name).name in ("parkf", "parkf.workflow.running"):
        from parkf.workflow.running import ask

        sys.argv = ["", os.environ["PARKF_READY"], Path(name).name, *words]
        try:
            ask.main()
        except SystemExit as end:
            # Python does not begin otherwise, and takes an exit at this place for an error.
            os._exit(end.code if isinstance(end.code, int) else 1)

# Most processes are no Snakemake, and look for no modules.
_PROGRAMS = ("snakemake", "ready.py", "parkf.workflow.running")
if any(argument.endswith(_PROGRAMS) for argument in sys.orig_argv[1:3]):
    import pkgutil

    found = pkgutil.iter_modules

    def _iter_modules(*arguments: object) -> Iterator[pkgutil.ModuleInfo]:
        named = _named()
        for one in found(*arguments):  # type: ignore[arg-type]
            plugin = _PLUGIN.fullmatch(one.name)
            if plugin is None or plugin[1].replace("_", "-") in named:
                yield one

    pkgutil.iter_modules = _iter_modules  # type: ignore[assignment]
