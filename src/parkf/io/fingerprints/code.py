"""Fingerprints of commands of `parkf`: of all code and data that can change their results.

A command is the function that the command line calls, with the statements that the program runs before it.
From there, names are followed through the package, by imports at the top of modules and inside functions. The
modules are parsed, and not imported. In a module, the definitions that are used count, and the statements
that do more than bind a name. A class counts as a whole, because its methods are called on objects.

For a compiled module, its C++ sources count, the headers that they include, and the Python that generates
headers. If a module reads its own ``__file__``, the data files in its folder count. If it names a file or
folder of the project, these files count, too.
"""

import ast
import gc
import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property, partial
from itertools import accumulate
from pathlib import Path

from parkf.io.errors import ParkfError
from parkf.io.fingerprints import cpp
from parkf.io.fingerprints.commands import commands_of, start_of
from parkf.io.fingerprints.known import Known, cache_file
from parkf.io.fingerprints.meaning import meaning_of
from parkf.io.fingerprints.syntax import Module, Statement, Target, parsed, uses_texts_of_errors
from parkf.io.project import PROJECT, source

_CPP = (".hpp", ".cpp", ".cu")
# Files of the package's folders that no code reads, or that the build makes.
_NO_DATA = (".py", ".pyi", ".pyc", ".so", ".typed")
# Folders of the project that fingerprints can depend on, and files and folders that a module may name.
_FOLDERS = ("workflow", "data", "params", "src/kernel")
_NAMED_FILE = re.compile(r"(workflow|data)(/|$)|[^/].*\.(hpp|cpp|cu)$")


@cache
def code_of(*commands: str, without: tuple[str, ...] = ()) -> str:
    """Return the fingerprint of all code and data that commands use: 16 hexadecimal digits.

    Commands are those of the command line: ``"simulate"``, ``"import field"``; a ParkfError reports one that
    does not exist. The modules `without` do not count, because the caller has another fingerprint of them.
    """
    known = _known()
    key = json.dumps([commands, without])
    if key not in known.codes:
        # Trees are many small objects, none of which is garbage: a search for garbage doubles the time.
        gc.disable()
        try:
            known.add(key, _installed().code_of(*commands, without=without))
        finally:
            gc.enable()
    return known.codes[key]


def forget_sources() -> None:
    """Free the parsed sources, 90 MB; fingerprints that are known already need them no more."""
    _installed.cache_clear()
    parsed.cache_clear()


@cache
def _known() -> Known:
    folders = (source("parkf"), *(PROJECT / name for name in _FOLDERS))
    return Known(cache_file(folders), folders)


@cache
def _installed() -> "Sources":
    return Sources(source("parkf"), PROJECT, "parkf.cli.main")


@dataclass(eq=False, slots=True)
class Part:
    """A part of a program: a statement, a file, a compiled module."""

    name: str
    digest: str  # of its content
    find: Callable[[], Iterable["Part"]] = tuple  # finds the parts that it uses
    statement: Statement | None = None


