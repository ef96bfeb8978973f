"""A command that runs out of memory ends with one line, like all errors that users can solve."""

import errno
import multiprocessing
import os
import resource
import sys
from pathlib import Path

import numpy as np
import pytest

from parkf.io.explained import explained

from ..bad_input.case import ROOT, ran

MORE = 64 << 20
FIELD = ("field", ROOT / "data/field/dipole.json", "field.npz", "--spacing", "20")
SAID = "error: no more memory, expected more; give the command more of it, or fewer threads (--threads 1)"


def test_numpy_s_own_error_is_caught(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("parkf.detector.field.evaluate_on_grid", lambda *_, **__: np.empty(1 << 50))
    assert ran(FIELD) == (1, f"{SAID}\n")


@pytest.mark.skipif(sys.platform != "linux", reason="the system does not limit a process's memory")
def test_a_limit_of_the_system_is_told(tmp_path: Path) -> None:
    """The limit holds for a whole process, so a child process gets 64 MB; the map needs 600 MB."""

    def limited(answer) -> None:
        os.chdir(tmp_path)
        held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (held + MORE, held + MORE))
        answer.send(ran(FIELD))

    mine, other = multiprocessing.Pipe()
    child = multiprocessing.get_context("fork").Process(target=limited, args=(other,))
    child.start()
    assert mine.poll(60)
    code, said = mine.recv()
    child.join()
    assert (code, said.splitlines()[-1]) == (1, SAID)
    assert "Traceback" not in said
    assert not list(tmp_path.iterdir())


def test_the_system_s_own_error_is_told_alike() -> None:
    assert explained(OSError(errno.ENOMEM, "Cannot allocate memory")) == SAID.removeprefix("error: ")
