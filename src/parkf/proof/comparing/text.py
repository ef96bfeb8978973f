"""A comparison on a terminal."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from parkf.proof.comparing.comparison import Comparison


def shown(comparison: Comparison, *, everything: bool) -> Group:
    """Lay out differences in inputs and code, then figures; `everything` includes equal figures."""
    return Group(*_parts(comparison, everything))


def _parts(comparison: Comparison, everything: bool) -> Iterator[RenderableType]:
    first = comparison.subjects[0]
    for number in comparison.others:
        yield Text(f"{first.name} → {comparison.subjects[number].name}", style="bold")
        yield Text("\n".join(f"  {line}" for line in comparison.lines(number)))
    if all(map(comparison.same, comparison.others)):
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("figure")
    table.add_column(Text(first.name), justify="right")
    for number in comparison.others:
        for head in (comparison.subjects[number].name, "Δ/σ", "ratio"):
            table.add_column(Text(head), justify="right")
    group = ""
    for row in comparison.rows:
        if row.same and not everything:
            continue
        if row.group != group:
            group = row.group
            table.add_row(Text(group, style="bold"))
        cells = [Text(f"  {row.what}"), Text(row.figure(0))]
        for number in comparison.others:
            in_errors, ratio = row.texts(number)
            style = "bold" if row.moved(number) else ""
            cells += [Text(row.figure(number)), Text(in_errors, style=style), Text(ratio)]
        table.add_row(*cells)
    yield Text()
    yield table
    borrowed = [one for one in comparison.subjects if one.borrowed]
    if borrowed:
        names = ", ".join(f"{one.name} on the tracks of {one.borrowed}" for one in borrowed)
        yield Text(
            f"\nMeasured on the same tracks, so that differences are more precise than Δ/σ suggests: {names}."
        )
