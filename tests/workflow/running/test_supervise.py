"""Runs that are killed, or whose files are damaged, end well when they are started again."""

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from parkf.workflow.running.lock import VARIABLE, end_orphans, is_live, wait_for_end
from parkf.workflow.running.supervise import supervise

# Snakemake without what it does not need here, which takes most of the time of its start: plug-ins for other
# executors, arrays, images and networks.
SNAKEMAKE = """
import atexit, gc, pkgutil, sys
gc.set_threshold(100_000)
atexit.register(gc.freeze)
sys.modules.update(dict.fromkeys(("numpy", "PIL", "boto3", "requests")))
found = pkgutil.iter_modules
pkgutil.iter_modules = lambda *where: (one for one in found(*where) if "_plugin_" not in one.name)
from snakemake.cli import main
main()
"""
PARKF = Path(sys.executable).with_name("parkf")
SNAKEFILE = """
rule all:
    input: "results/run/second.json"

rule first:
    output: "results/run/first.json"
    shell: "echo first >> made; {python} {write} {output}"

rule second:
    input: "results/run/first.json"
    output: "results/run/second.json"
    shell:
        "if [ -e slow ]; then touch results/run/.second.json.abc.tmp; fi;"
        " echo second >> made;"
        " {python} {wait};"
        " {python} {read} {input} && cp {input} {output}"
"""
# This is a program, because a shell continues after an interrupt between two commands.
WAIT = """
import time
from pathlib import Path
while Path("slow").exists():
    time.sleep(0.1)
"""
WRITE = """
import sys
from pathlib import Path
from parkf.io.files import write_sealed
write_sealed(Path(sys.argv[1]), {"value": 1.5})
"""
# Like the command line, it prints the error, and marks a damaged file.
READ = """
import sys
from pathlib import Path
from parkf.cli.messages import explained
from parkf.io.files import read_json
try:
    read_json(Path(sys.argv[1]))
except Exception as error:
    sys.exit(explained(error))
"""


@pytest.fixture
def project(tmp_path):
    return written(tmp_path)


def written(tmp_path):
    """A folder with a workflow of two jobs; the second waits as long as there is a file `slow`."""
    for name, text in (("wait", WAIT), ("write", WRITE), ("read", READ)):
        (tmp_path / f"{name}.py").write_text(text)
    text = SNAKEFILE.replace("{python}", sys.executable)
    for name in ("wait", "write", "read"):
        text = text.replace(f"{{{name}}}", f"{name}.py")
    (tmp_path / "Snakefile").write_text(text)
    return tmp_path


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The same folder after a run that ended well."""
    folder = written(tmp_path_factory.mktemp("finished"))
    assert end(start(folder))[0] == 0
    return folder


def start(project):
    snakemake = [sys.executable, "-c", SNAKEMAKE, "--nolock", "--rerun-incomplete", "--cores", "1"]
    # A file instead of a pipe, which jobs that outlive the run would keep open.
    with (project / "said").open("w") as said:
        run = subprocess.Popen(
            [PARKF, "supervise", "results/run", "--", *snakemake],
            cwd=project,
            stdout=said,
            stderr=said,
            start_new_session=True,
            # A shell that runs the tests in the background lets them ignore this signal.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
    run.said = project / "said"
    return run


def end(run):
    """Return the exit code and the output."""
    return run.wait(60), run.said.read_text()


def made(project):
    return (project / "made").read_text().split()


def wait_for(project, *jobs):
    until = time.monotonic() + 30
    while not (project / "made").exists() or made(project) != [*jobs]:
        assert time.monotonic() < until
        time.sleep(0.05)


def jobs_of(project):
    folder = str(project / "results/run")
    return [p for p in psutil.process_iter() if _environment(p).get(VARIABLE) == folder]


def _environment(process):
    try:
        return process.environ()
    except psutil.Error:
        return {}


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_killed_run_goes_on(project, sign):
    (project / "slow").touch()
    run = start(project)
    wait_for(project, "first", "second")
    os.killpg(run.pid, sign)
    assert end(run)[0] != 0
    (project / "slow").unlink()
    code, said = end(start(project))
    assert code == 0, said
    assert ("was ended before its run was" in said) == (sign == signal.SIGKILL)
    assert made(project) == ["first", "second", "second"]
    assert not list(project.rglob("*.tmp"))
    assert (project / "results/run/second.json").read_bytes() == (
        project / "results/run/first.json"
    ).read_bytes()


@pytest.mark.parametrize("ignored", [[signal.SIGINT], [signal.SIGINT, signal.SIGTERM]])
def test_a_job_that_loses_signals_ends_with_its_run(project, ignored):
    """A program that is still starting may lose an interrupt, and Snakemake waits for its jobs."""
    lines = [f"signal.signal({int(sign)}, signal.SIG_IGN)" for sign in ignored]
    lines = ["import signal", "from pathlib import Path", *lines, "Path('ready').touch()", WAIT]
    (project / "wait.py").write_text("\n".join(lines))
    (project / "slow").touch()
    run = start(project)
    wait_for(project, "first", "second")
    until = time.monotonic() + 30
    while not (project / "ready").exists():
        assert time.monotonic() < until
        time.sleep(0.05)
    os.killpg(run.pid, signal.SIGINT)
    assert run.wait(20) != 0
    assert not jobs_of(project)


STUCK = """
import signal, subprocess, sys, time
child = subprocess.Popen("true")
signal.signal(signal.SIGTERM, lambda *_: None)
open("made", "w").write("stuck\\n")
while True:
    time.sleep(1)
