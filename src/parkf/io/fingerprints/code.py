"""Fingerprints of commands of `parkf`: of all code and data that can change their results.

A command is the function that the command line calls, with the statements that the program runs before it.
From there, names are followed through the package, by imports at the top of modules and inside functions. The
modules are parsed, and not imported. Of a module, the definitions that are used count, and statements that do
more than bind a name. A class counts as a whole, because its methods are called on objects.

Of a compiled module, the C++ sources count, with the headers that they include and the Python that generates
headers. Of a module that reads its own ``__file__``, or names a file or folder of the project, these files
count.
"""

import ast
import gc
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cache, cached_property, partial
from importlib.metadata import distribution
from itertools import accumulate
from pathlib import Path

from parkf.io.errors import ParkfError
from parkf.io.fingerprints import cpp
from parkf.io.fingerprints.known import Known, cache_file
from parkf.io.fingerprints.meaning import meaning_of
from parkf.io.fingerprints.syntax import (
    Module,
    Statement,
    Target,
    commands_in,
    groups_in,
    may_catch,
    parsed,
    start_of,
)
from parkf.io.project import PROJECT, source

_CPP = (".hpp", ".cpp", ".cu")
# Files of the package's folders that no code reads, or that the build makes.
_NO_DATA = (".py", ".pyi", ".pyc", ".so", ".typed")
# Folders of the project that fingerprints can depend on, and those of them whose files a module may name.
_FOLDERS = ("workflow", "data", "params", "src/kernel")
_NAMED_FOLDERS = ("workflow", "data")


@cache
def code_of(*commands: str, without: tuple[str, ...] = ()) -> str:
    """Return the fingerprint of all code and data that commands use: 16 hexadecimal digits.

    Parameters
    ----------
    *commands : str
        As on the command line: ``"simulate"``, ``"import field"``.
    without : tuple of str
        Modules that do not count, because the caller has another fingerprint of them.

    Raises
    ------
    ParkfError
        When there is no such command.
    """
    known = _known()
    key = json.dumps([commands, without])
    if key not in known.codes:
        collects = gc.isenabled()
        # Trees are many small objects, none of which is garbage: a search for garbage doubles the time.
        gc.disable()
        try:
            known.add(key, _installed().code_of(*commands, without=without))
        finally:
            if collects:
                gc.enable()
    return known.codes[key]


@cache
def _known() -> Known:
    folders = (source("parkf"), *(PROJECT / name for name in _FOLDERS))
    return Known(cache_file(folders), folders)


@cache
def _installed() -> "Sources":
    main = next(one for one in distribution("parkf").entry_points if one.name == "parkf")
    return Sources(source("parkf"), PROJECT, main.module)


@dataclass(eq=False)
class Part:
    """A part of a program: a statement, a file, a compiled module."""

    name: str
    # Of its content.
    digest: str
    # Finds the parts that it uses.
    find: Callable[[], Iterable["Part"]]
    statement: Statement | None = None

    @cached_property
    def line(self) -> str:
        """Line of its own in a list of parts."""
        return f"{self.name} {self.digest}"

    @cached_property
    def needs(self) -> frozenset["Part"]:
        """Parts that it uses."""
        return frozenset(self.find())