class Sources:
    """Sources of a package in a project, which has the folders ``workflow``, ``data`` and ``src/kernel``.

    The function ``main`` of the module `main` calls the commands, which are in the folder of that module.
    """

    def __init__(self, package: Path, project: Path, main: str) -> None:
        self._package = package
        self._project = project
        self._kernel = project / "src/kernel"
        self._main = main
        self._parts: dict[tuple[str, str], Part] = {}
        self._needs: dict[Part, frozenset[Part]] = {}
        self._files: dict[Path, Part] = {}
        self._modules: dict[str, Module | None] = {}
        self._imports: dict[Target, list[Module]] = {}
        self._statements: dict[Statement, Part] = {}
        self._executions: dict[Module, Part] = {}
        self._targets: dict[tuple[Target, str | None], tuple[Part, ...]] = {}

    def code_of(self, *commands: str, without: tuple[str, ...] = ()) -> str:
        """Fingerprint of commands, as :func:`code_of` returns it."""
        parts = self.parts_of(*commands, without=without)
        lines = {f"{one.name} {one.digest}" for one in parts}
        statements = [one.statement for one in parts if one.statement is not None]
        if uses_texts_of_errors(one.form for one in statements):
            lines |= {f"{one.name} errors {one.form.errors}" for one in statements}
        return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()[:16]

    def parts_of(self, *commands: str, without: tuple[str, ...] = ()) -> set[Part]:
        """Return all parts that commands use, except the modules `without` and parts that only these use."""
        called = []
        for command in commands:
            if command not in self.commands:
                known = ", ".join(sorted(self.commands))
                raise ParkfError(f"no command '{command}' of parkf; there are: {known}")
            called.append(self._statement(*self.commands[command]))
        return self._start | self._reached(called, without)

    @cached_property
    def _start(self) -> set[Part]:
        """Parts that the program uses before a command; of compiled modules only the processor counts then.

        :func:`environment` reports the processor.
        """
        main = self._existing(self._main)
        start = [self._statement(main, one) for one in start_of(main)]
        return self._reached(start, self._builds)

    def _reached(self, begin: Iterable[Part], without: Collection[str]) -> set[Part]:
        """Return the parts that some use, with these; modules that are left out lead to no others."""
        found: set[Part] = set()
        new = set(self._once(begin))
        while new:
            if without:
                new = {one for one in new if re.split("[: ]", one.name)[0] not in without}
            found |= new
            new = set().union(*map(self._needed, new)) - found
        return found

    def _needed(self, part: Part) -> frozenset[Part]:
        if part not in self._needs:
            self._needs[part] = self._once(part.find())
        return self._needs[part]

    def _once(self, parts: Iterable[Part]) -> frozenset[Part]:
        """Replace parts by the first ones of the same name and digest, which are the same parts."""
        return frozenset(self._parts.setdefault((one.name, one.digest), one) for one in set(parts))

    @cached_property
    def commands(self) -> dict[str, tuple[Module, Statement]]:
        """Names of commands, with the modules and functions that they call."""
        modules = []
        for path in sorted(self._folder(self._existing(self._main)).rglob("*.py")):
            inner = path.relative_to(self._package).with_suffix("").parts
            modules.append(self._existing(".".join([self._package.name, *inner]).removesuffix(".__init__")))
        return {name: self._function(module, of) for name, module, of in commands_of(modules)}

    def _function(self, module: Module, name: str) -> tuple[Module, Statement]:
        while name in module.imports:
            target = module.imports[name][-1]
            module, name = self._existing(target.module), target.name or ""
        tree = next(one.tree for one in module.bound[name] if isinstance(one.tree, ast.FunctionDef))
        return module, Statement(tree, module.package, evaluated=True)

    def _imported(self, target: Target) -> list[Module]:
        """Return the modules that an import runs: packages from the outermost inwards, then the module."""
        if target not in self._imports:
            names = list(accumulate(target.module.split("."), "{}.{}".format))
            if target.name is not None:
                names.append(f"{target.module}.{target.name}")
            self._imports[target] = [found for name in names if (found := self._module(name)) is not None]
        return self._imports[target]

    def _module(self, name: str) -> Module | None:
        """Parse a module of the package; return None for other packages and for compiled modules."""
        if name not in self._modules:
            self._modules[name] = self._parsed(name)
        return self._modules[name]

    def _parsed(self, name: str) -> Module | None:
        first, *rest = name.split(".")
        if first != self._package.name:
            return None
        above = self._module(name.rpartition(".")[0]) if rest else None
        # Most names are those of a module's objects, which no file has.
        if above is not None and above.name != above.package:
            return None
        path = self._package.joinpath(*rest)
        for file in (path.with_suffix(".py"), path / "__init__.py"):
            if file.is_file():
                return parsed(file.read_text(), name, is_package=file.stem == "__init__")
        return None

    def _existing(self, name: str) -> Module:
        module = self._module(name)
        if module is None:
            raise ParkfError(f"{name}: no such module in {self._package}")
        return module

    def _statement(self, module: Module, statement: Statement) -> Part:
        if statement not in self._statements:
            name, find = f"{module.name}:{statement.name}", partial(self._used, module, statement)
            self._statements[statement] = Part(name, statement.form.digest, find, statement)
        return self._statements[statement]

    def _used(self, module: Module, statement: Statement) -> Iterator[Part]:
        form = statement.form
        yield self._execution(module)
        for targets in form.imports.values():
            for target in targets:
                yield from map(self._execution, self._imported(target))
        for name, attribute in module.uses(statement):
            for target in form.imports.get(name, ()):
                yield from self._target(target, attribute)
            yield from self._name(module, name, attribute)
        for text in form.texts:
            yield from self._text(module, text)

    def _execution(self, module: Module) -> Part:
        """Return what the import of a module runs, except statements that only bind names."""

        def needed() -> Iterator[Part]:
            for one in module.effects:
                yield self._statement(module, one)
            for target in (Target(module.name), *(one for of in module.imports.values() for one in of)):
                yield from map(self._execution, self._imported(target))

        if module not in self._executions:
            part = Part(f"{module.name} imported", _in_order(module.effects), needed)
            self._executions[module] = part
        return self._executions[module]

    def _name(self, module: Module, name: str, attribute: str | None) -> Iterator[Part]:
        """Iterate over the parts that define a name of a module; none where the name is not the module's."""
        if name == "__file__":
            yield from self._data(self._folder(module))
        for target in module.imports.get(name, ()):
            yield Part(f"{module.name}:{name}", f"{target.module} {target.name}")
            yield from self._target(target, attribute)
        statements = module.bound.get(name, ())
        for statement in statements:
            yield self._statement(module, statement)
        if len(statements) > 1:
            yield Part(f"{module.name}:{name} in order", _in_order(statements))

    def _target(self, target: Target, attribute: str | None) -> tuple[Part, ...]:
        """Return the parts that an import binds, if code reads this attribute; None means all of it."""
        if (target, attribute) not in self._targets:
            self._targets[target, attribute] = tuple(self._bound(target, attribute))
        return self._targets[target, attribute]

    def _bound(self, target: Target, attribute: str | None) -> Iterator[Part]:
        if target.module.partition(".")[0] == self._package.name:
            inner = f"{target.module}.{target.name}"
            if target.name is not None and self._is_module(inner):
                yield from self._attribute(inner, attribute)
            else:
                yield from self._attribute(target.module, target.name or attribute)

    def _is_module(self, name: str) -> bool:
        return name in self._builds or self._module(name) is not None

    def _attribute(self, name: str, attribute: str | None) -> Iterator[Part]:
        """Iterate over the parts that define an attribute of a module; None: the whole module."""
        if name in self._builds:
            if attribute != "__file__":
                yield self._compiled(name)
            elif self._builds[name][1].generators:
                # What the build generates lies beside the compiled module.
                yield self._generated
            return
        module = self._existing(name)
        yield self._execution(module)
        if attribute in module.bound or attribute in module.imports:
            yield from self._name(module, attribute, None)
        elif self._is_module(f"{name}.{attribute}"):
            yield from self._attribute(f"{name}.{attribute}", None)
        elif attribute != "__file__":
            yield self._whole(module)

    def _whole(self, module: Module) -> Part:
        def needed() -> Iterator[Part]:
            yield self._execution(module)
            for one in module.every:
                yield self._statement(module, one)
            for name in module.imports:
                yield from self._name(module, name, None)

        return Part(module.name, "", needed)

    def _text(self, module: Module, text: str) -> Iterator[Part]:
        """Iterate over the modules and files that a text of a module names."""
        if text in self._builds:
            yield self._compiled(text)
        elif text.startswith(f"{self._package.name}."):
            if (named := self._module(text)) is not None:
                yield self._whole(named)
                if named.name == named.package:
                    yield from self._data(self._folder(named))
        elif _NAMED_FILE.match(text) and ".." not in text:
            for path in (self._folder(module) / text, self._kernel / text, self._project / text):
                if path.is_file():
                    yield self._file(path)
                elif path.is_dir():
                    yield from self._data(path)

    def _folder(self, module: Module) -> Path:
        return self._package.joinpath(*module.package.split(".")[1:])

    def _data(self, folder: Path) -> Iterator[Part]:
        """Iterate over files in a folder and subfolders; skip packages, and subfolders of the top package."""
        for path in sorted(folder.iterdir()):
            if path.is_file() and path.suffix not in _NO_DATA:
                yield self._file(path)
            elif path.is_dir() and folder != self._package and not (path / "__init__.py").is_file():
                yield from self._data(path)

    def _file(self, path: Path) -> Part:
        if path not in self._files:
            # A checkout has the package inside, and an installed package has the project inside.
            bases = [one for one in (self._package, self._project) if path.is_relative_to(one)]
            name = path.relative_to(max(bases, key=lambda one: len(one.parts))).as_posix()
            if path.suffix in _CPP:
                text = cpp.cpp_text(path.read_text())
                digest = hashlib.sha256(text.encode()).hexdigest()
                self._files[path] = Part(name, digest, partial(self._included, path, text))
            else:
                self._files[path] = Part(name, meaning_of(path))
        return self._files[path]

    def _included(self, path: Path, text: str) -> Iterator[Part]:
        for header in cpp.included(text):
            found = [one for one in (self._kernel / header, path.parent / header) if one.is_file()]
            # The build makes the others.
            yield self._file(found[0]) if found else self._generated

    @cached_property
    def _builds(self) -> dict[str, tuple[str, cpp.Build]]:
        """CMake's text for each compiled module and what it builds, by name of the module."""
        files = [cpp.cmake_text(path.read_text()) for path in sorted(self._kernel.glob("*/*.cmake"))]
        builds = [(text, cpp.build(text)) for text in files]
        shared = "".join(text for text, build in builds if not build.modules)
        return {
            f"{self._package.name}.{name}": (shared + text, build)
            for text, build in builds
            for name in build.modules
        }

    def _compiled(self, name: str) -> Part:
        """Return the part of a compiled module, which uses its sources."""
        text, build = self._builds[name]

        def needed() -> Iterator[Part]:
            for pattern in build.sources:
                yield from (self._file(one) for one in self._project.glob(pattern) if one.suffix == ".cpp")

        return Part(name, hashlib.sha256(text.encode()).hexdigest(), needed)

    @cached_property
    def _generated(self) -> Part:
        """Headers and layouts that the build generates."""

        def needed() -> Iterator[Part]:
            for _, build in self._builds.values():
                for name in build.generators:
                    yield self._whole(self._module(f"{name}.__main__") or self._existing(name))
                for folder in build.data:
                    # An installed package has the published sets inside.
                    there = (self._project / folder, self._package / folder)
                    yield from self._data(next(one for one in there if one.is_dir()))

        return Part("generated", "", needed)


def _in_order(statements: Iterable[Statement]) -> str:
    """Digests of statements that run one after the other."""
    return " ".join(one.form.digest for one in statements)
