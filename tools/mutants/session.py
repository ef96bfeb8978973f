"""A session of pytest that has collected all tests, from which processes fork that run some of them."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tools.mutants.mutant import ROOT

# Tests that compile, start processes, or compare with compiled or published results are left out: they notice
# any change of a formula, whether it is wrong or not. Tests of the project's own files are left out, too.
LEFT_OUT = (
    *("sanitizer", "gpu.py", "kernel", "fuzz", "memory", "frozen", "consumer/", "runs/"),
    *(
        "test_house",
        "test_environment",
        "test_packaging",
        "test_starts",
        "benchmark",
        "faults_page",
        "mutants_page",
    ),
)


def pytest_main(arguments: list[str], plugins: list[Any], folder: Path) -> int:
    """Run pytest in this process; temporary files go to `folder`."""
    import pytest

    os.chdir(ROOT)
    options = ["-q", "-s", "--no-header", "--tb=no", "-p", "no:cacheprovider", "-p", "no:xdist"]
    options.append(f"--basetemp={folder / 'tmp'}")
    return int(pytest.main([*options, *arguments], plugins=plugins))


def run_items(items: list[Any], stop: Callable[[], bool] = lambda: False) -> None:
    """Run collected tests until `stop` returns true."""
    for item, following in zip(items, [*items[1:], None], strict=True):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if stop():
            break


class Failures:
    """A plugin of pytest: the tests that have failed."""

    def __init__(self) -> None:
        self.tests: list[str] = []

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Note a failure."""
        if report.failed:
            self.tests.append(report.nodeid)


class _Instead:
    """A plugin of pytest that does other work instead of running the tests."""

    def __init__(self, work: Callable[[list[Any]], None]) -> None:
        self._work = work

    def pytest_runtestloop(self, session: Any) -> bool:
        """Do the work."""
        self._work(session.items)
        return True


def with_tests(
    work: Callable[[list[Any]], None],
    folder: Path,
    *,
    slow: bool,
    rooms: Sequence[str] = (),
    names: Sequence[str] = (),
) -> None:
    """Collect tests, with those that are marked as slow or without, and work.

    They are the tests of these `names`, or all of some rooms, or all.
    """
    folders = [ROOT / "tests" / room for room in rooms] or [ROOT / "tests"]
    files = (
        path
        for path in sorted(path for tests in folders for path in tests.rglob("test_*.py"))
        if not any(word in str(path.relative_to(ROOT / "tests")) for word in LEFT_OUT)
    )
    marked = [] if slow else ["-m", "not slow"]
    code = pytest_main([*marked, *(names or map(str, files))], [_Instead(work)], folder)
    # Exit code 5 means that no test was run, as is the case here. It is 1 if some files cannot be collected,
    # such as those that need a published layout that is not compiled in; the others can.
    if code not in (0, 1, 5):
        raise SystemExit(f"tests cannot be collected: pytest ends with {code}")
