"""Tests whether a run ends with the same bytes after kills, damaged files, full disks and second runs.

Run: python -m tools.faults --json FILE [--folder FOLDER] [--only kills damage space] [--cores 1]

A very small run with every stage runs once undisturbed. Then a second run is killed, is interrupted, or meets
another run in its folder. The moments are spread over all of its work, and it continues each time. Files of
the finished run are damaged, and later stages read them. Products are made again on a disk without room for
them. The file records every case, so that a benchmark that was stopped continues. `survived` cases ended with
the undisturbed bytes or, where nothing can be made, with one line that gives the reason.
"""

import argparse
import json
from itertools import zip_longest
from pathlib import Path

from tools.faults import damage, kills, space
from tools.faults.cases import Journal
from tools.faults.forked import load
from tools.faults.project import ROOT, Project

from parkf.io.fingerprints.code_key import code_key

KILLS, OTHERS, DAMAGES = 100, 10, 200
PARTS = ("kills", "damage", "space")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, required=True, help="takes the outcome; what is in it is kept")
    parser.add_argument("--folder", type=Path, default=ROOT / "build/faults", help="for the runs")
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--kills", type=int, default=KILLS)
    parser.add_argument("--others", type=int, default=OTHERS, help="of each other kind")
    parser.add_argument("--damages", type=int, default=DAMAGES)
    parser.add_argument("--cores", type=int, default=1, help="of the undisturbed run")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    options = parser.parse_args()
    folder = options.folder.resolve()
    mounts = space.with_mounts() if "space" in options.only else False
    about = {name: getattr(options, name) for name in ("seed", "kills", "others", "damages")}
    journal = Journal(options.json, about, code_key("parkf.cli.main"))
    load()

    finished = Project.new(folder / "undisturbed")
    undisturbed = finished.run(cores=options.cores)
    if undisturbed.code:
        raise SystemExit(f"the undisturbed run failed:\n{undisturbed.said[-3000:]}")
    work_file = folder / "work.json"
    if not work_file.exists():
        work_file.write_text(json.dumps(finished.work()))
    work = json.loads(work_file.read_text())
    parts = {
        "kills": kills.disturb(
            Project.new(folder / "killed"),
            finished.files(),
            work,
            kills.plan(options.seed, options.kills, options.others),
            journal,
        ),
        "damage": damage.damage(
            finished, folder / "damaged", damage.plan(options.seed, options.damages), journal
        ),
        "space": space.fill(finished, folder / "full", journal) if mounts else iter(()),
    }
    # The kinds alternate, so that some cases of each were tried even if the benchmark is stopped early.
    for _ in zip_longest(*(cases for part, cases in parts.items() if part in options.only)):
        pass
    if "space" in options.only and not mounts:
        print("disk full: not tried: no right to mount a file system here")
    tried, survived = len(journal.cases), sum(case.survived for case in journal.cases)
    print(f"{survived} of {tried} survived; {options.json}")


if __name__ == "__main__":
    main()
