"""Deliberate mistakes in the code, and whether a test notices.

Run: python -m benchmarks.mutants --json FILE [--count 400] [--areas steps training …] [--minutes 60]

One operator or number of a module is changed at a time, drawn at random from all that there are; then those
tests run that reach the changed line, the quickest first, until one fails. Which reach it is found out once,
by running all tests of an area with a tracer. The file keeps each mutant: the benchmark goes on where it was
stopped. `survivors[]` have a `reason`, which is written by hand and kept. Modules are changed in the memory
of a forked process; files stay as they are. The kernel's headers are no modules, and are left alone.
"""

import argparse
import ast
import copy
import json
import os
import random
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import SourceFileLoader
from importlib.util import spec_from_loader
from pathlib import Path
from typing import Any

from parkf.files import write_json

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src/parkf"
# Tests that may notice, by area; without those that compile, or lead whole runs.
AREAS = {
    "steps": ("tests/steps", "tests/codegen/test_numpy_step.py"),
    "codegen": ("tests/steps", "tests/codegen"),
    "training": ("tests/training",),
    "parameters": ("tests/parameters",),
    "kalman": ("tests/kalman",),
    "validation": ("tests/validation",),
}
SLOW = (
    "test_commands",
    "sanitizer",
    "gpu",
    "test_kernel",
    "full_cuts",
    "full_global",
    "memory",
    "fuzz",
    "reproduce",
)
PATIENCE_S = 300.0
# Exit codes of pytest: a test failed, could not be collected, or broke pytest itself.
_NOTICED = (1, 2, 3)
# Of those that reach a line, the quickest.
MOST_TESTS = 60


@dataclass(frozen=True)
class Mutant:
    """One change: a line of a module, and what stands there instead."""

    module: str
    line: int
    before: str
    after: str
    number: int  # of the node, in the order of the tree
    choice: int  # which of the node's changes


class Changer(ast.NodeVisitor):
    """Finds all that can be changed in a module, in a fixed order."""

    def __init__(self) -> None:
        self.found: list[tuple[ast.AST, list[ast.AST]]] = []

    def generic_visit(self, node: ast.AST) -> None:
        """Look at a node, then at those within it."""
        changes = _changes(node)
        if changes:
            self.found.append((node, changes))
        super().generic_visit(node)

    def visit_Assert(self, node: ast.Assert) -> None:
        """Leave assertions alone."""

    def visit_Raise(self, node: ast.Raise) -> None:
        """Leave messages alone; what leads to them is changed."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Leave texts alone."""

    def visit_arguments(self, node: ast.arguments) -> None:
        """Leave types alone."""
        for default in (*node.defaults, *node.kw_defaults):
            if default is not None:
                self.visit(default)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Leave types alone."""
        if node.value is not None:
            self.visit(node.value)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Leave decorators and types alone."""
        self.visit(node.args)
        for statement in node.body:
            self.visit(statement)


_SWAPS: dict[type, tuple[type, ...]] = {
    ast.Lt: (ast.LtE, ast.Gt), ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.Lt), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
    ast.Add: (ast.Sub,), ast.Sub: (ast.Add,), ast.Mult: (ast.Div,), ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Mod,), ast.Mod: (ast.FloorDiv,), ast.Pow: (ast.Mult,),
    ast.BitAnd: (ast.BitOr,), ast.BitOr: (ast.BitAnd,), ast.And: (ast.Or,), ast.Or: (ast.And,),
}  # fmt: skip


def _changes(node: ast.AST) -> list[ast.AST]:
    """Give what a node may become."""
    changed: list[ast.AST] = []
    if isinstance(node, ast.Compare):
        for kind in _SWAPS.get(type(node.ops[0]), ()):
            changed.append(_with(node, ops=[kind(), *node.ops[1:]]))
    elif isinstance(node, (ast.BinOp, ast.BoolOp, ast.AugAssign)):
        text = any(isinstance(part, ast.Constant) and isinstance(part.value, str) for part in ast.walk(node))
        for kind in () if text else _SWAPS.get(type(node.op), ()):
            changed.append(_with(node, op=kind()))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Not, ast.Invert)):
        changed.append(node.operand)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        changed.append(ast.Constant(not node.value))
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        changed += [ast.Constant(node.value + 1), *([ast.Constant(node.value - 1)] if node.value > 0 else [])]
    elif isinstance(node, ast.Constant) and isinstance(node.value, float):
        changed.append(ast.Constant(1.0 if node.value == 0 else 2 * node.value))
    return [ast.copy_location(one, node) for one in changed]


