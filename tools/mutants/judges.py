"""Finds the test that notices a change."""

import importlib
import json
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import Any

from tools.mutants.child import PROCESSOR_S, digest_of, failed_in, in_child
from tools.mutants.headers import EXTENSIONS, KERNEL, Extensions, NoMutantError, SubstituteExtensions
from tools.mutants.modules import SOURCE, Substitute, change_in_place
from tools.mutants.mutant import ROOT, Mutant
from tools.mutants.reach import Reach, Tracer
from tools.mutants.session import Failures, pytest_main, run_items, with_tests

# Formulas and generated code are compiled into the kernel. If a change were compared with a kernel that was
# compiled from the old formulas, every change would be noticed, for the wrong reason. The kernel is therefore
# compiled from the changed ones.
_COMPILED_IN = ("parkf/model/steps/", "parkf/model/codegen/")
_SINGLE_STEP_TESTS = ("tests/model/codegen/test_kernel_steps.py", "tests/fit/test_magnet.py")
# Processor time for the tests of one mutant, s, measured without the mutant. The tests of its room get it,
# and the others get it again. A survivor uses all of it.
TESTS_S = 15.0
# The same for mutants that survived before.
LONGER_S = 90.0
# Time for the tests that are tried with each unchanged extension module, s.
_TRIED_S = 60.0


Verdict = Callable[[Mutant, str], None]


def killer(finders: Callable[[], list[MetaPathFinder]], tests: list[str], folder: Path) -> str:
    """Return the test that fails if the finders import changed modules, or an empty string."""
    if not tests:
        return ""

    def work() -> int:
        sys.meta_path[:0] = finders()
        return pytest_main(["-x", *tests], [], folder)

    code, said = in_child(work)
    if code == 0:
        return ""
    if code < 0:
        return f"no end within {PROCESSOR_S} s, or a crash: signal {-code}"
    # A test case whose name contains the changed number may no longer exist: exit codes 4 and 5.
    if code not in (1, 2, 3, 4, 5):
        raise SystemExit(f"tests could not be run:\n{said}")
    return [*failed_in(said), *said.strip().splitlines()[-1:], f"exit code {code}"][0]


def _killer_of(mutant: Mutant | None, items: list[Any]) -> str:
    """Return the test that fails with a function changed, in a session that has collected all tests."""
    if not items:
        return ""

    def work() -> int:
        failures = Failures()
        items[0].config.pluginmanager.register(failures)
        if mutant:
            change_in_place(mutant)
        run_items(items, stop=lambda: bool(failures.tests))
        print("".join(f"\nFAILED {test}" for test in failures.tests))
        return len(failures.tests)

    code, said = in_child(work)
    if code < 0:
        return f"no end within {PROCESSOR_S} s, or a crash: signal {-code}"
    return [*failed_in(said), *said.strip().splitlines()[-1:], f"exit code {code}"][0] if code else ""


def _expect_nothing(by: str, mutant: Mutant) -> None:
    if by:
        raise SystemExit(f"{by} notices a change of nothing in {mutant.file}")


class ModuleJudge:
    """Judges changes in Python modules.

    A change inside a function is judged in processes that are forked from one that has collected all tests.
    A change that affects importing needs a process that has not imported the package.

    Parameters
    ----------
    folder : Path
    slow : bool
        Whether tests that are marked as slow run, too.
    seconds : float
        Processor time for the tests of a mutant's room, and again for others, s.
    rooms : sequence of str
        Rooms whose tests run; by default all.
    names : sequence of str
        Tests, or files of tests, that run for every mutant, whether they reach it or not.
    """

    def __init__(
        self,
        folder: Path,
        *,
        slow: bool,
        seconds: float,
        rooms: Sequence[str] = (),
        names: Sequence[str] = (),
    ) -> None:
        self._folder = folder
        self._rooms, self._names = rooms, names
        self._slow, self._seconds = slow, seconds
        self._checked: set[str] = set()

    def judge(self, mutants: list[Mutant], verdict: Verdict, late: Path) -> None:
        """Judge the mutants that a process with collected tests can judge; write the rest to `late`.

        Parameters
        ----------
        mutants : list of Mutant
        verdict : function of the mutant and the test that notices
        late : Path
            File for the rest: positions in `mutants` and the tests to run, and the tests that use each of the
            kernel's extension modules.
        """
        tracer = Tracer()

        def work(items: list[Any]) -> None:
            reach = Reach(self._folder, [] if self._names else items, tracer.end())
            cases: dict[str, list[Any]] = {}
            for item in items:
                cases.setdefault(item.nodeid.split("[")[0], []).append(item)
            left = {}
            for place, mutant in enumerate(mutants):
                tests = list(cases) if self._names else self._chosen(mutant, reach)
                at_import = reach.is_imported(mutant)
                if at_import or mutant.file.startswith(_COMPILED_IN):
                    left[place] = tests
                    continue
                chosen = [item for test in tests for item in cases[test]]
                if mutant.room not in self._checked:
                    _expect_nothing(_killer_of(None, chosen), mutant)
                    self._checked.add(mutant.room)
                verdict(mutant, _killer_of(mutant, chosen))
            late.write_text(json.dumps({"tests": left, "users": _users(reach)}))

        tracer.begin()
        with_tests(work, self._folder, slow=self._slow, rooms=self._rooms, names=self._names)

    def _chosen(self, mutant: Mutant, reach: Reach) -> list[str]:
        """Return the tests to run: first those of the mutant's room, the quickest first."""
        tests = reach.of(mutant)
        own = [test for test in tests if test.startswith(f"tests/{mutant.room}/")]
        # Other rooms use formulas only as they were compiled.
        others = [] if mutant.file.startswith(_COMPILED_IN) else sorted({*tests} - {*own})
        return reach.quickest(own, self._seconds) + reach.quickest(others, self._seconds)

    def killer(self, mutant: Mutant, tests: list[str]) -> str:
        """Return the test that notices a change that affects importing, or an empty string."""
        if mutant.room not in self._checked:
            _expect_nothing(killer(lambda: [Substitute(mutant.file)], tests, self._folder), mutant)
            self._checked.add(mutant.room)
        by = killer(lambda: [Substitute(mutant.file, mutant)], tests, self._folder)
        if not by and mutant.file.startswith(_COMPILED_IN):
            by = self._compiled_in(mutant)
        return by

    def _compiled_in(self, mutant: Mutant) -> str:
        """Return the test that notices the change in the kernel's single steps."""
        generated = self._folder / "generated"

        def generate() -> int:
            sys.meta_path.insert(0, Substitute(mutant.file, mutant))
            # Formulas of published layouts are already compiled, so only the changed ones are compiled here.
            sys.argv = ["parkf.model.codegen", str(self._folder / "no layouts"), str(generated)]
            importlib.import_module("parkf.model.codegen.__main__").main()
            return 0

        shutil.rmtree(generated, ignore_errors=True)
        if in_child(generate)[0]:
            return "python -m parkf.model.codegen"
        extensions = Extensions(self._folder)
        headers = [path.relative_to(generated) for path in generated.rglob("*.hpp")]
        if all(
            (generated / path).read_bytes() == (extensions.generated / path).read_bytes() for path in headers
        ):
            return ""
        try:
            changed = extensions.with_generated(generated)
        except NoMutantError:
            return "the compiler"
        return killer(
            lambda: [Substitute(mutant.file, mutant), SubstituteExtensions(changed)],
            list(_SINGLE_STEP_TESTS),
            self._folder,
        )


