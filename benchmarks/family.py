"""The time of a family of alignments, compared with one run; both begin without any results.

Run: python -m benchmarks.family [--json FILE] [--members 8] [--base CONFIG] [--apart]

Each member has another alignment, drawn at random with the width below. The first member is trained and
measured in full. The others use its results as `workflow/config/families/alignments.yaml` says; with --apart
they are trained in full, too. The base's run and then the family run in one folder, on all cores. Nothing
else should run meanwhile.

The file holds ``one`` and ``family``, both ``{wall_s, cpu_s}``; ``members``; ``ratio``, the family's time
over the time of one run; and ``cpu_ratio``, which depends little on other programs on the machine.
"""

import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import yaml
from benchmarks.command import parser

from parkf.io.files import write_json

ROOT = Path(__file__).parents[1]
SNAKEMAKE = Path(sys.executable).with_name("snakemake")
# mm: how far layers move from one alignment to the next.
WIDTH = 0.05
SEED = 14
FIRST = "results/family.a0"
# Settings of all members but the first.
BESIDE = {
    "training": {"neighbour": FIRST},
    "misalignment": {"scifi_module": 0, "scifi_mat": 0},
    "fits": {"of": ["parkf", "parkf_robust", "full"]},
}


def alignment(number: int) -> dict[str, Any]:
    """Draw an alignment: each SciFi layer and each half of the VELO moves in x."""
    random = np.random.Generator(np.random.Philox(key=[SEED, number]))
    layers = {layer: {"x": float(round(random.normal(0, WIDTH), 4))} for layer in range(12)}
    halves = {side: {"x": float(round(random.normal(0, WIDTH), 4))} for side in ("left", "right")}
    return {
        "tag": f"drawn-{number}",
        "velo_halves": halves,
        "velo_modules": {},
        "ut_layers": {},
        "scifi_layers": layers,
    }


def timed(folder: Path, snakefile: str, config: Path) -> dict[str, float]:
    """Run a workflow to its end; return its wall-clock time, and the processor time of all processes, s."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    profile = ROOT / "workflow/profiles/local"
    command = [
        SNAKEMAKE,
        "--snakefile",
        ROOT / snakefile,
        "--workflow-profile",
        profile,
        "--directory",
        folder,
    ]
    done = subprocess.run(
        [*map(str, command), "--cores", str(os.cpu_count()), "--configfile", str(config)],
        env={**os.environ, "PATH": f"{SNAKEMAKE.parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    took = time.perf_counter() - begin
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"wall_s": took, "cpu_s": spent}


def prepare(folder: Path, base: str, members: int, *, apart: bool) -> None:
    """Write the configurations and alignments of the one run and of the family."""
    (folder / "data").symlink_to(ROOT / "data")
    (folder / "workflow").symlink_to(ROOT / "workflow")
    conditions: dict[str, dict[str, Any]] = {}
    for number in range(members):
        name = f"a{number}"
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(alignment(number)), "utf-8")
        conditions[name] = {"detector": {"alignment": f"{name}.yaml"}}
        if number and not apart:
            conditions[name] |= BESIDE
    family = {"family": "family", "base": base, "conditions": conditions}
    (folder / "family.yaml").write_text(yaml.safe_dump(family, sort_keys=False), "utf-8")


def main() -> None:
    """Time both, print and write."""
    line = parser(__doc__)
    line.add_argument("--members", type=int, default=8)
    line.add_argument("--base", default="workflow/config/default.yaml", help="configuration of all members")
    line.add_argument("--apart", action="store_true", help="all members trained and measured in full")
    asked = line.parse_args()
    with TemporaryDirectory(prefix="parkf-benchmark-") as name:
        folder = Path(name)
        prepare(folder, asked.base, asked.members, apart=asked.apart)
        one = timed(folder, "Snakefile", ROOT / asked.base)
        print(f"one run: {one['wall_s']:.0f} s, {one['cpu_s']:.0f} s of the processors", flush=True)
        # Otherwise the members would reuse results that they have in common with this run.
        shutil.rmtree(folder / "results")
        family = timed(folder, "workflow/family.smk", folder / "family.yaml")
    ratio, cpu_ratio = (family[name] / one[name] for name in ("wall_s", "cpu_s"))
    print(
        f"{asked.members} members: {family['wall_s']:.0f} s, {family['cpu_s']:.0f} s: {ratio:.2f} times one, "
        f"{cpu_ratio:.2f} times its processor time"
    )
    if asked.json:
        content: dict[str, Any] = {"one": one, "family": family, "members": asked.members}
        content |= {"ratio": ratio, "cpu_ratio": cpu_ratio}
        write_json(asked.json, content)


if __name__ == "__main__":
    main()
