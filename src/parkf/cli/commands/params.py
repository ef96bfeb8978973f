"""``parkf params``: the published sets, their purposes, and their differences.

Exit codes: 0 for yes or done; 1 for no (sets differ, a set misses a bar, a publication is refused); 2 for no
answer (wrong usage, or files that cannot be read).
"""

import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option, Typer

from parkf.cli.commands.options import Json, RegistryFolder, Set, registry_in
from parkf.cli.messages import NO, NO_ANSWER, exit_on_error, gate_table, print_answer, short
from parkf.io.errors import ParkfError
from parkf.io.option_types import FormsName
from parkf.io.terminal import aligned

if TYPE_CHECKING:
    from parkf.params.comparison import Comparison
    from parkf.params.registry import Registry

app = Typer(
    help="Published parameter sets, and their exchange with other programs.",
    no_args_is_help=True,
    epilog="Example: parkf params list",
)

OfDetector = Annotated[str | None, Option(help="Only sets for the geometry with this tag.")]
OfForms = Annotated[FormsName | None, Option(help="Only sets of these forms.")]

_COLUMNS = ("version", "state", "forms", "detector", "validity", "created", "supersedes", "problem")
_COLUMNS_FOR = ("detector", "forms", "set", "validity", "superseded", "path")
_MOST = 20  # numbers that are printed, of those that differ
_NUMBER = ("block", "set", "index", "name", "value", "error", "scale", "unit", "parity", "meaning")


@app.command("list", epilog="Example: parkf params list")
def list_(registry: RegistryFolder = None, as_json: Json = False) -> None:
    """List published sets; if one is broken, name it and exit with 1."""
    from parkf.params.parameter_set import load
    from parkf.params.validity import shown_validity

    sets = registry_in(registry)
    with exit_on_error(NO):
        if not sets.folder.is_dir():
            raise ParkfError(f"{sets.folder}: no such folder; expected a registry of sets: correct the name")
        entries = sorted(sets.index().sets.items())
    rows = []
    for version, entry in entries:
        row: dict[str, Any] = {"version": version, "state": "broken"}
        row |= dict.fromkeys(("forms", "detector", "created", "supersedes", "validity", "sha256"))
        try:
            loaded = load(sets.folder / version, withdrawn=True)
            manifest = loaded.manifest
            row["validity"] = shown_validity(manifest)
            row |= {name: getattr(manifest, name) for name in ("forms", "detector", "created", "supersedes")}
            row |= {"state": loaded.state, "problem": loaded.withdrawn, "sha256": entry.sha256}
        except ParkfError as error:
            row["problem"] = str(error)
        rows.append(row)
    whole = all(row["state"] != "broken" for row in rows)
    print_answer(as_json, rows, _listed(sets, _COLUMNS, rows), yes=whole)


def _listed(sets: "Registry", columns: Sequence[str], rows: Sequence[dict[str, Any]]) -> str:
    if not rows:
        return f"{sets.folder}: no published sets"
    return aligned(columns, [[row[name] for name in columns] for row in rows])


@app.command(epilog="Example: parkf params show 2026-run3-like-2-r018 --numbers")
def show(
    name: Set,
    numbers: Annotated[bool, Option("--numbers", help="Print all numbers but those of the magnet.")] = False,
    registry: RegistryFolder = None,
    as_json: Json = False,
) -> None:
    """Show what a set is made of."""
    from parkf.params.comparison import described_blocks
    from parkf.params.manifest import numbers_in
    from parkf.params.parameter_set import load
    from parkf.params.validity import shown_validity

    with exit_on_error(NO_ANSWER):
        path = registry_in(registry).find(name)
        loaded = load(path, withdrawn=True)
        manifest, state, reason = loaded.manifest, loaded.state, loaded.withdrawn
        validity = shown_validity(manifest)
    content = manifest.model_dump(mode="json")
    content |= {"state": state, "withdrawn": reason, "sha256": loaded.sha256}
    facts = [
        ("set", path),
        ("version", manifest.version or "none"),
        ("digest", f"sha256 {loaded.sha256}"),
        ("state", state if reason is None else f"{state}: {reason}"),
        ("source", manifest.source),
        ("detector", manifest.detector),
        ("validity", validity),
        ("forms", f"{manifest.forms}, layout {manifest.layout_version}"),
        ("format", f"{manifest.format_version}, readers from {manifest.minimum_reader}"),
        ("made by", f"parkf {manifest.code_version}, {manifest.created or 'not published'}"),
        ("supersedes", manifest.supersedes or "none"),
        *((f"{blob} sha256", content["blobs"][blob]["sha256"]) for blob in ("constant", "table")),
    ]
    trained = [*manifest.inputs.items(), *(manifest.configuration or {}).items()]

    width = 2 + max(len(what) for what, _ in (*facts, *trained))
    parts = ["\n".join(f"{what:<{width}}{value}" for what, value in part) for part in (facts, trained)]
    if manifest.gates:
        parts.append(gate_table(manifest.gates))
    if numbers:
        rows = [
            (*place, n.name, short(n.value, 9), short(n.error), f"{n.scale:g}", n.unit, n.parity, n.text)
            for *place, n in numbers_in(described_blocks(loaded))
        ]
        parts.append(aligned(_NUMBER, rows))
    print_answer(as_json, content, "\n\n".join(parts))


