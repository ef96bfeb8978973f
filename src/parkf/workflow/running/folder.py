"""A working folder: copies of the project's files that a run reads, and a Snakefile that uses its rules."""

import shutil
from pathlib import Path

from parkf.io.files import replacing
from parkf.io.project import PROJECT

_COPIED = ("workflow/config", "data")
_SNAKEFILE = '''\
"""Runs with the rules of the installed parkf: `parkf run smoke`. Rules of your own can follow."""

from parkf.io.project import PROJECT


include: str(PROJECT / "Snakefile")


# An included Snakefile has no default target.
rule run:
    default_target: True
    input:
        rules.all.input,
'''


def make_folder(folder: Path) -> tuple[list[Path], list[Path]]:
    """Make a working folder, or add missing files to one. Existing files are never changed.

    Returns
    -------
    list of Path
        Files that were made.
    list of Path
        Files that existed.
    """
    sources = sorted(file for name in _COPIED for file in (PROJECT / name).rglob("*") if file.is_file())
    texts = {folder / file.relative_to(PROJECT): file for file in sources} | {folder / "Snakefile": None}
    there = [path for path in texts if path.exists()]
    missing = [path for path in texts if path not in there]
    for path in missing:
        source = texts[path]
        with replacing(path) as temporary:
            if source is None:
                temporary.write_text(_SNAKEFILE)
            else:
                shutil.copyfile(source, temporary)
    return missing, there
