"""Starts runs in processes that have loaded all modules, since loading takes two seconds in each of 300 runs.

The commands are forked from this process instead of started by their names. Their code, processes, groups
and signals are the same. The workflow starts its jobs itself, as always.
"""

import io
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from multiprocessing.context import ForkProcess
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TextIO

_MODULES = (
    *(
        "snakemake.api",
        "snakemake.cli",
        "snakemake_executor_plugin_slurm",
        "snakemake_executor_plugin_htcondor",
    ),
    *(
        "parkf.cli.main",
        "parkf.workflow.running.supervise",
        "parkf.workflow.inputs",
        "parkf.model.steps",
        "parkf.training.train",
    ),
    *(
        "parkf.fit.fitter",
        "parkf.training.assembly",
        "parkf.training.closure.close",
        "parkf.proof.validation.validate",
    ),
    *(
        "parkf.training.datasets.builder",
        "parkf.simulation.response.simulate",
        "parkf.training.ghost_score.train",
        "parkf.report.pages",
    ),
)


def load() -> None:
    """Load the modules that Snakemake, the Snakefile, its leader and jobs load, if they are installed."""
    for name in _MODULES:
        with suppress(ImportError):
            import_module(name)


class Forked:
    """A child process that runs a function, controlled as :class:`subprocess.Popen` controls a program.

    Parameters
    ----------
    work : callable
        The function. It ends by :class:`SystemExit` or when it returns, as a program does.
    """

    def __init__(self, work: Callable[[], object]) -> None:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        self._process: ForkProcess = multiprocessing.get_context("fork").Process(
            target=_as_program, args=(work,)
        )
        self._process.start()
        assert self._process.pid is not None
        self.pid: int = self._process.pid

    def poll(self) -> int | None:
        """Return the exit code, or None while the child runs."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the exit code."""
        self._process.join(timeout)
        code = self._process.exitcode
        if code is None:
            raise TimeoutError(f"process {self.pid} works for more than {timeout} s")
        return code

    def terminate(self) -> None:
        """Send SIGTERM to the child."""
        self._process.terminate()

    def kill(self) -> None:
        """Kill the child."""
        self._process.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.wait()


def led(folder: Path, results: str, snakemake: Sequence[str], said: str) -> Forked:
    """Start ``parkf supervise RESULTS -- snakemake …`` in a folder and in a new process group.

    Parameters
    ----------
    folder : Path
        Where it runs.
    results : str
        Folder of the run's results, relative to `folder`.
    snakemake : sequence of str
        Arguments.
    said : str
        File in `folder` for everything that is printed.
    """
    return commanded(folder, ["supervise", results, "--", *snakemake], said)


def commanded(folder: Path, arguments: Sequence[str], said: str) -> Forked:
    """Start a command of parkf in a folder and in a new process group; see :func:`led`."""

    def work() -> None:
        os.setsid()
        os.chdir(folder)
        file = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        for stream in (1, 2):
            os.dup2(file, stream)
        os.close(file)
        os.environ["OPENBLAS_NUM_THREADS"] = "1"
        from parkf.workflow.running import supervise

        from parkf.cli import main as cli

        supervise.subprocess = _Subprocess  # type: ignore[attr-defined]
        sys.argv = ["parkf", *arguments]
        cli.main()

    return Forked(work)


class _Subprocess:
    """Replaces the module :mod:`subprocess` where a leader starts Snakemake."""

    STDOUT = subprocess.STDOUT

    @staticmethod
    def Popen(  # noqa: N802
        arguments: Sequence[str], pass_fds: Sequence[int], env: Mapping[str, str], stdout: TextIO, stderr: int
    ) -> Forked:
        """Start Snakemake, which writes all its text to `stdout`; a fork inherits the open files."""
        assert stderr == subprocess.STDOUT

        def work() -> None:
            from snakemake import cli

            os.environ.update(env)
            for stream in (1, 2):
                os.dup2(stdout.fileno(), stream)
            # Programs that Snakemake starts inherit these open files only if they are marked so.
            for number in pass_fds:
                os.set_inheritable(number, True)
            sys.argv = ["snakemake", *arguments]
            cli.main(list(arguments))

        return Forked(work)


def _as_program(work: Callable[[], Any]) -> None:
    # A program begins with these handlers, whatever the handlers of this process are.
    for sign, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGTERM, signal.SIG_DFL)):
        signal.signal(sign, handler)
    sys.stdout, sys.stderr = (
        io.TextIOWrapper(os.fdopen(number, "wb", 0, closefd=False), write_through=True) for number in (1, 2)
    )
    work()