@app.command("for", epilog="Example: parkf params for 300123")
def for_(
    data: Annotated[str, Argument(metavar="RUN", help="A run's number, or a time: 2026-05-03T12:00Z.")],
    detector: OfDetector = None,
    forms: OfForms = None,
    registry: RegistryFolder = None,
    as_json: Json = False,
) -> None:
    """Name the published set to use for a run or a time, for each detector and set of forms.

    Withdrawn sets do not count. Where several sets are for the data, the newest of them is named. Exits with
    1 where there is no set, and with 2 where it is not clear which one to use.
    """
    from parkf.params.validity import Moment

    with exit_on_error(NO_ANSWER):
        sets = registry_in(registry)
        found = sets.best_sets(Moment.parse(data), detector=detector, forms=forms)
    rows = [row | {"set": row["set"] or "none", "superseded": ", ".join(row["superseded"])} for row in found]
    print_answer(as_json, found, _listed(sets, _COLUMNS_FOR, rows), yes=any(row["set"] for row in found))


@app.command(epilog="Example: parkf params diff 2026-run3-like-2-r003 results/default/set")
def diff(
    first: Set,
    second: Set,
    registry: RegistryFolder = None,
    as_json: Json = False,
) -> None:
    """Compare the numbers of two sets, in units of their errors; `parkf compare` has their figures."""
    from parkf.params.comparison import compare
    from parkf.params.parameter_set import load

    with exit_on_error(NO_ANSWER):
        sets = registry_in(registry)
        a, b = (load(sets.find(name), withdrawn=True) for name in (first, second))
        found = compare(a, b)
    content = {"identical": found.identical, **asdict(found)}
    print_answer(as_json, content, _difference(found), yes=found.identical)


def _difference(found: "Comparison") -> str:
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
    those = f"; the {_MOST} furthest apart" if len(rows) > _MOST else ""
    parts += [
        f"{len(rows)} numbers differ{those}:",
        aligned(heads, rows[:_MOST]),
        f"{found.table} coefficients of the magnet table differ, by {found.table_largest:g} at most",
        *_others(found),
    ]
    return "\n\n".join(parts)


def _others(found: "Comparison") -> list[str]:
    by = "" if found.slices_largest is None else f", by {found.slices_largest:g} MeV/mm at most"
    words = {"slices": f"the steps inside the magnet differ{by}", "ghost_score": "the ghost scores differ"}
    return [words[name] for name in found.others]


@app.command(epilog="Example: parkf params reproduce 2026-run3-like-2-r018 --cores 2")
def reproduce(
    name: Set,
    work: Annotated[Path | None, Option(help="Training folder; else results/reproduced/<version>.")] = None,
    cores: Annotated[int | None, Option(min=1, help="Cores to use; all by default.")] = None,
    registry: RegistryFolder = None,
    as_json: Json = False,
) -> None:
    """In a checkout, train a set again as its manifest describes, and check that the bytes are the same.

    Exits with 0 if they are, with 1 if not (`parkf params diff` shows what differs), and with 2 if inputs or
    formulas here are not those of the set.
    """
    from parkf.params.parameter_set import load
    from parkf.workflow.reproduce import replay

    with exit_on_error(NO_ANSWER):
        path = registry_in(registry).find(name)
        parameters = load(path, withdrawn=True)
        folder = work or Path("results/reproduced") / (parameters.manifest.version or path.name)
        found = replay(parameters, Path(), folder, cores or os.cpu_count() or 1)
    content = {"set": str(path), **asdict(found), "made": str(found.made)}
    text = f"{path}: identical, byte for byte"
    if not found.identical:
        others = [f"other fingerprints: {', '.join(found.inputs)}"] if found.inputs else []
        more = [*others, *found.environment, f"what differs:  parkf params diff {path} {found.made}"]
        text = "\n".join([f"{path}: NOT identical", *more])
    print_answer(as_json, content, text, yes=found.identical)