def _with(node: ast.AST, **parts: Any) -> ast.AST:
    changed = copy.copy(node)
    for name, part in parts.items():
        setattr(changed, name, part)
    return changed


def mutants_of(path: Path) -> list[Mutant]:
    """Give all mutants of a module."""
    changer = Changer()
    changer.visit(ast.parse(path.read_text()))
    module = str(path.relative_to(SOURCE.parent))
    return [
        Mutant(module, node.lineno, ast.unparse(node)[:80], ast.unparse(change)[:80], number, choice)
        for number, (node, changes) in enumerate(changer.found)
        for choice, change in enumerate(changes)
        if ast.unparse(node) != ast.unparse(change)
    ]


def mutated(mutant: Mutant) -> ast.Module:
    """Give the module's tree with the change."""
    tree = ast.parse((SOURCE.parent / mutant.module).read_text())
    changer = Changer()
    changer.visit(tree)
    node, changes = changer.found[mutant.number]

    class Put(ast.NodeTransformer):
        def visit(self, here: ast.AST) -> Any:
            return changes[mutant.choice] if here is node else self.generic_visit(here)

    return ast.fix_missing_locations(Put().visit(tree))


class Substitute(MetaPathFinder, SourceFileLoader):
    """Imports a mutated module in place of the one on disk."""

    def __init__(self, mutant: Mutant) -> None:
        name = mutant.module.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        super().__init__(name, str(SOURCE.parent / mutant.module))
        self._code = compile(mutated(mutant), self.path, "exec")

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        """Claim the one module."""
        if fullname != self.name:
            return None
        places = [str(Path(self.path).parent)] if self.path.endswith("__init__.py") else None
        return spec_from_loader(fullname, self, origin=self.path, is_package=places is not None)

    def get_code(self, fullname: str) -> Any:
        """Give what was compiled."""
        return self._code


class Tracer:
    """Notes which lines of the package each test reaches, and how long it takes; a plugin of pytest."""

    def __init__(self) -> None:
        self.lines: dict[str, set[str]] = {}
        self.seconds: dict[str, float] = {}
        self._root = str(SOURCE.parent) + os.sep
        self._here: set[tuple[str, int]] = set()
        self.failed: set[str] = set()

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Note a test that fails without any mutant."""
        if report.failed:
            self.failed.add(report.nodeid)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Begin with a test."""
        self._here = set()
        self.seconds[nodeid] = time.process_time()
        sys.settrace(self._trace)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Keep what it has reached."""
        sys.settrace(None)
        self.seconds[nodeid] = time.process_time() - self.seconds[nodeid]
        self.lines[nodeid] = {f"{path.removeprefix(self._root)}:{line}" for path, line in self._here}

    def _trace(self, frame: Any, event: str, argument: Any) -> Any:
        path = frame.f_code.co_filename
        if not path.startswith(self._root):
            return None
        self._here.add((path, frame.f_lineno))
        return self._line

    def _line(self, frame: Any, event: str, argument: Any) -> Any:
        self._here.add((frame.f_code.co_filename, frame.f_lineno))
        return self._line


def in_child(work: Any, patience: float = PATIENCE_S) -> tuple[int, str]:
    """Run something in a forked process: exit code, -1 where it took too long, and what it printed last."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        os.setsid()
        os.dup2(write, 1)
        os.dup2(write, 2)
        try:
            code = work()
        except BaseException as error:
            print(repr(error))
            code = 1
        sys.stdout.flush()
        os._exit(int(code) & 0xFF)
    os.close(write)
    os.set_blocking(read, False)
    until, said = time.monotonic() + patience, b""
    while True:
        with suppress(BlockingIOError):
            said = (said + os.read(read, 65536))[-4000:]
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            break
        if time.monotonic() > until:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            code = -1
            break
        time.sleep(0.02)
    os.close(read)
    return code, said.decode(errors="replace")


def pytest_main(arguments: list[str], plugins: list[Any]) -> int:
    """Run pytest in this process."""
    import pytest

    os.chdir(ROOT)
    return int(pytest.main(["-q", "--no-header", "-p", "no:cacheprovider", *arguments], plugins=plugins))