"""


def test_a_workflow_that_does_not_end_when_told_is_killed(tmp_path):
    """Snakemake's handler of a signal waits for a lock that the interrupted code may hold."""
    with (tmp_path / "said").open("w") as said:
        run = subprocess.Popen(
            [PARKF, "supervise", "results/run", "--", sys.executable, "-c", STUCK],
            cwd=tmp_path,
            stdout=said,
            stderr=said,
        )
    wait_for(tmp_path, "stuck")
    run.terminate()
    assert run.wait(60) == 128 + signal.SIGKILL
    assert "told to end" in (tmp_path / "said").read_text()


def orphans(project):
    """Return the jobs of a run whose workflow was killed."""
    (project / "slow").touch()
    run = start(project)
    wait_for(project, "first", "second")
    (workflow,) = psutil.Process(run.pid).children()
    jobs = workflow.children(recursive=True)
    workflow.kill()
    assert end(run)[0] == 128 + signal.SIGKILL
    return jobs


def test_jobs_of_a_dead_workflow_are_ended_first(project):
    jobs = orphans(project)
    assert any(is_live(job) for job in jobs)
    (project / "slow").unlink()
    assert end(start(project))[0] == 0
    assert not jobs_of(project)


def test_a_live_run_is_protected_and_named(project):
    (project / "slow").touch()
    run = start(project)
    wait_for(project, "first", "second")
    code, said = end(start(project))
    assert code == 1
    assert f"process {run.pid} on " in said
    assert "at work here" in said
    (project / "slow").unlink()
    assert end(run)[0] == 0


@pytest.fixture
def unreaped():
    """Make this process the parent of orphans, which does not ask for their exit codes, as in a container."""
    set_subreaper, libc = 36, ctypes.CDLL(None, use_errno=True)
    before = {child.pid for child in psutil.Process().children()}
    assert libc.prctl(set_subreaper, 1) == 0
    yield
    assert libc.prctl(set_subreaper, 0) == 0
    for child in psutil.Process().children():
        if child.pid not in before:
            child.kill()
            child.wait()


def test_orphans_that_nobody_waits_for_have_ended(project, unreaped, monkeypatch):
    """Their numbers stay, and a run that waited for them would never begin."""
    jobs = orphans(project)
    monkeypatch.setattr("parkf.workflow.running.lock._PATIENCE_S", 600)
    assert set(end_orphans(project / "results/run")) <= {job.pid for job in jobs}
    assert not any(is_live(job) for job in jobs)
    assert any(job.is_running() for job in jobs)


def test_no_process_outlives_a_leader_that_is_killed(project, unreaped):
    (project / "slow").touch()
    run = start(project)
    wait_for(project, "first", "second")
    assert len(jobs_of(project)) >= 2
    run.kill()
    run.wait()
    assert not wait_for_end(jobs_of(project), 10)
    (project / "slow").unlink()
    code, said = end(start(project))
    assert code == 0
    assert f"process {run.pid} on " in said
    assert made(project) == ["first", "second", "second"]


