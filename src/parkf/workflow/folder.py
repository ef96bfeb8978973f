"""A working folder: copies of the project's files that a run reads, and a Snakefile that uses its rules."""

import shutil
from pathlib import Path

from parkf.io.files import replacing
from parkf.io.project import PROJECT

_COPIED = ("workflow/config", "workflow/profiles", "data")
_SNAKEFILE = '''\
"""Runs with the rules of the installed parkf: `parkf run smoke`. Rules of your own can follow."""

import sys
from pathlib import Path

# Snakemake looks for modules in this folder first, where a file `random.py` is not that of Python.
sys.path[:] = [place for place in sys.path if not Path(place, "Snakefile").exists()]

from parkf.io.project import PROJECT


include: str(PROJECT / "Snakefile")


# An included Snakefile has no default target.
rule run:
    default_target: True
    input:
        rules.all.input,
'''


def make_folder(folder: Path) -> tuple[list[Path], list[Path]]:
    """Make a working folder, or add its missing files; return the new files, and the files that existed.

    Existing files are never changed.
    """
    files = sorted(file for name in _COPIED for file in (PROJECT / name).rglob("*") if file.is_file())
    sources = {folder / file.relative_to(PROJECT): file for file in files}
    targets = [*sources, folder / "Snakefile"]
    there = [path for path in targets if path.exists()]
    missing = [path for path in targets if path not in there]
    for path in missing:
        with replacing(path) as temporary:
            if path in sources:
                shutil.copyfile(sources[path], temporary)
            else:
                temporary.write_text(_SNAKEFILE, "utf-8")
    return missing, there