def _users(reach: Reach) -> dict[str, list[str]]:
    """Return the tests that reach a line of Python that calls an extension module, for each module."""
    users: dict[str, set[str]] = {module: set() for module in EXTENSIONS}
    rooms: dict[str, set[str]] = {module: set() for module in EXTENSIONS}
    for path in (SOURCE / "parkf").rglob("*.py"):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            for module in EXTENSIONS:
                if f"{module}." in line:
                    file = path.relative_to(SOURCE)
                    users[module] |= reach.tests.get(f"{file}:{number}", set())
                    rooms[module].add(f"tests/{file.parts[1]}/")
    result = {}
    for module, tests in users.items():
        own = [test for test in tests if test.startswith(tuple(rooms[module]))]
        result[module] = reach.quickest(own or tests, _TRIED_S)
    return result


class _Stopwatch:
    """A plugin of pytest: the processor time of tests, and which fail."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Note a failure."""
        if report.failed:
            self.failed.add(report.nodeid.split("[")[0])

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Begin with a test."""
        self._began = time.process_time()

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Add up its cases."""
        test = nodeid.split("[")[0]
        self.seconds[test] = self.seconds.get(test, 0.0) + time.process_time() - self._began


class KernelJudge:
    """Judges changes in the kernel's headers.

    Parameters
    ----------
    folder : Path
    users : dict of str and list
        For each extension module the tests that use it.
    """

    def __init__(self, folder: Path, users: dict[str, list[str]]) -> None:
        self._folder = folder
        self._users = users
        self._extensions: Extensions | None = None
        self._seconds: dict[str, dict[str, float]] = {}

    def killer(self, mutant: Mutant) -> str:
        """Return the test that notices the change, or an empty string."""
        self._extensions = self._extensions or Extensions(self._folder)
        header = mutant.file.removeprefix("kernel/")
        changed = self._extensions.with_change(mutant)
        for module in changed:
            if module not in self._seconds:
                unchanged = self._extensions.with_change(None, header)
                self._seconds[module] = self._measured(module, unchanged[module])
            tests = sorted(self._seconds[module], key=self._seconds[module].__getitem__)
            only = {module: changed[module]}
            if by := killer(lambda only=only: [SubstituteExtensions(only)], tests, self._folder):  # type: ignore[misc]
                return by
        return ""

    def _measured(self, module: str, path: Path) -> dict[str, float]:
        """Return the tests that an unchanged module passes, and their seconds."""
        tests = [*self._users[module], *((_SINGLE_STEP_TESTS[0],) if module == "_fitter" else ())]
        files = sorted({ROOT / test.split("::")[0] for test in tests})
        kept = self._folder / f"seconds-{module}-{digest_of([*files, *KERNEL.rglob('*.*pp')])}.json"
        if not kept.exists():

            def work() -> int:
                sys.meta_path.insert(0, SubstituteExtensions({module: path}))
                watch = _Stopwatch()
                pytest_main(["-m", "not slow", *tests], [watch], self._folder)
                good = {test: s for test, s in watch.seconds.items() if test not in watch.failed}
                kept.write_text(json.dumps({"seconds": good, "failed": sorted(watch.failed)}))
                return 0

            code, said = in_child(work, processor_s=1800)
            if code:
                raise SystemExit(f"tests of {module} cannot be run:\n{said[-4000:]}")
        return dict(json.loads(kept.read_text())["seconds"])
