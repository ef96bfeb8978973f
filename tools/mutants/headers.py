"""The possible changes in the kernel's headers, and extension modules that are compiled with a change.

The fitter and the full fit are compiled once, for plain numbers and with little optimisation. This build
replaces those of all instruction sets, which differ only in speed. Of the fitter's two sets of forms only the
improved one is compiled; the other stays as installed. A change that compiles to the same machine code does
not count, nor does one that does not compile.
"""

import re
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.util import spec_from_file_location
from pathlib import Path
from typing import Any

from tools.mutants.mutant import ROOT, Mutant, numbered

KERNEL = ROOT / "src/kernel"
EXTENSIONS = ("_fitter", "_full_fit", "_transport", "_pattern", "_figures")
# Headers that are not mutated: they tune speed, name builds, or run on GPUs alone.
LEFT_OUT = {
    *(
        "fit/ahead.hpp",
        "fit/tiles.hpp",
        "fit/magnet_block.hpp",
        "fit/shared_tile.hpp",
        "numbers/build_names.hpp",
    ),
    *(
        "numbers/instruction_sets.hpp",
        "threads/parallel.hpp",
        "threads/team.hpp",
        "bindings/result_memory.hpp",
    ),
}
# These headers are only for several tracks at a time.
_LANES = {"numbers/lanes.hpp", "fit/tile.hpp", "fit/magnet_lanes.hpp"}
_COMPILER = (
    *("g++", "-std=c++17", "-O1", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off", "-Wno-psabi"),
    *("-fPIC", "-fvisibility=hidden", "-c"),
)
_SWAPS = {
    "+": "-", "-": "+", "*": "/", "/": "*", "+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=",
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==",
    "&&": "||", "||": "&&", "&": "|", "|": "&",
}  # fmt: skip
# Operators stand between blanks, unlike the brackets of templates. Digits within names are not numbers.
_OPERATOR = re.compile(r"(?<= )(\+=|-=|\*=|/=|<=|>=|==|!=|&&|\|\||[-+*/<>&|])(?= )")
_NUMBER = re.compile(r"(?<![\w.])(\d+\.\d*(?:e[-+]?\d+)?f?|\d+)(?![\w.])")
_LEFT_LINE = re.compile(
    r"^\s*(#|template|static_assert|namespace|using)|alignas|__attribute__|prefetch|_Pragma"
)


# A word, a member or an entry, with the call or index behind it.
_TERM = r"[A-Za-z_][\w.]*(?:\[[^\[\]]*\]|\([^()]*\))?"
# What stands on the right of an assignment, and arguments that are neighbours.
_RIGHT = re.compile(r"(?<== )([^;{}?=]+)(?=;)")
# Numbers of things and masks have no sign and no unit.
_WHOLE = re.compile(r"\b(?:int|long|auto|bool|Mask|Integer|size_t)\b|&")
_ROOT_CALL = re.compile(r"\b(?:std::)?(?:sqrt|square|abs|exp|log)\b(?=\()")
_PAIR = re.compile(rf"(?<=[(\[{{ ])({_TERM}), ({_TERM})(?=[,)\]}}])")
_CONFUSED = (
    *(("x", "y"), ("tx", "ty"), ("first", "last"), ("begin", "end"), ("before", "after"), ("up", "down")),
    *(("lower", "upper"), ("low", "high"), ("min", "max"), ("sin", "cos")),
)
_OTHER = {one: other for pair in _CONFUSED for one, other in (pair, pair[::-1])}
_WORD = re.compile(r"(?<=[.])\w+\b")
_BOUND = re.compile(rf"(?<=[<>=] )(?<!(?<![<>])= )({_TERM}|\d+\.\d*f?)(?= |\)|;|$)")
_CONDITION = re.compile(r"(?<= if \()([^{}]+)(?=\)(?: \{)?$)")


def _code(line: str) -> str:
    """Replace comments and strings by blanks, so that positions stay the same."""
    without = re.sub(r'"[^"]*"', lambda text: " " * len(text[0]), line)
    return re.sub(r"//.*", lambda text: " " * len(text[0]), without)


def _changes(line: str) -> Iterator[tuple[int, int, str, str]]:
    """Yield begin, end, replacement and kind of each change of a line."""
    code = _code(line)
    if _LEFT_LINE.search(code):
        return
    for m in _OPERATOR.finditer(code):
        yield m.start(), m.end(), _SWAPS[m[0]], "operator"
    for m in _NUMBER.finditer(code):
        if m[0].isdigit():
            yield m.start(), m.end(), str(int(m[0]) + 1), "number"
            if int(m[0]):
                yield m.start(), m.end(), str(int(m[0]) - 1), "number"
        else:
            number, single = m[0].removesuffix("f"), "f" * m[0].endswith("f")
            yield m.start(), m.end(), f"{2 * float(number) or 1.0!r}{single}", "number"
    for m in _RIGHT.finditer(code):
        if _WHOLE.search(code[: m.start()]) or not re.search(" [-+*/] ", m[0]):
            continue
        yield m.start(), m.end(), f"-({m[0]})", "sign"
        yield m.start(), m.end(), f"({m[0]}) * 1000", "factor"
        yield m.start(), m.end(), f"({m[0]}) * 10", "factor"
    for m in _ROOT_CALL.finditer(code):
        yield m.start(), m.end(), "", "factor"
    for m in _PAIR.finditer(code):
        yield m.start(), m.end(), f"{m[2]}, {m[1]}", "exchange"
    for m in _WORD.finditer(code):
        if m[0] in _OTHER:
            yield m.start(), m.end(), _OTHER[m[0]], "exchange"
    for m in () if "for (" in code else _BOUND.finditer(code):
        yield m.start(), m.end(), f"10 * {m[0]}", "bound"
    for m in (*_CONDITION.finditer(code), *_RIGHT.finditer(code)):
        for both in (" && ", " || ", " & ", " | "):
            parts = m[0].split(both)
            for at in range(len(parts) if len(parts) > 1 else 0):
                yield m.start(), m.end(), both.join([*parts[:at], *parts[at + 1 :]]), "selection"


def _found(header: str) -> list[tuple[Mutant, int, str]]:
    """Return the mutants of a header, each with the index of its line and the changed line."""
    places = []
    for index, line in enumerate((KERNEL / header).read_text().splitlines()):
        for begin, end, after, kind in _changes(line):
            if line[begin:end] != after:
                places.append((index, line.strip(), line[:begin] + after + line[end:], kind))
    mutants = numbered(
        Mutant(f"kernel/{header}", "", index + 1, before[:120], changed.strip()[:120], kind)
        for index, before, changed, kind in places
    )
    return [(mutant, index, changed) for mutant, (index, _, changed, _) in zip(mutants, places, strict=True)]


def header_mutants() -> list[Mutant]:
    """Return all mutants of the headers."""
    headers = sorted(str(path.relative_to(KERNEL)) for path in KERNEL.rglob("*.hpp"))
    return [mutant for header in headers if header not in LEFT_OUT for mutant, _, _ in _found(header)]


@dataclass(frozen=True)
class Part:
    """A source file of an extension module; it is compiled again if a header that it includes has changed."""

    module: str
    source: str
    options: tuple[str, ...] = ()


_SINGLE_STEPS = Part("_fitter", "fit/forms.cpp")
_FORMS = ("improved", "production")
_PLAIN = "-DPARKF_BUILD=plain"
_WIDTH = {False: ("-DPARKF_LANE_BYTES=0",), True: ("-DPARKF_LANE_BYTES=16", "-march=x86-64-v2")}


def _parts(lanes: bool) -> tuple[Part, ...]:
    width = (_PLAIN, *_WIDTH[lanes])
    kinds = sorted(path.name for path in (KERNEL / "fit").glob("*_lanes.cpp"))
    return (
        *(Part("_fitter", f"fit/{name}", width) for name in kinds),
        _SINGLE_STEPS,
        Part("_fitter", "bindings/fitter.cpp"),
        Part("_full_fit", "full_fit/full_fit_lanes.cpp", width),
        Part("_full_fit", "bindings/full_fit.cpp"),
        Part("_transport", "transport/carry_lanes.cpp", (_PLAIN, *_WIDTH[False])),
        Part("_transport", "transport/carriers.cpp"),
        Part("_transport", "bindings/transport.cpp"),
        Part("_pattern", "bindings/pattern.cpp"),
        Part("_figures", "bindings/figures.cpp"),
    )


# The builds for instruction sets, which the plain build replaces.
_STANDS_FOR = {
    "_fitter": "_ZN5parkf6kalman8improved8build_{}E=_ZN5parkf6kalman8improved11build_plainE",
    "_full_fit": "_ZN5parkf8full_fit8build_{}E=_ZN5parkf8full_fit11build_plainE",
    "_transport": "_ZN5parkf9transport8build_{}E=_ZN5parkf9transport11build_plainE",
}


class NoMutantError(Exception):
    """The compiler refuses a change, or the change does not alter the machine code."""


class Extensions:
    """Compiles extension modules with a changed header, in a folder that keeps the unchanged parts."""

    def __init__(self, folder: Path) -> None:
        import nanobind

        self._folder = folder
        self._sources = folder / "kernel"
        shutil.rmtree(self._sources, ignore_errors=True)
        shutil.copytree(KERNEL, self._sources)
        (built,) = ROOT.glob("build/cp*/build.ninja")
        self._built = built.parent
        self.generated = self._built / "generated"
        includes = [self._sources, nanobind.include_dir(), sysconfig.get_path("include")]
        self._command = [*_COMPILER, *(f"-I{path}" for path in includes)]
        self._includes: dict[str, set[str]] = {}

    def with_change(self, mutant: Mutant | None, header: str = "") -> dict[str, Path]:
        """Return the extension modules that include a header, with a change in it, by their names.

        Raises
        ------
        NoMutantError
            If the change does not compile, or changes nothing.
        """
        header = mutant.file.removeprefix("kernel/") if mutant else header
        parts = [part for part in _parts(header in _LANES) if header in self._included(part)]
        if mutant:
            index, line = next((at, line) for one, at, line in _found(header) if one.key == mutant.key)
            lines = (KERNEL / header).read_text().splitlines()
            lines[index] = line
            (self._sources / header).write_text("\n".join(lines) + "\n")
            try:
                changed = {part: self._compiled(part, "changed") for part in parts}
            finally:
                shutil.copy(KERNEL / header, self._sources / header)
            same = all(
                path.read_bytes() == self._compiled(part, "unchanged").read_bytes()
                for part, path in changed.items()
            )
            if same:
                raise NoMutantError("same machine code")
        else:
            changed = {}
        modules = dict.fromkeys(part.module for part in parts)
        return {module: self._linked(module, header in _LANES, changed) for module in modules}

    def with_generated(self, generated: Path) -> dict[str, Path]:
        """Return the fitter whose single steps and magnet table are compiled from other generated headers.

        Raises
        ------
        NoMutantError
            If they do not compile.
        """
        improved, production = (
            Part("_fitter", "fit/forms.cpp", (f"-I{generated / name}",)) for name in _FORMS
        )
        changed = {_SINGLE_STEPS: self._compiled(improved, "changed", "improved")}
        others = [self._compiled(production, "changed", "production")]
        return {"_fitter": self._linked("_fitter", False, changed, others)}

    def _included(self, part: Part) -> set[str]:
        if part.source not in self._includes:
            command = [*self._options(part), "-MM", str(self._sources / part.source)]
            said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            inside = (Path(word) for word in said.split() if word.startswith(str(self._sources)))
            self._includes[part.source] = {str(path.relative_to(self._sources)) for path in inside}
        return self._includes[part.source]

    def _options(self, part: Part) -> list[str]:
        # Those of a part come first, and what they include.
        return [*self._command, *part.options, f"-I{self.generated / 'improved'}", f"-I{self.generated}"]

    def _compiled(self, part: Part, state: str, name: str = "") -> Path:
        words = [part.module, Path(part.source).stem, name or "-".join(option[2:] for option in part.options)]
        target = self._folder / state / f"{'-'.join(words)}.o"
        if state == "unchanged" and target.exists():
            return target
        target.parent.mkdir(exist_ok=True)
        command = [*self._options(part), str(self._sources / part.source), "-o", str(target)]
        if subprocess.run(command, capture_output=True, check=False).returncode:
            raise NoMutantError("does not compile")
        return target

    def _linked(
        self, module: str, lanes: bool, changed: dict[Part, Path], others: Sequence[Path] = ()
    ) -> Path:
        objects = [
            changed.get(part) or self._compiled(part, "unchanged")
            for part in _parts(lanes)
            if part.module == module
        ]
        if module == "_fitter":
            production = sorted(self._built.glob("CMakeFiles/*_production.dir/src/kernel/fit/*.o"))
            objects += [path for path in production if not (others and path.name == "forms.cpp.o")]
        symbols = [
            f"-Wl,--defsym={_STANDS_FOR[module].format(level)}"
            for level in ("v2", "v3", "v4")
            if module in _STANDS_FOR
        ]
        target = self._folder / ("changed" if changed else "unchanged") / f"{module}.so"
        # The package looks for layouts, shipped sets and the kernel's text beside its extension modules.
        for beside in ("kernel", "params"):
            installed = Path(sysconfig.get_path("platlib"), "parkf", beside)
            if installed.exists() and not (target.parent / beside).is_symlink():
                (target.parent / beside).symlink_to(installed)
        command = [
            "g++",
            "-shared",
            *symbols,
            *objects,
            *others,
            self._built / "libnanobind-static.a",
            "-pthread",
        ]
        subprocess.run([*map(str, command), "-o", str(target)], check=True)
        return target


class SubstituteExtensions(MetaPathFinder):
    """Imports extension modules from other files than the installed ones."""

    def __init__(self, paths: dict[str, Path]) -> None:
        self._paths = {f"parkf.{module}": path for module, path in paths.items()}

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        """Return the spec of a replaced module; None for any other."""
        found = self._paths.get(fullname)
        return None if found is None else spec_from_file_location(fullname, found)
