"""On a terminal a run shows how many jobs are done, their rate, and the time that is left."""

import io
import json
import logging
import os
import pty
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from parkf.workflow.running import progress
from parkf.workflow.running.progress import MOST_WARNINGS, Forecast, Teller, duration, show
from parkf.workflow.running.supervise import supervise
from rich.console import Console

from parkf.workflow.cluster.schedule import Job

PARKF = Path(sys.executable).with_name("parkf")


def jobs(seconds):
    return {number: Job(f"rule{number}", cost, 1, 0, ()) for number, cost in seconds.items()}


def test_the_rest_takes_what_its_jobs_cost_at_the_pace_of_those_before():
    clock = [0.0]
    # Two jobs wait for one, on two cores.
    forecast = Forecast(jobs({5: 9.5, 7: 19.5, 8: 9.5}), {5: [], 7: [5], 8: [5]}, 2, lambda: clock[0])
    state = forecast.state()
    assert (state.done, state.total, state.share) == (0, 3, 0.0)
    assert state.left_s == pytest.approx(30)
    forecast.begins([5])
    assert forecast.state().running == {"rule5": 1}
    # The first job took twice as long as predicted.
    clock[0] = 20
    forecast.ends(5)
    forecast.begins([7, 8])
    state = forecast.state()
    assert (state.done, state.share, state.elapsed_s) == (1, pytest.approx(1 / 3), 20)
    assert state.left_s == pytest.approx(40)
    assert state.running == {"rule7": 1, "rule8": 1}
    clock[0] = 60
    for number in (7, 8, 7, 99):
        forecast.ends(number)
    assert (forecast.state().done, forecast.state().left_s, forecast.state().share) == (3, 0, 1)


@pytest.mark.parametrize(("elapsed_s", "rate"), [(0.5, ""), (6.0, ", 30 a minute")])
def test_the_rate_of_jobs_is_told_after_a_second(elapsed_s, rate):
    state = progress.State(done=3, total=9, share=0.3, elapsed_s=elapsed_s, left_s=42.0, running={})
    task = SimpleNamespace(fields={"state": state, "told": time.monotonic()})
    assert str(progress._Left().render(task)) == f"3 of 9 jobs{rate}, about 42 s left"


def test_a_long_run_is_predicted_about_a_hundred_times(monkeypatch):
    """A prediction goes through all jobs; one after each job would take long."""
    count = [0]

    def predict(*_):
        count[0] += 1
        return 1.0

    monkeypatch.setattr(progress, "replay", predict)
    forecast = Forecast(jobs(dict.fromkeys(range(500), 1.0)), {n: [] for n in range(500)}, 1, lambda: 0.0)
    for number in range(500):
        forecast.ends(number)
        forecast.state()
    assert 50 < count[0] < 200


def told(records):
    """Return the lines that Snakemake's records make, and the text that is drawn from them."""
    pipe, logger = io.StringIO(), logging.Logger("snakemake")
    logger.addHandler(Teller(Forecast(jobs({1: 2.0, 2: 2.0}), {1: [], 2: [1]}, 1), pipe))
    for level, text, extra in records:
        logger.log(level, text, extra=extra)
    drawn = io.StringIO()
    console = Console(file=drawn, force_terminal=True, width=120)
    show("results/x", console, io.StringIO(pipe.getvalue()))
    return [json.loads(line) for line in pipe.getvalue().splitlines()], drawn.getvalue()


def test_a_file_gets_few_short_lines_of_a_long_run():
    state = {"total": 500, "elapsed_s": 1.0, "left_s": 9.0, "running": {}}
    said = [{"said": f"warning {number} " + 100 * "long "} for number in range(9)]
    lines = [*said, *({"done": done, "share": done / 500, **state} for done in range(501))]
    drawn = io.StringIO()
    show("results/x", Console(file=drawn), io.StringIO("\n".join(map(json.dumps, lines))))
    text = drawn.getvalue().splitlines()
    assert [line[:9] for line in text[:MOST_WARNINGS]] == [f"warning {n}" for n in range(MOST_WARNINGS)]
    assert 15 <= len(text) - MOST_WARNINGS <= 20
    assert max(map(len, text)) <= 120
    assert "of 500 jobs, about 9 s left" in text[-1]


