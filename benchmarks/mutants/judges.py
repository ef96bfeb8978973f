"""Who notices a change."""

import importlib
import json
import shutil
import sys
import time
from collections.abc import Callable
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import Any

from benchmarks.mutants.child import PROCESSOR_S, digest_of, failed_in, in_child, pytest_main
from benchmarks.mutants.headers import KERNEL, Extensions, NoMutantError, SubstituteExtensions
from benchmarks.mutants.modules import Substitute
from benchmarks.mutants.mutant import ROOT, Mutant
from benchmarks.mutants.reach import Reach

# Formulas and generated code are compiled into the kernel. Held against one compiled from other formulas,
# every change would be noticed for the wrong reason: these tests alone count.
_COMPILED_IN = {"steps", "codegen"}
_SINGLE_STEP_TESTS = ("tests/codegen/test_kernel_steps.py", "tests/kalman/test_magnet.py")
_WITHOUT_KERNEL = ("tests/steps", "tests/parameters", "tests/training")
# Processor time of the tests of a mutant, s, as measured without it; a survivor costs all of it.
TESTS_S = 25.0
# Tests of what an extension module does; not those that compile the headers themselves.
KERNEL_TESTS = {
    "_fitter": (
        "tests/codegen/test_kernel_steps.py",
        "tests/scoring/test_score.py",
        *(
            f"tests/kalman/test_{name}.py"
            for name in ("fit", "status", "interval", "magnet", "patterns", "robust", "velo_only", "file")
        ),
    ),
    "_full_fit": ("tests/kalman/test_full.py",),
    "_transport": (
        *(f"tests/transport/test_{name}.py" for name in ("runge_kutta", "particles", "material")),
        "tests/detector/test_field.py",
        "tests/simulation/test_detector_response.py",
    ),
    "_pattern": ("tests/simulation/test_pattern.py", "tests/simulation/test_found.py"),
}


class NothingNoticed(SystemExit):
    """A test that fails without a change: the benchmark would be wrong."""


def _enough(tests: list[str], seconds: dict[str, float]) -> list[str]:
    """Give the quickest of tests, as many as there is time for."""
    chosen, spent = [], 0.0
    for test in sorted(tests, key=lambda test: seconds[test]):
        spent += seconds[test]
        if spent > TESTS_S and chosen:
            break
        chosen.append(test)
    return chosen


def _killer(finders: Callable[[], list[MetaPathFinder]], tests: list[str]) -> str:
    """Give the test that fails with something else imported; empty where none does."""
    if not tests:
        return ""

    def work() -> int:
        sys.meta_path[:0] = finders()
        return pytest_main(["-x", *tests], [])

    code, said = in_child(work)
    if code == 0:
        return ""
    if code < 0:
        return f"no end within {PROCESSOR_S} s, or a crash: signal {-code}"
    # A case of a test that is named after what has changed may be gone: 4 and 5.
    if code not in (1, 2, 3, 4, 5):
        raise SystemExit(f"tests could not be run:\n{said}")
    return [*failed_in(said), *said.strip().splitlines()[-1:], f"exit code {code}"][0]


class ModuleJudge:
    """Of changes in Python modules."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._checked: set[str] = set()
        self._reach: Reach | None = None

    def killer(self, area: str, mutant: Mutant) -> str:
        """Give the test that notices; empty where none does."""
        self._reach = self._reach or Reach(self._folder)
        tests = self._reach.of(mutant.file, mutant.line)
        if area in _COMPILED_IN:
            tests = [test for test in tests if test.startswith(_WITHOUT_KERNEL)]
        tests = _enough(tests, self._reach.seconds)
        if area not in self._checked:
            if by := _killer(lambda: [Substitute(mutant.file)], tests):
                raise NothingNoticed(f"{by} notices a change of nothing in {mutant.file}")
            self._checked.add(area)
        by = _killer(lambda: [Substitute(mutant.file, mutant)], tests)
        if not by and area in _COMPILED_IN:
            by = self._compiled_in(mutant)
        return by

    def _compiled_in(self, mutant: Mutant) -> str:
        """Give who notices in the kernel's single steps, compiled from what a changed module generates."""
        generated = self._folder / "generated"

        def generate() -> int:
            sys.meta_path.insert(0, Substitute(mutant.file, mutant))
            sys.argv = ["parkf.codegen", str(generated)]
            importlib.import_module("parkf.codegen.__main__").main()
            return 0

        shutil.rmtree(generated, ignore_errors=True)
        if in_child(generate)[0]:
            return "python -m parkf.codegen"
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
        return _killer(
            lambda: [Substitute(mutant.file, mutant), SubstituteExtensions(changed)], list(_SINGLE_STEP_TESTS)
        )


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
    """Of changes in the kernel's headers."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._extensions: Extensions | None = None
        self._seconds: dict[str, dict[str, float]] = {}

    def killer(self, area: str, mutant: Mutant) -> str:
        """Give the test that notices; empty where none does."""
        self._extensions = self._extensions or Extensions(self._folder)
        header = mutant.file.removeprefix("kernel/")
        changed = self._extensions.with_change(mutant)
        for module in changed:
            if module not in self._seconds:
                unchanged = self._extensions.with_change(None, header)
                self._seconds[module] = self._measured(module, unchanged[module])
            tests = _enough(list(self._seconds[module]), self._seconds[module])
            only = {module: changed[module]}
            if by := _killer(lambda only=only: [SubstituteExtensions(only)], tests):  # type: ignore[misc]
                return by
        return ""

    def _measured(self, module: str, path: Path) -> dict[str, float]:
        """Give the tests that an unchanged module passes, and their seconds."""
        tests = [ROOT / name for name in KERNEL_TESTS[module]]
        kept = self._folder / f"seconds-{module}-{digest_of([*tests, *KERNEL.rglob('*.*pp')])}.json"
        if not kept.exists():

            def work() -> int:
                sys.meta_path.insert(0, SubstituteExtensions({module: path}))
                watch = _Stopwatch()
                pytest_main(["-m", "not slow", *map(str, tests)], [watch])
                good = {test: s for test, s in watch.seconds.items() if test not in watch.failed}
                kept.write_text(json.dumps({"seconds": good, "failed": sorted(watch.failed)}))
                return 0

            code, said = in_child(work, processor_s=1800)
            if code:
                raise SystemExit(f"tests of {module} cannot be run:\n{said[-4000:]}")
        return dict(json.loads(kept.read_text())["seconds"])
