"""Puts wrong files into a finished run; `parkf verify` and the run have to name them, and to put them right.

Run: python -m tools.faults.swaps --json benchmarks/results/swaps.json [--count 60]

A small run with every stage is finished; so are a run of another seed, and the same run with an earlier
configuration. Products are replaced by others, removed or damaged, several in each round. Then `parkf verify`
has to name each of them, and so has the run, which must end with the bytes that it had before.
"""

import argparse
import json
import random
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tools.faults.project import ROOT, RUN, Project, configuration

from parkf.io.files import sha256, write_json
from parkf.io.ledger import Ledger

KINDS = {
    "another": "another product of the run",
    "other run": "the same product of another run",
    "earlier": "the product of an earlier configuration",
    "missing": "no file",
    "truncated": "half of the file",
    "flipped": "the file with one bit flipped",
    "link": "a link to nowhere",
    "no line": "the right file, without its line in the ledger",
    "other line": "the right file, with the line of another run",
}
_OTHER = "other"
_PER_ROUND = 10
_HERE = f"results/{RUN}"


def prepare(folder: Path) -> tuple[Project, Path]:
    """Finish all runs; return their project, and the folder of the earlier products."""
    project, earlier = Project(folder / "runs"), folder / "earlier"
    project.configure(configuration(rays=12_000))
    project.configure(configuration(_OTHER, seed=1))
    _finished(project, RUN)
    shutil.rmtree(earlier, ignore_errors=True)
    shutil.copytree(project.results, earlier)
    project.configure(configuration())
    _finished(project, RUN)
    _finished(project, _OTHER, "validate")
    return project, earlier


def _finished(project: Project, *words: str) -> None:
    if (ended := project.run("run", *words, "--cores", "2")).code:
        raise SystemExit(f"the undisturbed run failed:\n{ended.said}")


def plan(draw: random.Random, count: int, project: Project, earlier: Path) -> Iterator[list[tuple[str, str]]]:
    """Yield rounds of cases: kinds in turn, with a product whose stage is not in the round yet."""
    entries = {name: entry for name, entry in _entries(project).items() if name in project.files()}
    for begin in range(0, count, _PER_ROUND):
        here: list[tuple[str, str]] = []
        stages: list[str] = []
        names = draw.sample(sorted(entries), len(entries))
        for number in range(begin, min(begin + _PER_ROUND, count)):
            kind = list(KINDS)[number % len(KINDS)]
            fits = (one for one in names if entries[one].key not in stages)
            name = next(one for one in fits if _is_possible(kind, one, project, earlier))
            stages.append(entries[name].key)
            here.append((kind, name))
        yield here


def _is_possible(kind: str, name: str, project: Project, earlier: Path) -> bool:
    if kind == "other line":
        return name in _entries(project, _OTHER)
    source = _source(kind, name, project, earlier)
    return source is None or (source.is_file() and sha256(source) != sha256(project.results / name))


def _source(kind: str, name: str, project: Project, earlier: Path) -> Path | None:
    return {"earlier": earlier / name, "other run": project.results.with_name(_OTHER) / name}.get(kind)


def _entries(project: Project, run: str = RUN) -> dict[str, Any]:
    latest = Ledger(project.results.with_name(run)).latest()
    return {path.removeprefix(f"results/{run}/"): entry for path, entry in latest.items()}


def disturb(kind: str, name: str, project: Project, earlier: Path, draw: random.Random) -> None:
    """Put a wrong file in the place of a product, or a wrong line in the place of its own."""
    path = project.results / name
    content, source = path.read_bytes(), _source(kind, name, project, earlier)
    if kind in ("no line", "other line"):
        _disturb_ledger(kind, name, project)
        return
    if kind == "flipped":
        # In place, as a fault of a disk: the store has the same file.
        place = draw.randrange(len(content))
        with path.open("r+b") as file:
            file.seek(place)
            file.write(bytes([content[place] ^ 1 << draw.randrange(8)]))
        return
    if kind == "another":
        same = (project.results / one for one in project.files() if Path(one).suffix == path.suffix)
        source = draw.choice([one for one in same if one.read_bytes() != content])
    # A file of a run is never changed in place: the store shares it.
    path.unlink()
    if source is not None:
        shutil.copyfile(source, path)
    elif kind == "truncated":
        path.write_bytes(content[: len(content) // 2])
    elif kind == "link":
        path.symlink_to("nowhere")


def _disturb_ledger(kind: str, name: str, project: Project) -> None:
    ledger, other = Ledger(project.results).path, Ledger(project.results.with_name(_OTHER)).path
    kept = [
        one
        for one in ledger.read_text("utf-8").splitlines()
        if f"{_HERE}/{name}" not in json.loads(one)["outputs"]
    ]
    if kind == "other line":
        theirs = (
            one.replace(f"results/{_OTHER}/", f"{_HERE}/") for one in other.read_text("utf-8").splitlines()
        )
        kept.append([one for one in theirs if f"{_HERE}/{name}" in json.loads(one)["outputs"]][-1])
    ledger.write_text("\n".join(kept) + "\n", "utf-8")


def tried(
    here: list[tuple[str, str]], undisturbed: Mapping[str, str], project: Project
) -> list[dict[str, Any]]:
    """Verify a disturbed run, start it, and return what each command said of each product."""
    verified, ended, files = project.run("verify", _HERE), project.run(), project.files()
    again = project.run("verify", _HERE)
    wrong = sorted(name for name in {*files, *undisturbed} if files.get(name) != undisturbed.get(name))
    print(f"{len(here)} products, code {ended.code}, wrong afterwards: {wrong}, verified: {not again.code}")
    cases: list[dict[str, Any]] = []
    for kind, name in here:
        said = {"verify": verified.line(f"{_HERE}/{name}"), "run": ended.line(f"{_HERE}/{name}")}
        right = name not in wrong and again.code == ended.code == 0
        cases.append({"kind": kind, "product": name, **said, "code": ended.code, "right": right})
    return cases


def table(outcome: Mapping[str, Any]) -> str:
    """Write how many cases of each kind were tried, named and right afterwards, in Markdown."""
    lines = [
        "| what is there | tried | named by `verify` | named by the run | right afterwards |",
        "|---" * 5 + "|",
    ]
    for kind, words in {**KINDS, "": "together"}.items():
        cases = [case for case in outcome["cases"] if kind in ("", case["kind"])]
        counts = [len(cases), *(sum(bool(case[key]) for case in cases) for key in ("verify", "run", "right"))]
        lines.append("| " + " | ".join([words, *map(str, counts)]) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, required=True, help="takes the outcome")
    parser.add_argument("--folder", type=Path, default=ROOT / "build/swaps", help="for the runs")
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--count", type=int, default=60)
    options = parser.parse_args()
    folder, draw = options.folder.resolve(), random.Random(options.seed)
    project, earlier = prepare(folder)
    undisturbed = project.files()
    cases: list[dict[str, Any]] = []
    for here in plan(draw, options.count, project, earlier):
        for kind, name in here:
            disturb(kind, name, project, earlier, draw)
        cases += tried(here, undisturbed, project)
        write_json(options.json, {"seed": options.seed, "cases": cases})
    print(table({"cases": cases}))
    if failed := [one for one in cases if not (one["verify"] and one["run"] and one["right"])]:
        raise SystemExit(f"error: not named, or not right afterwards: {json.dumps(failed, indent=1)}")


if __name__ == "__main__":
    main()
