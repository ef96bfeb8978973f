"""The file of a job, beside its log: the arguments of its command, and all that decides its products."""

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Self

from parkf.io.errors import ParkfError
from parkf.io.files import read_json, sha256, write_sealed
from parkf.io.fingerprints.meaning import meaning_of
from parkf.io.process_settings import environment

RESULTS = Path("results")
"""Folder of all products."""
COPIES = "PARKF_COPIES"
"""Environment variable with the folder in which jobs have copies of products, if they have copies."""
# Name of the argument for an output that the rule has not named.
OUTPUT = "output"
_LONGEST_NAME = 255
_CODE = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True)
class Job:
    """A job of a run; its file has the same keys."""

    command: str  # such as ``import steps``
    arguments: Sequence[Mapping[str, Any]]  # by name, for each of its command lines
    inputs: Sequence[str]  # paths of all files that it reads
    outputs: Sequence[str]  # paths of all files that it makes
    deciding: Sequence[str]  # fingerprints of the code and of all else that decides its products
    run: str  # ``results/<run>``
    is_shared: bool  # whether other runs may copy its products
    passing: Sequence[str] = ()  # outputs that Snakemake removes after their use
    before: Sequence[str] = ()  # files of the jobs that make its inputs
    storage: str = ""  # where its products are, such as s3://bucket/prefix; empty if they are in this folder

    @classmethod
    def of(cls, content: Any, path: Path) -> Self:
        """Make a job of the content of its file; a ParkfError reports other content, and names `path`."""
        known = {field.name for field in fields(cls)}
        # The oldest files lack what a job has by default.
        if not isinstance(content, dict) or content.keys() | {"passing", "before", "storage"} != known:
            raise ParkfError(f"{path}: expected the file of a job, results/<run>/logs/<job>.log.json")
        return cls(**content)

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a job's file; a file that is missing or is not a job's file raises a ParkfError."""
        return cls.of(read_json(path), path)

    def with_copies(self) -> Self:
        """Return the job with the paths of the copies in its arguments, if jobs have copies of products."""
        files = {file for file in (*self.inputs, *self.outputs) if Path(file) != located(file)}
        folders = {str(folder) for file in files for folder in Path(file).parents} - {"."}

        def there(value: Any) -> Any:
            if isinstance(value, list):
                return [there(one) for one in value]
            if not isinstance(value, str):
                return value
            if value in files | folders:
                return str(located(value))
            # Arguments such as name=file,file contain paths.
            parts = re.split("([=,])", value)
            return "".join(str(located(part)) if part in files else part for part in parts)

        arguments = [{name: there(value) for name, value in one.items()} for one in self.arguments]
        return replace(self, arguments=arguments)

    def write(self, path: Path) -> None:
        """Write the job's file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        write_sealed(path, asdict(self))

    def fingerprints(self, fingerprint: Callable[[Path], str] = sha256) -> list[str]:
        """Return the fingerprint of each input.

        `fingerprint` is called for each input that a job has made; users' documents count by their meaning.
        """
        return [
            fingerprint(located(path)) if _is_product(path) else meaning_of(Path(path))
            for path in self.inputs
        ]

    def decided_by(self, fingerprints: Sequence[str] | None = None) -> dict[str, Any]:
        """Collect everything that decides the bytes of the outputs, which excludes names of run and inputs.

        The default of `fingerprints` is :meth:`fingerprints`.
        A job that lacks a command, code or product, or reads a file that is no input, raises a ParkfError.
        """
        words = [word for one in self.arguments for pair in sorted(one.items()) for word in _flat(pair)]
        inputs = list(map(Path, self.inputs))
        self._require_complete(words)
        names = {str(path): f"input {number}" for number, path in enumerate(inputs)}
        code, *others = self.deciding
        return {
            "command": self.command,
            "arguments": [names.get(word) or self._in_any_run(word) for word in words],
            "code": code,
            "fingerprints": others,
            "inputs": self.fingerprints() if fingerprints is None else list(fingerprints),
            "outputs": [self._in_any_run(str(Path(path))) for path in self.outputs],
            "environment": environment(),
        }

    def _require_complete(self, words: Sequence[str]) -> None:
        if not self.command or self.command.startswith("-"):
            raise ParkfError(f"share: got {self.command or 'nothing'}, expected a command of parkf")
        if not _CODE.fullmatch(self.deciding[0]):
            raise ParkfError(
                f"share: {self.command}: got {self.deciding[0]!r} for the fingerprint of its code, expected"
                " 16 hexadecimal digits; call parkf.io.fingerprints.code.code_of in the rule"
            )
        if not self.outputs:
            raise ParkfError(f"share: {self.command}: no outputs; nothing can be shared")
        known = {Path(path) for path in (*self.inputs, *self.outputs)}
        for word in words:
            # Other arguments may be too long for the name of a file.
            if len(word) < _LONGEST_NAME and Path(word) not in known and located(word).is_file():
                raise ParkfError(
                    f"share: {self.command}: reads {word}, which is no input of the rule; other runs would"
                    " get the products of another file"
                )

    def _in_any_run(self, text: str) -> str:
        return re.sub(rf"{re.escape(self.run)}(/|(?![\w.+-]))", "", text)

    def command_lines(self, parkf: Any, options: Sequence[str] = ()) -> Iterator[list[str]]:
        """Yield the words of each command line, as a user would type them, with further `options`.

        `parkf` is the click.Group with all commands. An unknown command or argument raises a ParkfError.
        """
        command = parkf
        for word in self.command.split():
            command = getattr(command, "commands", {}).get(word)
        if command is None:
            raise ParkfError(f"{self.command}: no such command")
        for arguments in self.with_copies().arguments:
            words = _words(self.command, command.params, dict(arguments))
            yield [*self.command.split(), *options, *words]


