"""Mistakes of physics that no test once noticed, and whether the test of each notices it now.

Run: python -m tools.mutants.known --json FILE

Each mistake of known.yaml is made in the memory of a forked process, in which its test then runs. With the
unchanged code, all of these tests must pass.
"""

import argparse
import os
from pathlib import Path

# Before libraries are imported. Whoever imports this module keeps the environment as it is.
if __name__ == "__main__":
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MPLBACKEND": "agg"}

import yaml
from tools.mutants.judges import killer
from tools.mutants.modules import SOURCE, Substitute
from tools.mutants.mutant import ROOT

from parkf.io.files import write_json

KNOWN: list[dict[str, str]] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text())


def mistaken(known: dict[str, str]) -> str:
    """Return the text of a module with a mistake; a ValueError is raised if its place is not found."""
    text, before = (SOURCE / known["file"]).read_text(), known["before"]
    if text.count(before) != 1:
        raise ValueError(f"{known['file']}: expected {before!r} once, found it {text.count(before)} times")
    return text.replace(before, known["after"])


class _Mistaken(Substitute):
    """Imports a module with a mistake."""

    def __init__(self, known: dict[str, str]) -> None:
        super().__init__(known["file"])
        self._code = compile(mistaken(known), self.path, "exec")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, required=True, help="takes the outcome")
    parser.add_argument("--folder", type=Path, default=ROOT / "build/mutants")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    if by := killer(list, sorted({known["test"] for known in KNOWN}), options.folder):
        raise SystemExit(f"{by} fails without a mistake")
    tried = []
    for known in KNOWN:
        by = killer(lambda known=known: [_Mistaken(known)], [known["test"]], options.folder)  # type: ignore[misc]
        tried.append({**known, "killed_by": by})
        print(f"{'noticed ' if by else 'SURVIVED'} {known['what']}: {by}", flush=True)
        write_json(options.json, {"tried": tried, "killed": sum(bool(one["killed_by"]) for one in tried)})


if __name__ == "__main__":
    main()
