"""The file of a job, beside its log: the arguments of its command, and all that decides its products.

A rule names its inputs, outputs and parameters as its command names its arguments and options, and calls the
command with ``--job {log}.json``. A run writes these files before its first job starts.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Self

from parkf.io.errors import ParkfError
from parkf.io.files import read_json, write_sealed
from parkf.workflow.running.shared import STORE, SharedJob

COPIES = "PARKF_COPIES"
"""Names the folder with a job's own copies of its files in its environment, where it has copies."""
# Name of the argument for an output that the rule has not named.
OUTPUT = "output"


@dataclass(frozen=True)
class Job:
    """A job of a run; its file has the same keys."""

    # Such as ``import steps``.
    command: str
    # By name, for each of its command lines.
    arguments: Sequence[Mapping[str, Any]]
    # Paths of all files that it reads and makes.
    inputs: Sequence[str]
    outputs: Sequence[str]
    # Fingerprints of what else decides its products; the first is that of the code.
    deciding: Sequence[str]
    # ``results/<run>``.
    run: str
    # Whether other runs may use its products.
    is_shared: bool

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a job's file; where the job has copies of its files, with the paths of these.

        Raises
        ------
        ParkfError
            When it is missing or not a job's file.
        """
        copies = os.environ.get(COPIES, "")
        content = read_json(Path(plain(str(path), copies)))
        if not isinstance(content, dict) or content.keys() != {field.name for field in fields(cls)}:
            what = "expected the file of a job, results/<run>/logs/<job>.log.json"
            raise ParkfError(f"{path}: {what}")
        values: dict[str, Any] = content
        job = cls(**values)
        if not copies:
            return job
        files = {*job.inputs, *job.outputs}
        folders = {str(folder) for file in files for folder in Path(file).parents} - {"."}

        def there(value: Any) -> Any:
            if isinstance(value, list):
                return [there(one) for one in value]
            if not isinstance(value, str):
                return value
            if value in files | folders:
                return f"{copies}/{value}"
            # Pairs of files with a name: name=file,file.
            parts = re.split("([=,])", value)
            return "".join(f"{copies}/{part}" if part in files else part for part in parts)

        arguments = [{name: there(value) for name, value in one.items()} for one in job.arguments]
        return replace(job, arguments=arguments)

    def write(self, path: Path) -> None:
        """Write the job's file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        write_sealed(path, asdict(self))

    def shared(self) -> SharedJob:
        """Describe the job for the store."""
        words = [word for one in self.arguments for pair in sorted(one.items()) for word in _flat(pair)]
        code, *others = self.deciding
        return SharedJob(
            store=STORE,
            run=self.run,
            code=code,
            deciding_too=tuple(others),
            inputs=tuple(map(Path, self.inputs)),
            outputs=tuple(map(Path, self.outputs)),
            command=(self.command, *words),
        )

    def command_lines(self, parkf: Any, options: Sequence[str] = ()) -> Iterator[list[str]]:
        """Write out what to call, as a user would type it.

        Parameters
        ----------
        parkf : click.Group
            With all commands, their arguments and options.
        options : sequence of str
            Further options of each command line.

        Raises
        ------
        ParkfError
            When there is no such command, or it has no such argument.
        """
        command = parkf
        for word in self.command.split():
            command = getattr(command, "commands", {}).get(word)
        if command is None:
            raise ParkfError(f"{self.command}: no such command")
        for arguments in self.arguments:
            words = _words(self.command, command.params, dict(arguments))
            yield [*self.command.split(), *options, *words]


def plain(value: Any, copies: str) -> Any:
    """Make JSON of a rule's value: paths as text, without the folder of copies."""
    if isinstance(value, Mapping):
        return {name: plain(one, copies) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one, copies) for one in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    if getattr(value, "is_storage", False):
        return str(value.storage_object.query)
    text = str(value)
    return text.removeprefix(f"{copies}/") if copies else text


def _flat(value: Any) -> Iterator[str]:
    """Write out a nested value in pieces, so that each path in it is one."""
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
        names = (
            [name.removeprefix("--").replace("-", "_") for name in parameter.opts]
            if is_option
            else [parameter.name]
        )
        value = next((arguments.pop(name) for name in names if name in arguments), None)
        if value is None or value is False or value == []:
            continue
        # Other arguments with several values are names or files with blanks between them.
        several = isinstance(value, list) and parameter.nargs != 1
        texts = list(map(str, value)) if several else [text_of(value)]
        if not is_option:
            positional += texts
        elif value is True:
            options.append(parameter.opts[0])
        else:
            options += [parameter.opts[0], *texts]
    if left := ", ".join(arguments.keys() - {OUTPUT}):
        raise ParkfError(f"{command}: no argument or option is called {left}")
    # No path is an option, whatever it begins with.
    return [*options, "--", *positional]


def text_of(value: Any) -> str:
    """Write a value as one argument: lists of names with blanks between them, mappings as JSON."""
    if isinstance(value, list):
        return " ".join(map(str, value))
    return json.dumps(value) if isinstance(value, dict) else str(value)
