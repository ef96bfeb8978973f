"""Measures how runs and fits end: killed leaders, terminated runs, interrupted fits.

Run: python -m tools.faults.endings --json FILE [--kills 100] [--terms 20] [--interrupts 20] [--folder FOLDER]

A run of Snakemake with two jobs at work and one that ignores signals is led as `parkf supervise` leads it.
Its leader alone is killed at a random moment, and two seconds later no process of the run may be left.
SIGTERM must end such a run within ten seconds. Ctrl-C must end a fit of many tracks within 0.2 s. This time
is the processor time of the fit from the signal to the exception. A fit by one thread never waits, except for
a processor that another program has, so that on an idle machine this is the time that passes. The file has
each time in s; a benchmark that was stopped continues.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import time
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from parkf.workflow.running.lock import VARIABLE

from parkf.io.files import write_json

ROOT = Path(__file__).parents[2]
OUTCOME = ROOT / "benchmarks/results/endings.json"
_AFTER_KILL_S, _AFTER_TERM_S, _AFTER_INTERRUPT_S = 2.0, 10.0, 0.2
_PATIENCE_S = 60.0
_TRACKS = 10_000_000
_SET = ROOT / "params/2026-run3-like-2-r005"
_SNAKEFILE = f"""
rule all:
    input: "results/run/one", "results/run/two", "results/run/deaf"

rule work:
    output: "results/run/{{name}}"
    wildcard_constraints: name="one|two"
    shell: "touch begun.{{wildcards.name}}; {sys.executable} -c 'import time; time.sleep(600)'"

rule deaf:
    output: "results/run/deaf"
    shell:
        "touch begun.deaf; {sys.executable} -c 'import signal, time;"
        " [signal.signal(s, signal.SIG_IGN) for s in (signal.SIGINT, signal.SIGTERM)]; time.sleep(600)'"
"""
_NAMES = ("one", "two", "deaf")


def begun(folder: Path) -> subprocess.Popen[bytes]:
    """Start the run, and wait until its jobs are at work."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "Snakefile").write_text(_SNAKEFILE)
    for name in _NAMES:
        (folder / f"begun.{name}").unlink(missing_ok=True)
    # Programs of their own: a forked workflow would hold the pipe by which a leader's death is noticed.
    snakemake = [sys.executable, "-m", "snakemake", "--nolock", "--rerun-incomplete", "--cores", "3"]
    with (folder / "said").open("w") as said:
        run = subprocess.Popen(
            [Path(sys.executable).with_name("parkf"), "supervise", "results/run", "--", *snakemake],
            cwd=folder,
            stdout=said,
            stderr=said,
            start_new_session=True,
        )
    until = time.monotonic() + _PATIENCE_S
    while not all((folder / f"begun.{name}").exists() for name in _NAMES):
        if time.monotonic() > until or run.poll() is not None:
            raise SystemExit(f"the run did not begin: {(folder / 'said').read_text()}")
        time.sleep(0.02)
    return run


def left(folder: Path) -> list[psutil.Process]:
    """Return the live processes of the run."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(VARIABLE) == str((folder / "results/run").resolve()):
                found.append(process)
        except psutil.Error:
            continue
    return [one for one in found if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]


def _gone_after(folder: Path, most_s: float) -> float | None:
    """Return after how many seconds no process is left; None if some are after `most_s`, which are killed."""
    begin = time.monotonic()
    while alive := left(folder):
        if time.monotonic() - begin > most_s:
            for process in alive:
                process.kill()
            return None
        time.sleep(0.02)
    return time.monotonic() - begin


def kill(folder: Path, wait_s: float) -> float | None:
    """Kill the leader alone; return when its processes were gone."""
    run = begun(folder)
    time.sleep(wait_s)
    assert left(folder), "no process of the run was found"
    run.kill()
    run.wait()
    return _gone_after(folder, _AFTER_KILL_S)


def terminate(folder: Path, wait_s: float) -> float | None:
    """Send SIGTERM to the leader; return when it and its processes had ended."""
    run = begun(folder)
    time.sleep(wait_s)
    begin = time.monotonic()
    run.terminate()
    run.wait(_PATIENCE_S)
    gone = _gone_after(folder, _PATIENCE_S)
    return None if gone is None else time.monotonic() - begin


def _processor_s(process: int) -> float:
    """Return the processor time of a process, s, after clock_getcpuclockid(3)."""
    return time.clock_gettime(~process << 3 | 2)


def _fit(kind: str, tracks: int, answer: Any) -> None:
    """Fit until an interrupt arrives, again and again; answer with "ready", and the time of the exception.

    One thread fits. With more threads, each has pieces of the same length.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    from parkf.fit import fit
    from parkf.fit.candidates import from_arrow
    from parkf.fit.outliers import fit_without_outliers
    from parkf.params.parameter_set import load as load_set

    signal.signal(signal.SIGINT, signal.default_int_handler)
    rows = pq.read_table(ROOT / "examples/candidates.parquet")
    rows = rows.take(pa.array(np.arange(tracks) % len(rows)))
    batch, numbers = from_arrow(rows.combine_chunks(), "float32"), load_set(_SET)
    while True:
        done, ended = False, None
        try:
            answer.send("ready")
            if kind == "outliers":
                fit_without_outliers(numbers, batch, threads=1)
            else:
                fit(numbers, batch, threads=1, robust=kind == "robust")
            done = True
            time.sleep(_PATIENCE_S)
        except KeyboardInterrupt:
            # A fit that had ended before the interrupt does not count.
            ended = None if done else time.process_time()
        answer.send(ended)