def located(path: str) -> Path:
    """Return where a job finds a file: products are in the folder of copies, if jobs have copies."""
    return Path(os.environ.get(COPIES, ""), path) if _is_product(path) else Path(path)


def _is_product(path: str) -> bool:
    return Path(path).is_relative_to(RESULTS)


def plain(value: Any, copies: str) -> Any:
    """Make JSON of a rule's value: paths as text, without the folder of copies."""
    if isinstance(value, Mapping):
        return {name: plain(one, copies) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one, copies) for one in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    text = str(value)
    return text.removeprefix(f"{copies}/") if copies else text


def _flat(value: Any) -> Iterator[str]:
    """Yield the pieces of a nested value as texts; each path in it is one piece."""
    if isinstance(value, list | tuple):
        for one in value:
            yield from _flat(one)
    else:
        yield json.dumps(value, sort_keys=True) if isinstance(value, Mapping) else str(value)


def _words(command: str, parameters: Iterable[Any], arguments: dict[str, Any]) -> list[str]:
    options: list[str] = []
    positional: list[str] = []
    for parameter in parameters:
        is_option = parameter.param_type_name == "option"
        names = [parameter.name]
        if is_option:
            names = [name.removeprefix("--").replace("-", "_") for name in parameter.opts]
        value = next((arguments.pop(name) for name in names if name in arguments), None)
        if value is None or value is False or value == []:
            continue
        # Other arguments with several values are names or files, separated by blanks.
        several = isinstance(value, list) and parameter.nargs != 1
        texts = list(map(str, value)) if several else [text_of(value)]
        if not is_option:
            positional += texts
        elif value is True:
            options.append(parameter.opts[0])
        elif isinstance(value, list) and parameter.multiple:
            options += [word for one in value for word in (parameter.opts[0], str(one))]
        else:
            options += [parameter.opts[0], *texts]
    if left := ", ".join(arguments.keys() - {OUTPUT}):
        raise ParkfError(f"{command}: no argument or option is called {left}")
    # After the separator, a path that begins with a dash is not read as an option.
    return [*options, "--", *positional]


def text_of(value: Any) -> str:
    """Write a value as one argument: a list as names separated by blanks, a mapping as JSON."""
    if isinstance(value, list):
        return " ".join(map(str, value))
    return json.dumps(value) if isinstance(value, dict) else str(value)
