"""``parkf params diff``."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

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
    from parkf.params.comparison import Comparison
    from parkf.proof.comparing.effect import Change


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
    say(as_json, content, lambda: _text(found, effect, shift, most))
    if not found.identical:
        raise typer.Exit(NO)


def _text(found: "Comparison", effect: "list[Change]", shift: Any, most: int) -> str:
    if found.identical:
        return "identical"
    parts = []
    if found.forms[0] != found.forms[1]:
        parts.append(f"forms: {found.forms[0]} and {found.forms[1]}")
    if found.other_formulas:
        parts.append(f"other formulas, whose numbers do not compare: {', '.join(found.other_formulas)}")
    parts += [f"{name}: {a:g} and {b:g}" for name, (a, b) in found.constants.items()]
    ordered = sorted(found.differences, key=lambda d: -abs(d.pull or 0.0))
    rows = [(d.block, d.set, d.name, short(d.first), short(d.second), short(d.pull)) for d in ordered[:most]]
    parts.append(
        f"{len(found.differences)} numbers differ"
        + (f"; the {most} furthest apart:" if len(ordered) > most else ":")
    )
    parts.append(aligned(("block", "set", "name", "first", "second", "in errors"), rows))
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
