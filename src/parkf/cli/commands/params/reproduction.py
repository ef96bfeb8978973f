"""``parkf params reproduce``."""

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from parkf.cli.commands.params.common import (
    NO,
    NO_ANSWER,
    Json,
    RegistryFolder,
    Set,
    exit_on_error,
    registry_in,
    say,
    short,
)
from parkf.io.terminal import aligned

if TYPE_CHECKING:
    from parkf.workflow.reproduce import Replay

_MOST = 20


def reproduce(
    name: Set,
    work: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the training; results/reproduced/<version> by default.", show_default=False
        ),
    ] = None,
    cores: Annotated[
        int | None, typer.Option(min=1, help="Cores to use; all by default.", show_default=False)
    ] = None,
    registry: RegistryFolder = None,
    as_json: Json = False,
) -> None:
    """Train a set again as its manifest says, in a checkout, and say whether the bytes are the same.

    Exits with 0 when they are, with 1 when they are not, and then says where; with 2 when inputs or formulas
    here are not those of the set.
    """
    from parkf.params.parameter_set import load
    from parkf.workflow.reproduce import replay

    with exit_on_error(NO_ANSWER):
        path = registry_in(registry).find(name)
        parameters = load(path)
        folder = work or Path("results/reproduced") / (parameters.manifest.version or path.name)
        found = replay(parameters, Path(), folder, cores or os.cpu_count() or 1)
    say(as_json, {"set": str(path), "work": str(folder), **asdict(found)}, lambda: _text(path, found))
    if not found.identical:
        raise typer.Exit(NO)


def _text(path: Path, found: "Replay") -> str:
    if found.identical:
        return f"{path}: identical, byte for byte"
    parts = [f"{path}: NOT identical"]
    if found.inputs:
        parts.append("other fingerprints: " + ", ".join(found.inputs))
    parts += found.environment
    numbers = found.comparison.differences
    if numbers:
        parts.append(f"{len(numbers)} numbers of constant.f32 differ" + _first(len(numbers)))
        heads = ("block", "set", "index", "name", "old", "new", "in errors")
        rows = [
            (d.block, d.set, d.index, d.name, _digits(d.first), _digits(d.second), short(d.pull))
            for d in numbers[:_MOST]
        ]
        parts.append(aligned(heads, rows))
    if found.bins:
        what = f"{found.comparison.table} numbers of global.f32 differ, in {found.bins} bins"
        parts.append(what + _first(found.bins))
        bins = [
            (c.bin_x, c.bin_y, c.index, _digits(c.first), _digits(c.second))
            for c in found.coefficients[:_MOST]
        ]
        parts.append(aligned(("bin in x", "bin in y", "index", "old", "new"), bins))
    parts += [f"{what}: {a:g} and {b:g}" for what, (a, b) in found.comparison.constants.items()]
    return "\n".join(parts)


def _first(count: int) -> str:
    return f"; the first {_MOST}:" if count > _MOST else ":"


def _digits(value: float | None) -> str | None:
    return None if value is None else f"{value:.9g}"