def interrupt(kind: str, tracks: int, waits_s: list[float]) -> list[float | None]:
    """Interrupt fits; return processor times from signal to exception, None if the fit had ended."""
    times: list[float | None] = []
    mine, other = get_context("fork").Pipe()
    child = get_context("fork").Process(target=_fit, args=(kind, tracks, other), daemon=True)
    child.start()
    for wait_s in waits_s:
        assert mine.recv() == "ready"
        time.sleep(wait_s)
        sent = _processor_s(child.pid or 0)
        os.kill(child.pid or 0, signal.SIGINT)
        ended = mine.recv()
        times.append(None if ended is None else ended - sent)
    child.kill()
    child.join()
    return times


def row(name: str, times: list[float | None], most_s: float) -> dict[str, Any]:
    """Summarise the times of one kind of ending."""
    known = sorted(one for one in times if one is not None)
    return {
        "name": name,
        "tried": len(times),
        "bar_s": most_s,
        "within": sum(one <= most_s for one in known),
        "median_s": round(float(np.median(known)), 3) if known else None,
        "longest_s": round(known[-1], 3) if known else None,
        "times_s": [None if one is None else round(one, 3) for one in times],
    }


def table(rows: list[dict[str, Any]]) -> str:
    """Lay out the rows in Markdown."""
    lines = [
        "| what ends | tried | bar [s] | within | median [s] | longest [s] |",
        "|---|---|---|---|---|---|",
    ]
    for one in rows:
        cells = [one[name] for name in ("name", "tried", "bar_s", "within", "median_s", "longest_s")]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, default=OUTCOME)
    parser.add_argument("--folder", type=Path, default=ROOT / "build/endings")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--terms", type=int, default=20)
    parser.add_argument("--interrupts", type=int, default=20, help="of each kind of fit")
    parser.add_argument("--tracks", type=int, default=_TRACKS)
    options = parser.parse_args()
    folder = options.folder.resolve()
    before = json.loads(options.json.read_text())["rows"] if options.json.exists() else []
    rows: dict[str, dict[str, Any]] = {one["name"]: one for one in before}

    def tried(name: str) -> list[float | None]:
        return list(rows[name]["times_s"]) if name in rows else []

    def wait_s(name: str, number: int, longest: float) -> float:
        return random.Random(f"{name} {number}").uniform(0.0, longest)

    def add(name: str, times: list[float | None], bar_s: float) -> None:
        # The file is written after each trial, so that a benchmark that is stopped continues.
        rows[name] = row(name, times, bar_s)
        print(name, times[-1], flush=True)
        write_json(options.json, {"tracks": options.tracks, "rows": list(rows.values())})

    for kind, what in (
        ("plain", "a plain fit"),
        ("robust", "a robust fit"),
        ("outliers", "a fit without outliers"),
    ):
        name, times = f"{what}, Ctrl-C", tried(f"{what}, Ctrl-C")
        if waits_s := [wait_s(name, number, 1.0) for number in range(len(times), options.interrupts)]:
            add(name, times + interrupt(kind, options.tracks, waits_s), _AFTER_INTERRUPT_S)
    for name, end, bar_s, count in (
        ("a run, SIGTERM", terminate, _AFTER_TERM_S, options.terms),
        ("the leader of a run, SIGKILL", kill, _AFTER_KILL_S, options.kills),
    ):
        times = tried(name)
        for number in range(len(times), count):
            times.append(end(folder, wait_s(name, number, 0.5)))
            add(name, times, bar_s)
    print(table(list(rows.values())))


if __name__ == "__main__":
    main()
