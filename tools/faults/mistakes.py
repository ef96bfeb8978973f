"""Tries the mistakes and the hostile inputs of mistakes.yaml, and judges the messages.

Run: python -m tools.faults.mistakes --json FILE [--folder FOLDER] [--only WORDS] [--show]

Each case happens in a copy of a small working folder, in a process of its own. A message is complete if
it has what was found, where, what was expected, and what to do. A case is silent if the command ends with 0
and neither warns nor doubts. No message may have a traceback or a byte that a terminal obeys, and nothing may
be left behind.
"""

import argparse
import json
import os
import re
import shlex
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import yaml

from parkf.io.files import write_json

ROOT = Path(__file__).parents[2]
CASES = Path(__file__).with_suffix(".yaml")
OUTCOME = ROOT / "benchmarks/results/mistakes.json"
_PATIENCE_S = 120.0
# Modules are loaded once, before the processes of the cases are forked.
_MODULES = (
    *("parkf.cli.main", "parkf.fit.fitter", "parkf.fit.reference.full", "parkf.workflow.config"),
    *("parkf.simulation.response.simulate", "parkf.simulation.pattern.candidates", "parkf.proof.gates"),
    *("parkf.imports.hits.take", "parkf.imports.field.read", "tools.faults.changes"),
)
# Sentences that name the expected thing, and sentences that say what to do: an imperative behind a stop.
_EXPECTED = re.compile(
    r"expected|did you mean|known here|there (?:are|is)\b(?! no )|should be|MagDown has|is one of|are one of|"
    r"greater than or equal|less than or equal|not one of|at least|at most|valid integer|there twice, first|"
    # "Not a Parquet file as it was written" has what was expected, too.
    r"such as|the manifest says|are free|Possible options|not an? [^:]+ as it was written|not a JSON file",
    re.IGNORECASE,
)
_VERBS = (
    "make|run|write|use|turn|correct|name|give|get|keep|remove|save|repeat|choose|divide|multiply|simulate|add|"
    "set|convert|free|wait|start|fill|check|confirm|swap|exchange|list|read|see|export|import|train|rename|"
    "leave|raise|lower|move|pass|copy|replace|restore|fit|open|upgrade|limit|spell"
)
_REMEDY = re.compile(
    rf"(?:[;:,.]|\bor|\band|\?) (?:then |first )?(?:{_VERBS})\b|--help|did you mean|`parkf |--threads 1",
    re.IGNORECASE,
)
_WARNED = re.compile(r"^(?:warning|doubtful):", re.MULTILINE)
# What a terminal obeys: control characters, marks of direction, and bytes that are no UTF-8.
RAW = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\udc80-\udcff]")


@dataclass(frozen=True)
class Case:
    """A case of the table, with the words that its message must contain."""

    kind: str
    name: str
    change: str
    command: Sequence[str]
    where: str
    what: str


@dataclass(frozen=True)
class Outcome:
    """What a command did: its message, and what is missing from it."""

    kind: str
    name: str
    code: int
    silent: bool
    missing: list[str]
    traceback: bool
    raw: bool
    left: list[str]
    said: str


def read_cases() -> list[Case]:
    """Return all cases."""
    table = yaml.safe_load(CASES.read_text())
    commands: Mapping[str, str] = table["commands"]
    cases = []
    for kind in ("mistakes", "hostile"):
        for name, change, line, where, what in table[kind]:
            first, _, rest = line.partition(" ")
            known = commands[first[1:]] if first.startswith("@") else first
            cases.append(Case(kind, name, change, shlex.split(f"{known} {rest}"), where, what))
    return cases


def begin(folder: Path) -> None:
    """Make the working folder that each case starts from, by parkf's own commands."""
    folder.mkdir(parents=True)
    geometry = "stage {} --geometry data/geometry/run3.yaml"
    generate = f"{geometry} --outputs particles.parquet --events 25 --seeds 1 --pile-up 1"
    simulate = f"{geometry} --particles particles.parquet --states states.parquet --hits hits.parquet"
    simulate += " --alignment alignment.yaml --field field.npz --polarity 1 --seed 1"
    for words in (
        ("init", "."),
        ("field", "data/field/dipole.json", "field.npz", "--spacing", "250"),
        generate.format("generate").split(),
        simulate.format("simulate").split(),
    ):
        code, said, _ = ran(folder, "", words)
        if code:
            raise SystemExit(f"{' '.join(words)}: {said}")
        if words[0] == "init":
            text = "tag: mine\nvelo_halves: {}\nvelo_modules: {}\nut_layers: {}\nscifi_layers: {}\n"
            (folder / "alignment.yaml").write_text(text)
            (folder / "workflow/config/mine.yaml").write_text("extends: default\nrun: mine\n")
    shutil.copy(ROOT / "examples/candidates.parquet", folder)
    # As parkf writes it: with a checksum of the footer.
    code, said, _ = ran(folder, "rows('candidates.parquet', 400)", ("--version",))
    if code:
        raise SystemExit(said)
    shutil.copytree(ROOT / "params/2026-run3-like-2-r005", folder / "set")


