"""Which lines of the package each test reaches, and how long it takes."""

import json
import os
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.mutants.child import digest_of, in_child, pytest_main
from benchmarks.mutants.modules import SOURCE
from benchmarks.mutants.mutant import ROOT

# Tests that may notice a change in a Python module.
FOLDERS = ("steps", "codegen", "parameters", "training", "kalman", "validation", "scoring", "comparing")
# Without those that compile, start processes or compare with what was compiled from the formulas as they are.
LEFT_OUT = ("sanitizer", "gpu", "kernel", "fuzz", "memory", "team", "acts", "commands")
# So often a function is followed line by line in a test.
MOST_CALLS = 200
# s of a file's tests, while they are followed.
_FILE_S = 1800


class Tracer:
    """A plugin of pytest."""

    def __init__(self) -> None:
        self.lines: dict[str, list[str]] = {}
        self.imported: list[str] = []
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()
        self._root = str(SOURCE) + os.sep
        self._begin()

    def _begin(self) -> None:
        self._here: set[tuple[str, int]] = set()
        self._calls: Counter[Any] = Counter()
        threading.settrace(self._trace)
        sys.settrace(self._trace)

    def _end(self) -> list[str]:
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]
        return sorted(f"{path.removeprefix(self._root)}:{line}" for path, line in self._here)

    def pytest_collection_finish(self) -> None:
        """Keep what importing the tests has reached."""
        self.imported = self._end()

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Note a test that fails without any change."""
        if report.failed:
            self.failed.add(report.nodeid)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Begin with a test."""
        self.seconds[nodeid] = time.process_time()
        self._begin()

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Keep what it has reached."""
        self.lines[nodeid] = self._end()
        self.seconds[nodeid] = time.process_time() - self.seconds[nodeid]

    def _trace(self, frame: Any, event: str, argument: Any) -> Any:
        code = frame.f_code
        if not code.co_filename.startswith(self._root):
            return None
        self._calls[code] += 1
        if self._calls[code] > MOST_CALLS:
            return None
        self._here.add((code.co_filename, frame.f_lineno))
        return self._line

    def _line(self, frame: Any, event: str, argument: Any) -> Any:
        self._here.add((frame.f_code.co_filename, frame.f_lineno))
        return self._line


def reach_of(test_file: Path, source: str, folder: Path) -> dict[str, Any]:
    """Give what the tests of a file reach; kept in `folder` for these sources and this file."""
    beside = [*test_file.parent.glob("*.py")] if test_file.name == "conftest.py" else [test_file]
    kept = folder / f"{'-'.join(test_file.relative_to(ROOT).parts)}-{source}-{digest_of(beside)}.json"
    if not kept.exists():

        def work() -> int:
            tracer = Tracer()
            code = pytest_main(["-m", "not slow", str(test_file)], [tracer])
            # What fails without a change tells nothing of one.
            good = {test: lines for test, lines in tracer.lines.items() if test not in tracer.failed}
            found = {"lines": good, "imported": tracer.imported, "seconds": tracer.seconds}
            kept.write_text(json.dumps(found))
            return 0 if code in (0, 1, 5) else code

        code, said = in_child(work, processor_s=_FILE_S)
        if code:
            kept.unlink(missing_ok=True)
            raise SystemExit(f"{test_file} cannot be run:\n{said[-4000:]}")
    return dict(json.loads(kept.read_text()))


class Reach:
    """What all tests reach."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        source = digest_of([*(SOURCE / "parkf").rglob("*.py")])
        self.tests: dict[str, set[str]] = {}
        self.seconds: dict[str, float] = {}
        self.imported: set[str] = set()
        for test_file in (p for name in FOLDERS for p in sorted((ROOT / "tests" / name).rglob("test_*.py"))):
            if any(word in test_file.name for word in LEFT_OUT):
                continue
            print(f"{test_file.relative_to(ROOT)} ", end="", flush=True)
            found = reach_of(test_file, source, folder)
            print(f"{len(found['lines'])} tests, {sum(found['seconds'].values()):.1f} s", flush=True)
            self.imported |= set(found["imported"])
            for case, lines in found["lines"].items():
                # Cases may be named after what is changed: a test is run with all of its cases.
                test = case.split("[")[0]
                self.seconds[test] = self.seconds.get(test, 0.0) + found["seconds"][case]
                for line in lines:
                    self.tests.setdefault(line, set()).add(test)

    def of(self, file: str, line: int) -> list[str]:
        """Give the tests to run for a line, the quickest first.

        Those that reach it. What importing reaches, a formula or a number of a module, can make a difference
        to all that reach the module, and to all tests of its folder.
        """
        tests = set(self.tests.get(f"{file}:{line}", ()))
        if f"{file}:{line}" in self.imported:
            for there, some in self.tests.items():
                if there.startswith(f"{file}:"):
                    tests |= some
            area = f"tests/{Path(file).parts[1]}/"
            tests |= {test for test in self.seconds if test.startswith(area)}
        return sorted(tests, key=lambda test: self.seconds[test])
