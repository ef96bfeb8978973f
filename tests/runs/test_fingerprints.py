"""Functions that the jobs of a run have called, and files that they have opened, are part of fingerprints.

The jobs are traced while they run: the functions found do not depend on how fingerprints are derived.
"""

import json
from collections import defaultdict
from pathlib import Path

import pytest

from parkf.io.fingerprints.code import Sources
from parkf.io.project import PROJECT, source

PACKAGE = source("parkf")
SOURCES = Sources(PACKAGE, PROJECT, "parkf.cli.main")
# These commands start other commands, or look for the products of others, and make no product themselves.
DISPATCH = ("share", "together")
# The JSON decoder of the standard library calls the hook of whoever reads JSON, so its calls belong to no
# single caller: the dispatcher's hook for a job's file would count for each command that reads any JSON.
HOOKS = "json/decoder.py"
# The positions of code at the top of a module end with these texts.
IMPORT = (":0", ":1")


@pytest.fixture(scope="module")
def traced(finished):
    """Lines of the functions that each command has called, by file, and files that it has opened."""
    commands = {}
    for name, (module, statement) in SOURCES.commands.items():
        path = PACKAGE.joinpath(*module.name.split(".")[1:]).with_suffix(".py")
        first = min([statement.tree.lineno, *(one.lineno for one in statement.tree.decorator_list)])
        commands[f"{path}:{first}"] = name
    called, opened = defaultdict(lambda: defaultdict(set)), defaultdict(set)
    for file in finished.traced.glob("*.json"):
        record = json.loads(file.read_text())
        calls = record["calls"]
        names = [commands[one] for one in calls if commands.get(one, DISPATCH[0]) not in DISPATCH]
        for name in names:
            found, todo = set(), [one for one in calls if commands.get(one) == name]
            while todo:
                one = todo.pop()
                # Code run at import is skipped: names used from it count anyway; the rest has no effect.
                if one not in found and not one.endswith(IMPORT):
                    found.add(one)
                    if HOOKS not in one:
                        todo += calls.get(one, ())
            lines = {one.rpartition(":")[::2] for one in found}
            for path, line in lines:
                if path.startswith(str(PACKAGE)) and path.endswith(".py"):
                    called[name][Path(path).relative_to(PACKAGE)].add(int(line))
            # Templates are compiled, and their functions are called under the template's file name.
            for path in map(Path, (*record["opened"], *(path for path, _ in lines))):
                # Python writes bytecode under names that end with a number.
                is_code = path.suffix in (".py", ".so", "") or path.parent.name == "__pycache__"
                if path.is_relative_to(PACKAGE) and not is_code:
                    opened[name].add(path.relative_to(PACKAGE))
    return called, opened


def test_every_stage_of_a_run_was_traced(traced):
    called, _ = traced
    stages = {
        "generate",
        "simulate",
        "candidates",
        "draw",
        "datasets",
        "gather-dataset",
        "train",
        "train-table",
    }
    assert (
        stages | {"close", "closure-tracks", "assemble", "fit", "fit-full", "validate", "report"}
        <= called.keys()
    )


def test_a_constant_of_any_function_that_a_job_called_runs_it_again(traced, source_copy):
    """One constant of each file is changed at a time, in a function that the command has called.

    Each file has as few changes as there can be for all commands that have called a function of it.
    """
    called, _ = traced
    before = source_copy.codes(*called)
    edits = {file: source_copy.edits(file) for file in sorted(set().union(*called.values()))}
    changes = {}
    for file, edit in edits.items():
        functions = edit.functions()
        constants = {line: next(edit.constants(tree), None) for line, tree in functions.items()}
        callers = {one: {name for name in called if one in called[name].get(file, ())} for one in functions}
        left = set().union(*callers.values())
        while left:
            # A constant that is there is changed rather than another one added.
            most = {line: names & left for line, names in sorted(callers.items()) if names & left}
            line = max(most, key=lambda one: (constants[one] is not None, len(most[one])))
            changes[file, functions[line], constants[line]] = most[line]
            left -= most[line]
    missed = []
    for (file, function, constant), names in changes.items():
        text = edits[file].changed(constant) if constant else edits[file].with_one_more(function)
        after = source_copy.codes_with(source_copy.package / file, text, *names)
        missed += [f"{file}:{function.name} of {name}" for name in names if after[name] == before[name]]
    pairs = sum(map(len, changes.values()))
    files = {file for file, _, _ in changes}
    print(
        f"\n{len(called)} commands, {len(changes)} constants in {len(files)} files: "
        f"{pairs - len(missed)} of {pairs} fingerprints have changed"
    )
    assert missed == []
    assert pairs > 300


def test_every_function_that_a_job_called_is_part_of_its_command(traced):
    called, _ = traced
    count, missed = 0, []
    for name, files in called.items():
        spans = defaultdict(list)
        for part in SOURCES.parts_of(name):
            if part.statement is not None:
                tree = part.statement.tree
                first = min([tree.lineno, *(one.lineno for one in getattr(tree, "decorator_list", ()))])
                spans[part.name.partition(":")[0]].append((first, tree.end_lineno))
        for file, lines in files.items():
            module = ".".join(("parkf", *file.with_suffix("").parts)).removesuffix(".__init__")
            count += len(lines)
            missed += [
                f"{file}:{line} of {name}"
                for line in lines
                if not any(first <= line <= last for first, last in spans[module])
            ]
    print(f"\n{len(called)} commands: {count - len(missed)} of {count} functions called are part of them")
    assert missed == []
    assert count > 1000


def test_files_that_a_job_opened_are_part_of_it(traced):
    _, opened = traced
    for name, files in opened.items():
        parts = {one.name for one in SOURCES.parts_of(name)}
        assert [str(file) for file in files if file.as_posix() not in parts] == [], name
    assert len(opened["report"]) > 4
