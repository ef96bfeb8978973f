"""The process that leads a run: exit codes, repeated attempts, signals, and a small run with Snakemake."""

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from tests.ledgers import made

from parkf.io import leader
from parkf.io.ledger import Ledger
from parkf.workflow import held
from parkf.workflow.snakemake import command, lead_run

RUN = Path("results/toy")
PATIENCE_S = 60
SNAKEFILE = """
from parkf.stages.call import code_of
from parkf.workflow.rules import begin, stage_words

CODE = code_of("take_score")
COPY = f"{stage_words()} take_score --theirs {{input}} --output {{output}} --code {CODE}"
rule all:
    input: "results/toy/validation.json"
onstart: begin("results/toy", needs_gpu=False)
rule first:
    input: "data/in.json"
    output: "results/toy/first.json"
    shell: COPY
rule second:
    input: "results/toy/first.json"
    output: "results/toy/second.json"
    shell: COPY
rule validate:
    input: "results/toy/second.json"
    output: "results/toy/validation.json"
    shell: COPY
rule slow:
    output: "results/toy/slow.json"
    shell: "touch begun; sleep 600; touch {output}"
"""
LEAD = """
import sys
from pathlib import Path
from parkf.workflow.snakemake import command, lead_run
sys.exit(lead_run(Path("results/toy"), command(Path("toy.yaml"), sys.argv[1:], cores=1)))
"""


@pytest.fixture(autouse=True)
def toy(tmp_path, monkeypatch):
    """A project of three rules; this process leads no run afterwards."""
    monkeypatch.chdir(tmp_path)
    for name in (leader.VARIABLE, held.HELD):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    Path("Snakefile").write_text(SNAKEFILE)
    Path("toy.yaml").write_text("{}\n")
    Path("data").mkdir()
    Path("data/in.json").write_text('{"a": 1}')


def pretended(program, *targets):
    """Words that start a program in the place of Snakemake; it notes each start and its words."""
    note = "import sys\nwith open('starts', 'a') as file: print(*sys.argv[1:], file=file)\n"
    return [sys.executable, "-c", note + program, "--", *targets]


def starts():
    return Path("starts").read_text().splitlines()


def test_a_run_is_made_once_and_what_is_wrong_is_mended(capfd):
    words = command(Path("toy.yaml"), cores=2)
    assert lead_run(RUN, words) == 0
    assert [path.stem for path in sorted(RUN.glob("*.json"))] == ["first", "second", "validation"]
    assert [one.stage for one in Ledger(RUN).latest().values()] == ["take_score"] * 3
    assert "3 of 4 steps (75%) done" in capfd.readouterr().err
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in RUN.glob("*.json")}
    (RUN / "first.json").unlink()
    (RUN / "second.json").write_text('{"mine": 1}')
    assert lead_run(RUN, words) == 0
    said = capfd.readouterr().err
    assert f"{RUN}/first.json: missing; it is a product of stage take_score; " in said
    assert f"moved to {RUN}/.aside/second.json" in said
    assert {path: path.read_bytes() for path in before} == {path: one for path, (one, _) in before.items()}


@pytest.mark.parametrize(
    ("program", "code"), [("sys.exit(3)", 3), ("import os; os.kill(os.getpid(), 9)", 128 + 9)]
)
def test_the_exit_code_is_that_of_snakemake(program, code):
    assert lead_run(RUN, pretended(program)) == code
    assert len(starts()) == 1
    assert held._held == []


def test_an_error_is_shown_from_its_first_line_on(capfd):
    program = "print('fine\\n' * 50 + 'error: a.yaml: got 5\\n\\nmore')\nsys.exit(1)"
    assert lead_run(RUN, pretended(program)) == 1
    assert capfd.readouterr().err.splitlines() == [
        *("error: a.yaml: got 5", "more", f"the whole output is in {RUN}/logs/snakemake.txt")
    ]
    assert (RUN / "logs/snakemake.txt").read_text().startswith("fine\nfine\n")


def test_products_that_are_wrong_again_and_again_end_the_run(capfd):
    made(str(RUN / "validation.json"), '{"v": 1}')
    spoil = f"from pathlib import Path; Path('{RUN}/validation.json').write_text('spoilt')"
    assert lead_run(RUN, pretended(spoil)) == 1
    assert len(starts()) == 3
    assert f"error: {RUN}: the same files are not right after 3 attempts" in capfd.readouterr().err


def test_a_run_that_fails_is_tried_again_if_it_has_found_a_damaged_file():
    path = made(str(RUN / "validation.json"), '{"v": 1}')
    fail_once = "is_first = open('starts').read().count('--') == 1\n"
    fail_once += f"open('{path}', 'w').write('spoilt' if is_first else '{{\"v\": 1}}'); sys.exit(is_first)"
    assert lead_run(RUN, pretended(fail_once)) == 0
    assert len(starts()) == 2
    # A product that a failed job has lost would be lost again.
    made(str(path), '{"v": 1}')
    Path("starts").unlink()
    assert lead_run(RUN, pretended(f"import os; os.unlink('{path}'); sys.exit(1)")) == 1
    assert len(starts()) == 1


def test_all_is_made_again_of_a_run_without_a_ledger():
    made(str(RUN / "validation.json"), '{"v": 1}')
    (RUN / "ledger.jsonl").rename("ledger")
    assert lead_run(RUN, pretended(f"import os; os.rename('ledger', '{RUN}/ledger.jsonl')")) == 0
    assert starts() == ["--forceall --"]


def test_targets_are_what_is_looked_at(capfd):
    for name in ("a", "validation"):
        made(str(RUN / f"{name}.json"), "{}").unlink()
    assert lead_run(RUN, pretended(f"open('{RUN}/a.json', 'w').write('{{}}')", str(RUN / "a.json"))) == 0
    assert "validation" not in capfd.readouterr().err


def wait_for_its_job(process):
    end = time.monotonic() + PATIENCE_S
    while not Path("begun").exists():
        assert time.monotonic() < end
        assert process.poll() is None
        time.sleep(0.05)


def processes():
    """Processes whose working folder is here, but this one."""
    found = []
    for one in psutil.process_iter():
        with suppress(psutil.Error):
            if one.cwd() == str(Path.cwd()) and one.pid != os.getpid():
                found.append(one)
    return found


def test_a_process_that_plans_ends_with_its_leader():
    program = "import parkf.workflow.rules, time; open('begun', 'w'); time.sleep(600)"
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as first:
        environment = os.environ | {leader.VARIABLE: f"{first.pid}@{socket.gethostname()}"}
        with subprocess.Popen([sys.executable, "-c", program], env=environment) as planning:
            wait_for_its_job(planning)
            first.kill()
            assert planning.wait(PATIENCE_S) == -signal.SIGKILL


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_all_processes(sign):
    """A terminal sends SIGINT to all of them, and who stops a program sends SIGTERM to the leader alone."""
    process = subprocess.Popen(
        [sys.executable, "-c", LEAD, "slow"], stderr=subprocess.PIPE, start_new_session=True
    )
    wait_for_its_job(process)
    if sign == signal.SIGINT:
        os.killpg(process.pid, sign)
    else:
        process.send_signal(sign)
    assert process.wait(PATIENCE_S) != 0
    process.stderr.close()
    assert psutil.wait_procs(processes(), PATIENCE_S)[1] == []
    assert not (RUN / "slow.json").exists()
    held.hold(RUN)
    held.release()
