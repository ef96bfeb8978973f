"""Work in a forked process, since a change can make it crash, run forever or exhaust the memory."""

import hashlib
import os
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tools.mutants.mutant import ROOT

# Limits of a child: processor time, and time in which it wants no processor, s; memory, bytes.
PROCESSOR_S, PATIENCE_S = 240, 120
MEMORY = 12 << 30


def in_child(work: Callable[[], int], processor_s: int = PROCESSOR_S) -> tuple[int, str]:
    """Run a function in a forked process; return its exit code (negative after a signal) and its output."""
    with tempfile.TemporaryFile() as said:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                # In its own group all that it starts can be killed; a session would lose the low priority.
                os.setpgid(0, 0)
                os.dup2(said.fileno(), 1)
                os.dup2(said.fileno(), 2)
                resource.setrlimit(resource.RLIMIT_CPU, (processor_s, processor_s))
                resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
                code = int(work())
            except BaseException as error:
                print(repr(error))
            finally:
                sys.stdout.flush()
                os._exit(code & 0xFF)
        began = time.monotonic()
        try:
            done = 0
            # On a busy machine a child may wait long for a processor; that is no reason to end it.
            while not done and time.monotonic() - began - _busy(child) < PATIENCE_S + processor_s:
                done, status = os.waitpid(child, os.WNOHANG)
                time.sleep(0.02)
        finally:
            # Also ends all processes that the child has started, even if this process is asked to stop.
            with suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
            if not done:
                status = os.waitpid(child, 0)[1]
        code = os.waitstatus_to_exitcode(status)
        said.seek(0)
        return code, said.read().decode(errors="replace")


def _busy(process: int) -> float:
    """Return how long a process has run on a processor or waited for one, s."""
    ran, waited, _ = Path(f"/proc/{process}/schedstat").read_text().split()
    return 1e-9 * (int(ran) + int(waited))


def failed_in(said: str) -> list[str]:
    """Return the tests that pytest says have failed."""
    lines = (line for line in said.splitlines() if line.startswith(("FAILED ", "ERROR ")))
    return [line.split(" ", 1)[1].split(" - ")[0] for line in lines]


def digest_of(paths: list[Path]) -> str:
    """Return a digest of the content of files."""
    whole = hashlib.sha256()
    for path in sorted(paths):
        whole.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes() + b"\0")
    return whole.hexdigest()[:16]
