"""Which lines of the package each test reaches, and how long it takes."""

import json
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import pytest
from tools.mutants.child import digest_of, in_child
from tools.mutants.modules import SOURCE
from tools.mutants.mutant import ROOT, Mutant
from tools.mutants.session import run_items

# The number of calls for which a function is traced line by line in a test.
MOST_CALLS = 200
# Time limit for the tests of a file while they are traced, s.
_FILE_S = 1800


class Tracer:
    """A plugin of pytest that traces the lines that tests reach."""

    def __init__(self) -> None:
        self.lines: dict[str, list[str]] = {}
        self.of_fixtures: dict[str, set[str]] = {}
        self.seconds: dict[str, float] = {}
        self.costs: Counter[str] = Counter()
        self.failed: set[str] = set()
        self._root = str(SOURCE) + os.sep

    def begin(self) -> None:
        """Begin to trace."""
        self._here: set[tuple[str, int]] = set()
        self._calls: Counter[Any] = Counter()
        threading.settrace(self._trace)
        sys.settrace(self._trace)

    def end(self) -> list[str]:
        """Stop tracing, and return the lines that were reached."""
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]
        return sorted(self._named(self._here))

    def _named(self, places: set[tuple[str, int]]) -> set[str]:
        return {f"{path.removeprefix(self._root)}:{line}" for path, line in places}

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[None]:
        """Record separately what a fixture's set-up reaches: it runs once for all tests that use it."""
        before, calls = self._here, self._calls
        self._here, self._calls = set(), Counter()
        began, inner = time.process_time(), self.costs.total()
        try:
            return (yield)
        finally:
            # Without the fixtures that it has set up itself.
            self.costs[fixturedef.argname] += time.process_time() - began - (self.costs.total() - inner)
            self.of_fixtures.setdefault(fixturedef.argname, set()).update(self._named(self._here))
            self._here, self._calls = before | self._here, calls

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Note a test that fails without any change."""
        if report.failed:
            self.failed.add(report.nodeid)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Begin with a test."""
        self.seconds[nodeid] = time.process_time() - self.costs.total()
        self.begin()

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Record the lines that the test has reached."""
        self.lines[nodeid] = self.end()
        self.seconds[nodeid] = time.process_time() - self.costs.total() - self.seconds[nodeid]

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


class Reach:
    """The lines that all tests reach.

    Parameters
    ----------
    folder : Path
        Folder that stores what the tests of a file reach, until that file or the reached code changes.
    items : list of pytest items
        All tests.
    imported : list of str
        Lines that importing the tests has reached, as file:line.
    """

    def __init__(self, folder: Path, items: list[Any], imported: list[str]) -> None:
        self.tests: dict[str, set[str]] = {}
        self.seconds: dict[str, float] = {}
        self._fixtures: dict[str, dict[tuple[Path, str], float]] = {}
        self.imported = set(imported)
        files: dict[Path, list[Any]] = {}
        for item in items:
            files.setdefault(item.path, []).append(item)
        for path, there in files.items():
            name = "-".join(path.relative_to(ROOT).with_suffix("").parts)
            kept = folder / f"{name}-{digest_of([path])}.json"
            found = json.loads(kept.read_text()) if kept.exists() else {}
            # Slow tests may be left out now, or may have been left out before.
            names = {item.nodeid for item in there}
            known = found and names <= found["seconds"].keys()
            if not known or found["sources"] != _sources(found["lines"]):
                _follow(there, kept)
                found = json.loads(kept.read_text())
            for case in sorted(names & found["lines"].keys()):
                lines = found["lines"][case]
                # The names of cases may contain a changed number, so a test runs with all of its cases.
                test = case.split("[")[0]
                self.seconds[test] = self.seconds.get(test, 0.0) + found["seconds"][case]
                for name, cost in found.get("fixtures", {}).get(case, {}).items():
                    self._fixtures.setdefault(test, {})[path, name] = cost
                for line in lines:
                    self.tests.setdefault(line, set()).add(test)

    def place(self, mutant: Mutant) -> str:
        """Return the line of a mutant, as file:line, or the nearest one above that anything reaches.

        Python computes a tuple of numbers as a whole, so that only the line where it begins is reached.
        """
        lines = (f"{mutant.file}:{line}" for line in range(mutant.line, max(mutant.line - 30, 0), -1))
        here = f"{mutant.file}:{mutant.line}"
        return next((line for line in lines if line in self.tests or line in self.imported), here)

    def is_imported(self, mutant: Mutant) -> bool:
        """Whether importing the module reaches a mutant."""
        # Without tests, the lines of functions are not known; those that define them are reached, however.
        inside = not self.tests and mutant.within.rpartition(".")[2].lstrip("_")[:1].islower()
        return (f"{mutant.file}:{mutant.line}" if inside else self.place(mutant)) in self.imported

    def of(self, mutant: Mutant) -> list[str]:
        """Return the tests that a mutant can affect.

        These are the tests that reach its line. A line that importing reaches, such as a formula or a number
        of a module, can affect all tests that reach the module. If no test reaches anything else in the
        module, it can affect all tests.
        """
        where = self.place(mutant)
        tests = set(self.tests.get(where, ()))
        if where in self.imported:
            tests |= self.of_modules([mutant.file])
            tests = tests or set(self.seconds)
        return sorted(tests)

    def quickest(self, tests: Collection[str], most: float) -> list[str]:
        """Return the quickest tests, as many as some seconds allow; tests of a file share its fixtures."""

        def alone(test: str) -> float:
            return self.seconds[test] + sum(self._fixtures.get(test, {}).values())

        chosen, spent, made = [], 0.0, set()
        for test in sorted(tests, key=alone):
            own = self._fixtures.get(test, {})
            spent += self.seconds[test] + sum(own[name] for name in own.keys() - made)
            made |= own.keys()
            if spent > most and chosen:
                break
            chosen.append(test)
        return chosen

    def of_modules(self, files: Collection[str]) -> set[str]:
        """Return the tests that reach anything in some modules."""
        there = (some for line, some in self.tests.items() if line.rsplit(":", 1)[0] in files)
        return set().union(*there)


def _sources(lines: dict[str, list[str]]) -> dict[str, str]:
    """Return digests of the files whose lines are reached."""
    files = sorted({line.rsplit(":", 1)[0] for there in lines.values() for line in there})
    return {file: digest_of([SOURCE / file]) if (SOURCE / file).exists() else "" for file in files}


def _of(fixtures: list[str], lines: dict[str, set[str]]) -> set[str]:
    return set().union(*(lines.get(name, ()) for name in fixtures))


def _follow(items: list[Any], kept: Path) -> None:
    def work() -> int:
        tracer = Tracer()
        items[0].config.pluginmanager.register(tracer)
        run_items(items)
        # Tests that fail without a change cannot reveal one.
        lines = {
            item.nodeid: sorted({*tracer.lines[item.nodeid], *_of(item.fixturenames, tracer.of_fixtures)})
            for item in items
            if item.nodeid not in tracer.failed
        }
        fixtures = {
            item.nodeid: {name: cost for name in item.fixturenames if (cost := tracer.costs[name]) > 0.05}
            for item in items
        }
        found = {"sources": _sources(lines), "lines": lines, "seconds": tracer.seconds, "fixtures": fixtures}
        kept.write_text(json.dumps(found))
        return 0

    began = time.monotonic()
    code, said = in_child(work, processor_s=_FILE_S)
    if code:
        kept.unlink(missing_ok=True)
        raise SystemExit(f"{items[0].path} cannot be run:\n{said[-4000:]}")
    print(f"{kept.stem.rsplit('-', 1)[0]}: {len(items)} tests, {time.monotonic() - began:.0f} s", flush=True)