class Sources:
    """Sources of a package in a project, which has the folders ``workflow``, ``data`` and ``src/kernel``.

    The function ``main`` of the module `main` calls the commands.
    """

    def __init__(self, package: Path, project: Path, main: str) -> None:
        self._package = package
        self._project = project
        self._kernel = project / "src/kernel"
        self._main = main
        self._parts: dict[object, Part] = {}
        self._modules: dict[str, Module | None] = {}
        self._imports: dict[Target, list[Module]] = {}

    def code_of(self, *commands: str, without: tuple[str, ...] = ()) -> str:
        """Fingerprint of commands, as :func:`code_of` returns it."""
        parts = self.parts_of(*commands, without=without)
        lines = {one.line for one in parts}
        statements = [one.statement for one in parts if one.statement is not None]
        bases = {name: of for one in statements for name, of in one.form.classes.items()}
        raised = {kind for one in statements for kind in one.form.raised}
        read = {kind for one in statements for kind in one.form.read_errors}
        if any(may_catch(one, other, bases) for one in read for other in raised):
            lines |= {f"{one.name} errors {one.errors}" for one in statements}
        return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()[:16]

    def parts_of(self, *commands: str, without: tuple[str, ...] = ()) -> set[Part]:
        """Return all parts that commands use, except these modules and parts that only they use."""
        compiled = set(map(self._compiled, self._builds))
        # The program's start uses a compiled module only to identify the processor, which environment() has.
        return self._reached(self._started, compiled) | self._reached(
            map(self._command, commands), set(), without
        )

    @staticmethod
    def _reached(begin: Iterable[Part], without: Set[Part], modules: Sequence[str] = ()) -> set[Part]:
        found: set[Part] = set()
        todo = list(begin)
        while todo:
            part = todo.pop()
            if part not in found and part not in without and re.split("[: ]", part.name)[0] not in modules:
                found.add(part)
                todo += part.needs
        return found

    @cached_property
    def commands(self) -> dict[str, tuple[Module, Statement]]:
        """Names of commands, with the modules and functions that they call."""
        main = self._existing(self._main)
        modules = self._loaded(main)
        groups = {(added, app): name for one in modules for added, app, name in groups_in(one)}
        found = {}
        for module in modules:
            for app, name, function in commands_in(module):
                # Modules may add commands to applications of others.
                added = module.imports.get(app, Target(module.name, app))
                group = groups.get((added.module, str(added.name)), "")
                found[f"{group} {name}".strip()] = self._function(module, function)
        return found

    def _function(self, module: Module, name: str) -> tuple[Module, Statement]:
        while name in module.imports:
            target = module.imports[name]
            module, name = self._existing(target.module), target.name or ""
        tree = next(one.tree for one in module.bound[name] if isinstance(one.tree, ast.FunctionDef))
        return module, Statement(tree, module.package, evaluated=True)

    def _loaded(self, module: Module) -> list[Module]:
        """Return a module, and all modules that its import imports."""
        found, todo = {}, [module]
        while todo:
            one = todo.pop()
            if one.name not in found:
                found[one.name] = one
                todo += [inner for target in one.loaded for inner in self._imported(target)]
        return list(found.values())

    def _imported(self, target: Target) -> list[Module]:
        """Return the modules that an import runs: packages from the outermost inwards, then the module."""
        if target not in self._imports:
            first, *rest = target.module.split(".")
            names = list(accumulate([first, *rest], "{}.{}".format))
            if target.name is not None:
                names.append(f"{target.module}.{target.name}")
            found = map(self._module, names) if first == self._package.name else ()
            self._imports[target] = [module for module in found if module is not None]
        return self._imports[target]

    def _command(self, command: str) -> Part:
        if command not in self.commands:
            known = ", ".join(sorted(self.commands))
            raise ParkfError(f"no command '{command}' of parkf; there are: {known}")
        return self._statement(*self.commands[command])

    @cached_property
    def _started(self) -> list[Part]:
        """Statements that the program runs before a command."""
        main = self._existing(self._main)
        return [self._statement(main, one) for one in start_of(main)]

    def _module(self, name: str) -> Module | None:
        """Parse a module of the package; return None for other packages and for compiled modules."""
        if name not in self._modules:
            first, *rest = name.split(".")
            path = self._package.joinpath(*rest)
            found = None
            if first == self._package.name:
                if (path / "__init__.py").is_file():
                    found = parsed((path / "__init__.py").read_text(), name, is_package=True)
                elif rest and path.with_suffix(".py").is_file():
                    found = parsed(path.with_suffix(".py").read_text(), name, is_package=False)
            self._modules[name] = found
        return self._modules[name]

    def _existing(self, name: str) -> Module:
        module = self._module(name)
        if module is None:
            raise ParkfError(f"{name}: no such module in {self._package}")
        return module

    def _part(self, key: object, make: Callable[[], Part]) -> Part:
        if key not in self._parts:
            self._parts[key] = make()
        return self._parts[key]

    def _statement(self, module: Module, statement: Statement) -> Part:
        def made() -> Part:
            name = f"{module.name}:{statement.name}"
            return Part(name, statement.digest, partial(self._used, module, statement), statement)

        return self._part(statement, made)

    def _used(self, module: Module, statement: Statement) -> Iterator[Part]:
        form = statement.form
        yield self._execution(module)
        for _, target in form.imports:
            yield from map(self._execution, self._imported(target))
        for name, attribute in form.uses:
            for alias, target in form.imports:
                if alias == name:
                    yield from self._target(alias, target, attribute)
            yield from self._name(module, name, attribute)
        for text in form.texts:
            yield from self._text(module, text)
        for name in form.located:
            yield from self._beside(name)

    def _execution(self, module: Module) -> Part:
        """Return the part of a module that its import runs, other than to bind names."""

        def needed() -> Iterator[Part]:
            for one in module.effects:
                yield self._statement(module, one)
            for package in self._imported(Target(module.name)):
                if package is not module:
                    yield self._execution(package)
            for target in module.loaded:
                yield from map(self._execution, self._imported(target))

        order = _in_order(module.effects)
        return self._part(("execution", module.name), lambda: Part(f"{module.name} imported", order, needed))

    def _name(self, module: Module, name: str, attribute: str | None) -> Iterator[Part]:
        """Iterate over the parts that define a name of a module; none where the name is not the module's."""
        if name == "__file__":
            yield from self._data(self._folder(module))
        if name in module.imports:
            target = module.imports[name]
            yield self._part(
                ("import", module.name, name),
                lambda: Part(f"{module.name}:{name}", f"{target.module} {target.name}", tuple),
            )
            yield from self._target(name, target, attribute)
        statements = module.bound.get(name, ())
        for statement in statements:
            yield self._statement(module, statement)
        if len(statements) > 1:
            order = f"{module.name}:{name} {_in_order(statements)}"
            yield self._part(order, lambda: Part(order, "", tuple))

    def _target(self, alias: str, target: Target, attribute: str | None) -> Iterator[Part]:
        """Iterate over the parts that an import binds, of which an attribute is read; None: all is used."""
        if target.module.partition(".")[0] != self._package.name:
            return
        if target.name is None:
            # `import a.b` binds a, of which b is read.
            binds_first = alias != target.module and target.module.startswith(f"{alias}.")
            yield from self._attribute(target.module, None if binds_first else attribute)
        elif self._is_module(f"{target.module}.{target.name}"):
            yield from self._attribute(f"{target.module}.{target.name}", attribute)
        else:
            yield from self._attribute(target.module, target.name)

    def _is_module(self, name: str) -> bool:
        return self._module(name) is not None or self._is_compiled(name)

    def _attribute(self, name: str, attribute: str | None) -> Iterator[Part]:
        """Iterate over the parts that define an attribute of a module; None: the whole module."""
        if self._is_compiled(name):
            yield from self._beside(name) if attribute == "__file__" else [self._compiled(name)]
            return
        module = self._existing(name)
        yield self._execution(module)
        if attribute == "__file__":
            return
        if attribute in module.bound or attribute in module.imports:
            yield from self._name(module, attribute, None)
        elif self._is_module(f"{name}.{attribute}"):
            yield from self._attribute(f"{name}.{attribute}", None)
        else:
            yield self._whole(module)

    def _whole(self, module: Module) -> Part:
        def needed() -> Iterator[Part]:
            yield self._execution(module)
            for one in module.every:
                yield self._statement(module, one)
            for name in module.imports:
                yield from self._name(module, name, None)

        return self._part(("whole", module.name), lambda: Part(f"{module.name}", "", needed))

    def _text(self, module: Module, text: str) -> Iterator[Part]:
        """Iterate over the modules and files that a text of a module names."""
        if text.startswith(f"{self._package.name}."):
            if self._is_compiled(text):
                yield self._compiled(text)
            elif (named := self._module(text)) is not None:
                yield self._whole(named)
                if named.name == named.package:
                    yield from self._data(self._folder(named))
        elif not text.startswith("/") and ".." not in text:
            folder = self._folder(module)
            if text.endswith(_CPP) or text.partition("/")[0] in _NAMED_FOLDERS:
                for path in (folder / text, self._kernel / text, self._project / text):
                    if path.is_file():
                        yield self._file(path)
                    elif path.is_dir():
                        yield from self._data(path)

    def _folder(self, module: Module) -> Path:
        return self._package.joinpath(*module.package.split(".")[1:])

    def _data(self, folder: Path) -> Iterator[Part]:
        """Iterate over the files of a folder and its subfolders, except packages and those of the package."""
        for path in sorted(folder.iterdir()):
            if path.is_file() and path.suffix not in _NO_DATA and path.name != "py.typed":
                yield self._file(path)
            elif path.is_dir() and folder != self._package and not (path / "__init__.py").is_file():
                yield from self._data(path)

    def _file(self, path: Path) -> Part:
        def make() -> Part:
            # A checkout has the package inside, and an installed package has the project inside.
            bases = [one for one in (self._package, self._project) if path.is_relative_to(one)]
            name = path.relative_to(max(bases, key=lambda one: len(one.parts))).as_posix()
            if path.suffix in _CPP:
                text = cpp.cpp_text(path.read_text())
                digest = hashlib.sha256(text.encode()).hexdigest()
                return Part(name, digest, partial(self._included, path, text))
            return Part(name, meaning_of(path), tuple)

        return self._part(path, make)

    def _included(self, path: Path, text: str) -> Iterator[Part]:
        for header in cpp.included(text):
            found = next(
                (one for one in (self._kernel / header, path.parent / header) if one.is_file()), None
            )
            if found is not None:
                yield self._file(found)
            else:
                # The build makes it.
                yield self._generated()

    @cached_property
    def _builds(self) -> dict[str, tuple[Path, cpp.Build]]:
        """CMake files of the compiled modules, by their names."""
        found: dict[str, tuple[Path, cpp.Build]] = {}
        for path in sorted(self._kernel.glob("*/*.cmake")):
            build = cpp.build(cpp.cmake_text(path.read_text()))
            found |= {f"{self._package.name}.{name}": (path, build) for name in build.modules}
        return found

    def _is_compiled(self, name: str) -> bool:
        return name in self._builds

    def _compiled(self, name: str) -> Part:
        """Return the part of a compiled module, which uses its sources."""
        path, build = self._builds[name]

        def needed() -> Iterator[Part]:
            for pattern in build.sources:
                for one in sorted(self._project.glob(pattern)):
                    if one.suffix == ".cpp":
                        yield self._file(one)

        digest = hashlib.sha256(cpp.cmake_text(path.read_text()).encode()).hexdigest()
        return self._part(("compiled", name), lambda: Part(name, digest, needed))

    def _beside(self, name: str) -> Iterator[Part]:
        """Iterate over the files that the build generates beside a compiled module."""
        if name in self._builds and self._builds[name][1].generators:
            yield self._generated()

    def _generated(self) -> Part:
        """Headers and layouts that the build generates."""

        def needed() -> Iterator[Part]:
            for _, build in self._builds.values():
                for name in build.generators:
                    module = self._module(f"{name}.__main__") or self._existing(name)
                    yield self._whole(module)
                for folder in build.data:
                    # An installed package has the published sets inside.
                    there = (self._project / folder, self._package / folder)
                    yield from self._data(next(one for one in there if one.is_dir()))

        return self._part("generated", lambda: Part("generated", "", needed))


def _in_order(statements: Iterable[Statement]) -> str:
    """Digests of statements that run one after the other."""
    return " ".join(one.digest for one in statements)
