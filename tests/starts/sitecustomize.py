"""Starts of Snakemake that take less time: put this folder on PYTHONPATH.

Python imports a module of this name as it starts. Snakemake then imports only the plug-ins that its command
line and its profile name. All that are installed take a third of the time of its start, and a job of a
cluster starts it twice.
"""

import pkgutil
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


# Most processes are no Snakemake, and look for no modules.
if any(argument.endswith("snakemake") for argument in sys.orig_argv[1:4]):
    found = pkgutil.iter_modules

    def _iter_modules(*arguments: object) -> Iterator[pkgutil.ModuleInfo]:
        named = _named()
        for one in found(*arguments):  # type: ignore[arg-type]
            plugin = _PLUGIN.fullmatch(one.name)
            if plugin is None or plugin[1].replace("_", "-") in named:
                yield one

    pkgutil.iter_modules = _iter_modules  # type: ignore[assignment]
