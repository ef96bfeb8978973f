"""A comparison on a terminal."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from parkf.proof.comparing.comparison import MOVED, Comparison
from parkf.proof.comparing.figures import figure


def shown(comparison: Comparison, *, everything: bool) -> Group:
    """Lay a comparison out: first what differed, then figures; those that are the same only if asked for."""
    return Group(*_parts(comparison, everything))


def _parts(comparison: Comparison, everything: bool) -> Iterator[RenderableType]:
    first, *others = comparison.subjects
    for number, other in enumerate(others, start=1):
        yield Text(f"{first.name} → {other.name}", style="bold")
        if comparison.same(number):
            yield Text("  the same")
        else:
            found = comparison.inputs[number - 1]
            lines = [str(one) for one in found] or [comparison.sentence(number)]
            yield Text("\n".join(f"  {line}" for line in lines))
    if all(comparison.same(number) for number in range(1, len(comparison.subjects))):
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("figure")
    for number, subject in enumerate(comparison.subjects):
        table.add_column(Text(subject.name), justify="right")
        if number:
            table.add_column("Δ/σ", justify="right")
            table.add_column("ratio", justify="right")
    group = ""
    for row in comparison.rows:
        if row.same and not everything:
            continue
        if row.group != group:
            group = row.group
            table.add_row(Text(group, style="bold"))
        cells = [Text(f"  {row.what}"), Text(figure(row.measured[0]))]
        for number in range(1, len(comparison.subjects)):
            moved = row.in_errors(number)
            style = "bold" if moved is not None and abs(moved) > MOVED else ""
            cells += [
                Text(figure(row.measured[number])),
                Text("" if moved is None else f"{moved:+.1f}", style=style),
                Text("" if (ratio := row.ratio(number)) is None else f"{ratio:.3f}"),
            ]
        table.add_row(*cells)
    yield Text()
    yield table
    if any(subject.borrowed for subject in comparison.subjects):
        named = ", ".join(
            f"{subject.name} on the tracks of {subject.borrowed}"
            for subject in comparison.subjects
            if subject.borrowed
        )
        yield Text(
            f"\nMeasured on the same tracks, whose differences are known better than Δ/σ says: {named}."
        )
