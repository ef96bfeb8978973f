"""Commands that answer questions: what is installed, what a table holds, what would run."""

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from parkf.cli.commands.answers import NO, answer
from parkf.cli.commands.options import Json
from parkf.io.terminal import aligned

if TYPE_CHECKING:
    from parkf.workflow.installation import Installation, Task

app = typer.Typer()


@app.command()
def doctor(as_json: Json = False) -> None:
    """Report what is installed, what fits run on, and what is missing for which task.

    Exits with 1 when something is missing that training, validating or fitting needs.
    """
    from parkf.workflow.installation import examine

    found = examine()
    answer(as_json, _content(found), lambda: _text(found))
    if found.tasks[0].missing or not found.current:
        raise typer.Exit(NO)


def _content(found: "Installation") -> dict[str, Any]:
    tasks = [asdict(task) | {"ready": not task.missing} for task in found.tasks]
    return asdict(found) | {"tasks": tasks}


def _text(found: "Installation") -> str:
    taken, *others = found.builds
    facts = [
        *found.versions.items(),
        ("kernel", f"runs in the {taken} build" + (f" (also here: {', '.join(others)})" if others else "")),
        ("formulas", "those that the kernel was compiled from" if found.current else "NEWER than the kernel"),
        ("cores", found.cores),
        ("memory", f"{found.memory_gb} GB, {found.free_gb} GB free"),
        ("GPU", found.gpu),
        ("compiler", found.compiler or "none: changed formulas cannot be compiled"),
        ("nvcc", found.nvcc or "none; CuPy brings its own compiler"),
    ]
    core, *_ = found.tasks
    packages = [(one.name, one.found or "MISSING", one.asked) for one in core.packages]
    parts = [
        "\n".join(f"{what:<10}{value}" for what, value in facts),
        aligned(("package", "installed", "asked for"), packages),
        aligned(("task", "", "how"), [_row(task) for task in found.tasks]),
    ]
    if not found.current:
        parts.append("The kernel is older than the formulas: run `make build`.")
    return "\n\n".join(parts)


def _row(task: "Task") -> tuple[str, str, str]:
    if not task.missing:
        return task.what, "ready", ""
    names = ", ".join(one.name if one.found is None else f"{one.name} {one.asked}" for one in task.missing)
    name = f"parkf[{task.extra}]" if task.extra else "parkf"
    return task.what, f"lacks {names}", f"pip install '{name}'"


@app.command()
def schema(
    table: Annotated[
        str | None, typer.Argument(help="Name of a table; without one, all names.", show_default=False)
    ] = None,
    as_json: Json = False,
) -> None:
    """Print the columns of a table: type, unit, meaning."""
    from parkf.report.column_reference import TABLES, described, table_named

    if table is None:
        summary = [(one.name, one.version, len(one.columns)) for one in TABLES]
        content: Any = [{"name": name, "version": number} for name, number, _ in summary]
        answer(as_json, content, lambda: aligned(("table", "version", "columns"), summary))
        return
    found = table_named(table)
    columns = described(found)
    content = {"name": found.name, "version": found.version, "columns": [asdict(one) for one in columns]}
    rows = [
        (one.name, one.type, one.unit, one.meaning + (f" ({one.option})" if one.option else ""))
        for one in columns
    ]
    answer(as_json, content, lambda: aligned(("column", "type", "unit", "meaning"), rows))


@app.command()
def why(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run, results/<run>, or its configuration.")],
    cores: Annotated[
        int | None,
        typer.Option(help="That it would have; by default all of this machine.", show_default=False),
    ] = None,
    as_json: Json = False,
) -> None:
    """Report what changed since a run's results were made, which jobs would run again, and for how long."""
    from parkf.workflow.config import CONFIGS
    from parkf.workflow.running.why import in_words
    from parkf.workflow.running.why import why as ask

    config = run if run.suffix == ".yaml" else CONFIGS / f"{run.name}.yaml"
    found = ask(config, cores or os.cpu_count() or 1)
    content = asdict(found) | {"made": None if found.made is None else found.made.isoformat()}
    answer(as_json, content, lambda: in_words(found))