def reach(area: str, folder: Path) -> dict[str, Any]:
    """Give which lines each test of an area reaches, and its seconds; kept in a file."""
    path = folder / f"reach-{area}.json"
    if not path.exists():
        skip = " and ".join(f"not {word}" for word in SLOW)
        tests = [name for name in AREAS[area] if (ROOT / name).exists()]

        def work() -> int:
            tracer = Tracer()
            code = pytest_main([*tests, "-k", skip], [tracer])
            # What fails without a mutant tells nothing of one.
            lines = {test: sorted(found) for test, found in tracer.lines.items() if test not in tracer.failed}
            write_json(path, {"lines": lines, "seconds": tracer.seconds})
            return 0 if code <= 1 else code

        code, said = in_child(work, patience=7200.0)
        if code:
            path.unlink(missing_ok=True)
            raise SystemExit(f"tests of {area} fail without a mutant:\n{said}")
    return dict(json.loads(path.read_text()))


def judge(mutant: Mutant, known: dict[str, Any]) -> str:
    """Run the tests that reach a mutant's line: who noticed; empty where nobody did."""
    where = f"parkf/{mutant.module.removeprefix('parkf/')}:{mutant.line}"
    reached = [test for test, lines in known["lines"].items() if where in lines]
    # A line that modules run as they are imported is reached before the first test begins.
    tests = sorted(reached or known["lines"], key=lambda test: known["seconds"][test])
    # Cases may be named after what a mutant changes.
    tests = list(dict.fromkeys(test.split("[")[0] for test in tests))

    def work() -> int:
        sys.meta_path.insert(0, Substitute(mutant))
        return pytest_main(["-x", *tests[:MOST_TESTS]], [])

    code, said = in_child(work)
    if code == -1:
        return f"no end within {PATIENCE_S:.0f} s"
    if code not in (0, *_NOTICED):
        raise SystemExit(f"tests of {mutant} could not be run:\n{said}")
    failed = [line for line in said.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return "" if code == 0 else (failed[0].split(" - ")[0] if failed else said.strip().splitlines()[-1])


def drawn(areas: list[str], seed: int) -> Iterator[tuple[str, Mutant]]:
    """Draw mutants without end, an area after the other, none twice."""
    draw = random.Random(seed)
    stacks = {}
    for area in areas:
        files = sorted((SOURCE / area).rglob("*.py"))
        stacks[area] = [mutant for path in files for mutant in mutants_of(path)]
        draw.shuffle(stacks[area])
    while any(stacks.values()):
        for area in areas:
            if stacks[area]:
                yield area, stacks[area].pop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, required=True, help="takes the outcome; what is in it is kept")
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--areas", nargs="+", choices=AREAS, default=list(AREAS))
    parser.add_argument("--minutes", type=float, default=1e9, help="stop after so many")
    parser.add_argument("--folder", type=Path, default=ROOT / "build/mutants", help="keeps what tests reach")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    before = json.loads(options.json.read_text()) if options.json.exists() else {"tried": []}
    tried: list[dict[str, Any]] = before["tried"]
    reasons = {(s["module"], s["before"], s["after"]): s["reason"] for s in before.get("survivors", [])}
    done = {(one["module"], one["number"], one["choice"]) for one in tried}
    until = time.monotonic() + 60 * options.minutes
    # Imported once, not by every child.
    for module in (
        "numpy",
        "scipy.stats",
        "sympy",
        "pandas",
        "pyarrow.parquet",
        "pytest",
        "yaml",
        "pydantic",
        "typer",
    ):
        __import__(module)
    for area, mutant in drawn(options.areas, options.seed):
        if len(tried) >= options.count or time.monotonic() > until:
            break
        if (mutant.module, mutant.number, mutant.choice) in done:
            continue
        by = judge(mutant, reach(area, options.folder))
        tried.append({**asdict(mutant), "area": area, "killed_by": by})
        change = f"{mutant.module}:{mutant.line} {mutant.before} → {mutant.after}"
        print(f"{'killed  ' if by else 'SURVIVED'} {change} {by}", flush=True)
        survivors = [one for one in tried if not one["killed_by"]]
        write_json(
            options.json,
            {
                "seed": options.seed,
                "mutants": len(tried),
                "killed": len(tried) - len(survivors),
                "survivors": [
                    {key: one[key] for key in ("module", "line", "before", "after")}
                    | {
                        "reason": reasons.get(
                            (one["module"], one["before"], one["after"]), "not yet looked at"
                        )
                    }
                    for one in survivors
                ],
                "tried": tried,
            },
        )
    print(f"{sum(bool(one['killed_by']) for one in tried)} of {len(tried)} killed; {options.json}")


if __name__ == "__main__":
    main()