def ran(folder: Path, change: str, words: Sequence[str]) -> tuple[int, str, list[str]]:
    """Change a folder and run a command there; return exit code, output, and files that it left."""
    notes = folder.parent / f"{folder.name}.notes"
    said = folder.parent / f"{folder.name}.said"
    sys.stdout.flush()
    if not (child := os.fork()):
        _be(folder, change, words, said, notes)
    until = time.monotonic() + _PATIENCE_S
    while not (ended := os.waitpid(child, os.WNOHANG))[0]:
        if time.monotonic() > until:
            os.killpg(child, signal.SIGKILL)
        time.sleep(0.01)
    code = os.waitstatus_to_exitcode(ended[1])
    text = said.read_bytes().decode(errors="surrogateescape") if said.exists() else ""
    if code == 99:
        raise SystemExit(f"{change}: {text}")
    before = json.loads(notes.read_text())
    after = _files(folder)
    return code, text, sorted(name for name in after if after[name] != before.get(name))


def _be(folder: Path, change: str, words: Sequence[str], said: Path, notes: Path) -> None:
    """Be the process of a case, from its change to its end."""
    code = 99
    try:
        os.setsid()
        os.chdir(folder)
        file = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for stream in (1, 2):
            os.dup2(file, stream)
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", closefd=False, errors="backslashreplace", buffering=1)  # noqa: SIM115
        sys.__stdout__, sys.__stderr__ = sys.stdout, sys.stderr
        from tools.faults import changes

        exec(change, vars(changes))
        notes.write_text(json.dumps(_files(folder)))
        for limit in changes.LATER:
            limit()
        code = _as_program(words)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _as_program(words: Sequence[str]) -> int:
    """Run the command line as the interpreter would; return the exit code. `stage NAME` runs a stage."""
    from parkf.cli.main import main
    from parkf.stages.__main__ import run as run_stage

    sys.argv = ["parkf", *words]
    code = 0
    try:
        code = run_stage(list(words[1:])) if words[0] == "stage" else main() or 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        code = 1
    try:
        sys.stdout.flush()
    except OSError:
        print("Exception ignored in the flush of the output\nTraceback", file=sys.stderr)
        code = 120
    return code


def _files(folder: Path) -> dict[str, list[int]]:
    found = {}
    for path in folder.rglob("*"):
        about = path.lstat()
        if not path.is_dir() or path.is_symlink():
            found[str(path.relative_to(folder))] = [about.st_size, about.st_mtime_ns]
    return found


def judged(case: Case, code: int, said: str, left: list[str]) -> Outcome:
    """Judge what a command printed."""
    lines = [line for line in said.splitlines() if not line.startswith("parkf usage:")]
    errors = [number for number, line in enumerate(lines) if line.startswith("error: ")]
    message = "\n".join(lines[errors[0] :] if errors else lines)
    needed = {
        "what": case.what in message and bool(message),
        "where": case.where in message,
        "expected": bool(_EXPECTED.search(message)),
        "remedy": bool(_REMEDY.search(message)),
    }
    return Outcome(
        kind=case.kind,
        name=case.name,
        code=code,
        silent=code == 0 and not _WARNED.search(said),
        missing=[name for name, there in needed.items() if not there],
        traceback="Traceback" in said,
        raw=bool(RAW.search(said)),
        left=left if code else [],
        said=RAW.sub(lambda found: f"<{ord(found[0]):02x}>", message)[:400],
    )


def table(outcomes: Sequence[Mapping[str, Any]]) -> str:
    """Lay out the counts in Markdown."""
    lines = [
        "| kind | tried | silent | complete messages | tracebacks | raw bytes | files left behind |",
        "|---|---|---|---|---|---|---|",
    ]
    names = {"mistakes": "plausible mistakes", "hostile": "hostile inputs"}
    for kind in names:
        own = [one for one in outcomes if one["kind"] == kind]
        complete = sum(not one["missing"] and not one["silent"] for one in own)
        counts = [sum(bool(one[name]) for one in own) for name in ("traceback", "raw", "left")]
        silent = sum(one["silent"] for one in own)
        cells = [names[kind], len(own), silent, complete, *counts]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, default=OUTCOME)
    parser.add_argument("--folder", type=Path, default=ROOT / "build/mistakes")
    parser.add_argument("--only", default="", help="cases whose name contains this; nothing is written")
    parser.add_argument("--show", action="store_true", help="print each message that is not complete")
    options = parser.parse_args()
    for name in _MODULES:
        import_module(name)
    folder = options.folder.resolve()
    if not (folder / "begin/candidates.parquet").exists():
        shutil.rmtree(folder, ignore_errors=True)
        begin(folder / "begin")
    outcomes = []
    for case in read_cases():
        if options.only not in case.name:
            continue
        here = folder / "case"
        shutil.rmtree(here, ignore_errors=True)
        shutil.copytree(folder / "begin", here, symlinks=True)
        code, said, left = ran(here, case.change, case.command)
        said = said.replace(f"{here}/", "").replace(f"{ROOT}/", "")
        outcomes.append(asdict(judged(case, code, said, left)))
        one = outcomes[-1]
        bad = one["silent"] or one["missing"] or one["traceback"] or one["raw"] or one["left"]
        if options.show and (bad or options.only):
            print(
                f"--- {case.name}: code {code}, {'SILENT ' if one['silent'] else ''}missing {one['missing']}"
                f"{' TRACEBACK' if one['traceback'] else ''}{' RAW' if one['raw'] else ''} {one['left']}\n"
                f"    {one['said']}",
                flush=True,
            )
    print(table(outcomes))
    if not options.only:
        write_json(options.json, {"tried": len(outcomes), "cases": outcomes})


if __name__ == "__main__":
    main()