@pytest.mark.parametrize("damage", [b"", b'{"value": 2.5}', b'{"value": 2.5, "checksum": "sha256:0"}'])
def test_a_damaged_intermediate_is_made_again(finished, tmp_path, damage):
    project = shutil.copytree(finished, tmp_path / "project")
    first = project / "results/run/first.json"
    good, times = first.read_bytes(), first.stat()
    first.write_bytes(damage)
    os.utime(first, ns=(times.st_atime_ns, times.st_mtime_ns))
    (project / "results/run/second.json").unlink()
    code, said = end(start(project))
    assert code == 0, said
    if b"checksum" in damage or not damage:
        assert "first.json: not a JSON file as it was written" in said
        assert "results/run/first.json: made by rule first of this run: removed, to be made again" in said
        assert first.read_bytes() == good


def test_a_full_disk_is_named_where_a_job_could_not_say_so(tmp_path, monkeypatch, capsys):
    """The job cannot write its own message, because its log is on the same disk."""
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=4096))
    before = [signal.getsignal(sign) for sign in (signal.SIGINT, signal.SIGTERM)]
    try:
        assert supervise(tmp_path / "run", ["false"]) == 1
        assert f"error: {tmp_path}/run: no space left, 0.0 MB are free" in capsys.readouterr().err
        assert supervise(tmp_path / "run", ["true"]) == 0
        assert "no space" not in capsys.readouterr().err
    finally:
        for sign, handler in zip((signal.SIGINT, signal.SIGTERM), before, strict=True):
            signal.signal(sign, handler)


def test_a_damaged_input_of_the_user_stays(project):
    first = project / "results/run/first.json"
    first.parent.mkdir(parents=True)
    first.write_text("{")
    text = (project / "Snakefile").read_text()
    (project / "Snakefile").write_text(text.replace('output: "results/run/first.json"', 'output: "other"'))
    assert end(start(project))[0] == 1
    assert first.read_text() == "{"
    assert not list(project.rglob("*.damaged"))


# Two jobs as the workflow has them: with a file, and a record of what was made.
CHAINED = """
rule all:
    input: "results/run/validation.json"

rule first:
    output: "results/run/first.json"
    shell: "echo first >> made; {python} job.py first.json"

rule second:
    input: "results/run/first.json"
    output: "results/run/validation.json"
    shell: "echo second >> made; {python} job.py validation.json first.json"
"""
JOB = """
import sys
from pathlib import Path
from parkf.io.files import read_json, write_sealed
from parkf.workflow.running.jobs import Job
from parkf.workflow.running.records import products_of, write_record
output, *inputs = (Path("results/run", name) for name in sys.argv[1:])
job = Job("gather", [{}], list(map(str, inputs)), [str(output)], ["ab" * 8], "results/run", False)
file = Path("results/run/logs", f"{output.name}.log.json")
job.write(file)
before = job.fingerprints()
write_sealed(output, {"made": output.name, "of": [read_json(path) for path in inputs]})
write_record(file, before, products_of(job))
"""


@pytest.mark.parametrize("fault", ["foreign", "missing", "before the run"])
def test_a_file_that_is_not_the_product_is_made_again(tmp_path, fault):
    """Snakemake would read a file that is there, and would not miss one whose products are there."""
    (tmp_path / "Snakefile").write_text(CHAINED.replace("{python}", sys.executable))
    (tmp_path / "job.py").write_text(JOB)
    first, last = (tmp_path / "results/run" / name for name in ("first.json", "validation.json"))
    if fault == "before the run":
        first.parent.mkdir(parents=True)
        first.write_text('{"made": "elsewhere"}')
    else:
        assert end(start(tmp_path))[0] == 0
        good, times = {path: path.read_bytes() for path in (first, last)}, first.stat()
        first.unlink()
    if fault == "foreign":
        first.write_text('{"made": "elsewhere"}')
        os.utime(first, ns=(times.st_atime_ns, times.st_mtime_ns))
    code, said = end(start(tmp_path))
    assert code == 0, said
    what = {
        "foreign": "not what this run has made: no run here has made this file; moved to results/run/.aside/",
        "missing": "missing; it is a product of parkf gather; made again",
        "before the run": "no job of this run has made it: no run here has made this file; moved to",
    }
    assert f"results/run/first.json: {what[fault]}" in said
    if fault == "before the run":
        assert b"elsewhere" not in first.read_bytes() + last.read_bytes()
    else:
        assert {path: path.read_bytes() for path in good} == good
