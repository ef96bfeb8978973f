"""``parkf params diff`` and ``reproduce``."""

import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from parkf.cli.commands.answers import NO_ANSWER, answer, exit_on_error, short
from parkf.cli.commands.options import Json, RegistryFolder, Set, registry_in
from parkf.io.terminal import aligned

if TYPE_CHECKING:
    from parkf.params.comparison import Comparison
    from parkf.proof.comparing.effect import Change
    from parkf.workflow.reproduce import Replay

_MOST = 20


def diff(
    first: Set,
    second: Set,
    most: Annotated[int, typer.Option(min=1, help="Numbers to print.")] = 20,
    registry: RegistryFolder = None,
    as_json: Json = False,
) -> None:
    """Compare two sets: numbers in units of their errors, predicted states in units of the scattering."""
    from parkf.params.comparison import compare
    from parkf.params.parameter_set import load
    from parkf.proof.comparing.effect import changes, table_map

    with exit_on_error(NO_ANSWER):
        sets = registry_in(registry)
        a, b = (load(sets.find(name)) for name in (first, second))
        found = compare(a, b)
        effect = [] if found.identical else changes(a, b)
        shift = None if found.identical else table_map(a, b)
    content = {
        "identical": found.identical,
        **asdict(found),
        "states": [asdict(change) for change in effect],
        "table_map_mm": None if shift is None else shift.tolist(),
    }
    answer(as_json, content, lambda: _difference(found, effect, shift, most), yes=found.identical)


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
    """Train a set again as its manifest describes, in a checkout, and check that the bytes are the same.

    Exits with 0 when they are, with 1 when they are not, and then prints where; with 2 when inputs or
    formulas here are not those of the set.
    """
    from parkf.params.parameter_set import load
    from parkf.workflow.reproduce import replay

    with exit_on_error(NO_ANSWER):
        path = registry_in(registry).find(name)
        parameters = load(path)
        folder = work or Path("results/reproduced") / (parameters.manifest.version or path.name)
        found = replay(parameters, Path(), folder, cores or os.cpu_count() or 1)
    content = {"set": str(path), "work": str(folder), **asdict(found)}
    answer(as_json, content, lambda: _repetition(path, found), yes=found.identical)


def _difference(found: "Comparison", effect: "list[Change]", shift: Any, most: int) -> str:
    if found.identical:
        return "identical"
    parts = []
    if found.forms[0] != found.forms[1]:
        parts.append(f"forms: {found.forms[0]} and {found.forms[1]}")
    if found.other_formulas:
        parts.append(f"other formulas, whose numbers do not compare: {', '.join(found.other_formulas)}")
    parts += [f"{name}: {a:g} and {b:g}" for name, (a, b) in found.constants.items()]
    ordered = sorted(found.differences, key=lambda d: -abs(d.pull or 0.0))
    rows = [(d.block, d.set, d.name, short(d.first), short(d.second), short(d.pull)) for d in ordered]
    heads = ("block", "set", "name", "first", "second", "in errors")
    what = f"{len(rows)} numbers differ"
    parts += [_above(what, rows, most, f"the {most} furthest apart"), aligned(heads, rows[:most])]
    parts.append(
        "predicted states: RMS of the change in units of the scattering, of the component that changes most"
    )
    parts.append(_effect_table(effect))
    parts.append(f"{found.table} coefficients of the magnet table differ, by {found.table_largest:g} at most")
    parts.append(
        "x behind the magnet, largest change in mm at 5 GeV, by x/x_max (right) and y/y_max (down) at z_in"
    )
    coarse = abs(shift).reshape(10, 6, 10, 5).max(axis=(1, 3))
    places = [f"{place / 10:.1f}" for place in range(-9, 10, 2)]
    cells = zip(places, coarse.T, strict=True)
    parts.append(aligned(["", *places], [[y, *(f"{cell:.3g}" for cell in row)] for y, row in cells]))
    return "\n\n".join(parts)


def _effect_table(effect: "list[Change]") -> str:
    """Lay out a row a step: by momentum the component that changes most."""
    bins = list(dict.fromkeys((c.p_min, c.p_max) for c in effect))
    largest: dict[tuple[str, float], Change] = {}
    for change in effect:
        key = (change.step, change.p_min)
        if key not in largest or change.rms > largest[key].rms:
            largest[key] = change
    cells = {key: f"{change.rms:.3f} {change.component}" for key, change in largest.items()}
    steps = dict.fromkeys(change.step for change in effect)
    rows = [(step, *(cells.get((step, low)) for low, _ in bins)) for step in steps]
    return aligned(("step", *(f"{low:g}-{high:g} GeV" for low, high in bins)), rows)


def _repetition(path: Path, found: "Replay") -> str:
    if found.identical:
        return f"{path}: identical, byte for byte"
    parts = [f"{path}: NOT identical"]
    if found.inputs:
        parts.append("other fingerprints: " + ", ".join(found.inputs))
    parts += found.environment
    if numbers := found.comparison.differences:
        rows: list[tuple[object, ...]] = [
            (d.block, d.set, d.index, d.name, _digits(d.first), _digits(d.second), short(d.pull))
            for d in numbers
        ]
        heads = ("block", "set", "index", "name", "old", "new", "in errors")
        what = f"{len(numbers)} numbers of constant.f32 differ"
        parts += [_above(what, rows, _MOST, f"the first {_MOST}"), aligned(heads, rows[:_MOST])]
    if found.bins:
        rows = [(c.bin_x, c.bin_y, c.index, _digits(c.first), _digits(c.second)) for c in found.coefficients]
        what = f"{found.comparison.table} numbers of global.f32 differ, in {found.bins} bins"
        heads_of_bins = ("bin in x", "bin in y", "index", "old", "new")
        parts += [_above(what, rows, _MOST, f"the first {_MOST}"), aligned(heads_of_bins, rows[:_MOST])]
    parts += [f"{what}: {a:g} and {b:g}" for what, (a, b) in found.comparison.constants.items()]
    return "\n".join(parts)


def _above(what: str, rows: Sequence[object], most: int, those: str) -> str:
    """Return the line above a table that shows at most so many of the rows."""
    return f"{what}; {those}:" if len(rows) > most else f"{what}:"


def _digits(value: float | None) -> str | None:
    return None if value is None else f"{value:.9g}"