def test_what_snakemake_says_is_told_and_drawn():
    lines, drawn = told(
        [
            (logging.INFO, "", {"event": "job_started", "jobs": [1]}),
            (logging.INFO, "Select jobs to execute...", {}),
            (logging.INFO, "", {"event": "job_finished", "job_id": 1}),
            (logging.WARNING, "Job fit (12) waits: a drained node.", {}),
            (logging.INFO, "", {"event": "job_started", "jobs": [2]}),
        ]
    )
    assert [line.get("done") for line in lines] == [0, 0, 1, None, 1]
    assert lines[-1]["running"] == {"rule2": 1}
    assert "Job fit (12) waits: a drained node." in drawn
    assert "1 of 2 jobs" in drawn
    assert "left" in drawn
    # One job of a rule is named without a number.
    assert "rule2" in drawn
    assert "1 rule2" not in drawn


def test_times_are_told_roughly():
    assert [duration(s) for s in (0.4, 59.6, 83, 3600, 7384)] == [
        *("about 0 s", "about 1 min 0 s", "about 1 min 23 s", "about 1 h 0 min", "about 2 h 3 min")
    ]


SNAKEFILE = """
rule all:
    input: "results/run/a.txt"
rule a:
    output: "results/run/a.txt"
    shell: "false"
"""


def on_a_terminal(folder, command):
    """Run a command on a terminal; return its exit code, and the text that it shows."""
    ours, theirs = pty.openpty()
    seen = []

    def read():
        while True:
            try:
                piece = os.read(ours, 4096)
            except OSError:
                return
            if not piece:
                return
            seen.append(piece)

    reader = threading.Thread(target=read)
    with subprocess.Popen(
        command, cwd=folder, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        reader.start()
        code = process.wait(timeout=100)
    reader.join()
    os.close(ours)
    return code, b"".join(seen).decode()


def test_a_terminal_sees_progress_and_what_went_wrong(tmp_path):
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    lead = [PARKF, "supervise", "results/run", "--"]
    code, seen = on_a_terminal(tmp_path, [*lead, "sh", "-c", "echo its words"])
    assert code == 0
    assert "results/run" in seen
    said = tmp_path / "results/run/logs/snakemake.txt"
    assert said.read_text() == "its words\n"
    assert "its words" not in seen
    snakemake = Path(sys.executable).with_name("snakemake")
    code, seen = on_a_terminal(tmp_path, [*lead, snakemake, "--cores", "1", "--nolock"])
    assert code == 1
    assert "Building DAG" in said.read_text()
    assert "Building DAG" not in seen
    assert "Error in rule a" in seen
    assert "the whole output is in results/run/logs/snakemake.txt" in seen


def test_a_quiet_run_says_what_went_wrong_alone(tmp_path):
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    lead = [PARKF, "--quiet", "supervise", "results/run", "--"]
    assert on_a_terminal(tmp_path, [*lead, "sh", "-c", "echo its words"]) == (0, "")
    snakemake = Path(sys.executable).with_name("snakemake")
    done = subprocess.run(
        [*lead, snakemake, "--cores", "1", "--nolock"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert "Error in rule a" in done.stderr
    assert "Building DAG" not in done.stderr


@pytest.fixture
def signals():
    """Set the handlers of this process again, which a supervised run sets for itself."""
    before = {sign: signal.getsignal(sign) for sign in (signal.SIGINT, signal.SIGTERM)}
    yield
    for sign, handler in before.items():
        signal.signal(sign, handler)


@pytest.mark.usefixtures("signals")
def test_off_a_terminal_the_end_of_the_output_tells_what_went_wrong(tmp_path, capsys):
    assert supervise(tmp_path / "run", ["sh", "-c", "echo no such rule; exit 3"]) == 3
    said = capsys.readouterr().err.splitlines()
    assert "no such rule" in said
    assert said[-1] == f"the whole output is in {tmp_path / 'run/logs/snakemake.txt'}"


@pytest.mark.parametrize("quiet", [False, True])
def test_bars_are_drawn_unless_quiet(quiet, tmp_path):
    say = "from parkf.io.terminal import be_quiet, progress_bar\n"
    say += ("be_quiet()\n" if quiet else "") + "with progress_bar('fit', 'tracks', 3) as bar: bar.update(3)"
    code, seen = on_a_terminal(tmp_path, [sys.executable, "-c", say])
    assert code == 0
    # A terminal without a width shows the line alone.
    assert bool(seen) != quiet
