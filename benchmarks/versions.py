"""Versions of parkf side by side: the present one, and any commit, which is built in a separate folder."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Version:
    """A checkout and the interpreter that has it installed.

    Attributes
    ----------
    name : str
        Name of the version in tables.
    root : Path
        The checkout.
    python : Path
        Interpreter of its environment, beside its ``parkf``.
    """

    name: str
    root: Path
    python: Path

    def cpu_seconds(self, line: Sequence[str | Path], folder: Path, *, fails: bool = False) -> float:
        """Run a command and return user and system seconds of it and of all processes that it started.

        Parameters
        ----------
        line : sequence of str or Path
            Arguments behind ``parkf``.
        folder : Path
            Folder to run in.
        fails : bool
            Whether the command must end with an error.
        """
        with tempfile.TemporaryFile() as said:
            process = subprocess.Popen(
                [str(self.python.with_name("parkf")), *map(str, line)], cwd=folder, stdout=said, stderr=said
            )
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode != 0 and not fails:
                said.seek(0)
                text = said.read().decode(errors="replace")
                raise SystemExit(f"{self.name}: parkf {' '.join(map(str, line))} failed:\n{text[-2000:]}")
        return usage.ru_utime + usage.ru_stime

    @cached_property
    def commands(self) -> str:
        """Help of the whole command line and, in versions that list them apart, its stages."""
        text = self._output("--help")
        return text + self._output("--stages") if "--stages" in text else text

    def knows(self, command: str) -> bool:
        """Whether this version has a command of that name."""
        return any(f" {command} " in f" {line}" for line in self.commands.splitlines())

    def takes(self, command: str, option: str) -> bool:
        """Whether a command of this version has an option of that name."""
        return option in self._output(command, "--help")

    def _output(self, *line: str) -> str:
        parkf = str(self.python.with_name("parkf"))
        return subprocess.run([parkf, *line], check=True, capture_output=True, text=True).stdout


def this_version() -> Version:
    """Return the version that the benchmark is part of."""
    return Version("here", ROOT, Path(sys.executable))


@contextmanager
def built(commit: str) -> Iterator[Version]:
    """Check a commit out and build it with the packages of this environment; remove both afterwards."""
    with tempfile.TemporaryDirectory(prefix="parkf-version-") as name:
        root, environment = Path(name) / "checkout", Path(name) / "environment"
        _run("git", "-C", ROOT, "worktree", "add", "--quiet", "--detach", root, commit)
        try:
            _run(sys.executable, "-m", "venv", "--without-pip", environment)
            python = environment / "bin/python"
            packages = next((environment / "lib").glob("python*/site-packages"))
            # Only the packages are shared. The present version is installed by a hook in their folder, which
            # Python does not follow here.
            shared = [path for path in sys.path if path.endswith("site-packages")]
            (packages / "shared.pth").write_text("\n".join(shared) + "\n")
            _run(
                *(python, "-m", "pip", "install", "--quiet", "--no-build-isolation", "--no-deps"),
                *("--editable", root),
            )
            yield Version(commit, root, python)
        finally:
            _run("git", "-C", ROOT, "worktree", "remove", "--force", root)


def _run(*words: str | Path) -> None:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, words))} failed:\n{(done.stdout + done.stderr)[-2000:]}")
