"""What waits for what: the rules of a run, each below those that it needs."""

from collections.abc import Mapping, Sequence
from html import escape
from itertools import pairwise
from typing import Any

from parkf.report.picture import Picture

Needs = Mapping[str, frozenset[str]]

_BOX, _HIGH, _GAP, _DUMMY, _LEVEL = 124.0, 22.0, 10.0, 12.0, 46.0
_SWEEPS = 8
# What the parameter set is.
_SET = "assemble"


def draw_rules(rules: Mapping[str, Mapping[str, Any]]) -> Picture:
    """Draw the graph that ``graph.json`` has.

    Parameters
    ----------
    rules : mapping
        ``<rule> = {jobs, needs}``: how many jobs it has, and the rules whose files these read.
    """
    needs = {name: frozenset(rule["needs"]) & rules.keys() for name, rule in rules.items()}
    levels = _levels(needs)
    places, edges = _lay_out(levels, _direct(needs))
    width = max(x for x, _ in places.values()) + _BOX / 2 + 4
    height = _LEVEL * max(levels.values(), default=0) + _HIGH + 8
    needed = _before(needs).get(_SET, frozenset()) | {_SET}
    boxes = [_box(name, rules[name]["jobs"], *places[name], name in needed) for name in sorted(rules)]
    return Picture(
        "rules",
        "Rules of the run, and what each waits for",
        width,
        height,
        "".join([*(_line([places[node] for node in edge]) for edge in edges), *boxes]),
        ["rule", "jobs", "needs"],
        [(name, rules[name]["jobs"], " ".join(sorted(needs[name]))) for name in sorted(rules)],
        see=(
            "A box is a rule, with the number of its jobs; it waits for the rules above that lines connect it"
            " to. The parameter set waits for the full boxes; the empty ones measure it. Where a rule has"
            " jobs for several samples, some of them may wait for less."
        ),
        good="Good: the chain that the set waits for is short from top to bottom, and its jobs go first.",
        otherwise="Otherwise: look above for the longest of its jobs, and for what they wait for.",
    )


def _before(needs: Needs) -> dict[str, frozenset[str]]:
    """All that a rule waits for, at any distance."""
    found: dict[str, frozenset[str]] = {}

    def look(name: str) -> frozenset[str]:
        if name not in found:
            found[name] = needs[name].union(*(look(one) for one in needs[name]))
        return found[name]

    for name in needs:
        look(name)
    return found


def _direct(needs: Needs) -> list[tuple[str, str]]:
    """Edges that do not follow from others."""
    before = _before(needs)
    return [
        (one, name)
        for name in sorted(needs)
        for one in sorted(needs[name])
        if not any(one in before[other] for other in needs[name])
    ]


def _levels(needs: Needs) -> dict[str, int]:
    """Row of each rule: below all that it needs; one that needs nothing, right above where it is used."""
    levels: dict[str, int] = {}

    def level(name: str) -> int:
        if name not in levels:
            levels[name] = 1 + max((level(one) for one in needs[name]), default=-1)
        return levels[name]

    for name in needs:
        level(name)
    for name in (name for name in needs if not needs[name]):
        levels[name] = min((levels[user] for user in needs if name in needs[user]), default=1) - 1
    return levels


def _lay_out(
    levels: Mapping[str, int], edges: Sequence[tuple[str, str]]
) -> tuple[dict[str, tuple[float, float]], list[list[str]]]:
    """Return the positions of rules and of the bends of lines, and the nodes of each line."""
    rows: list[list[str]] = [[] for _ in range(max(levels.values(), default=0) + 1)]
    for name in sorted(levels):
        rows[levels[name]].append(name)
    lines = []
    for begin, end in edges:
        bends = [f"{begin} {end} {level}" for level in range(levels[begin] + 1, levels[end])]
        for bend, level in zip(bends, range(levels[begin] + 1, levels[end]), strict=True):
            rows[level].append(bend)
        lines.append([begin, *bends, end])
    steps = [pair for line in lines for pair in pairwise(line)]
    above: dict[str, list[str]] = {}
    below: dict[str, list[str]] = {}
    for one, two in steps:
        above.setdefault(two, []).append(one)
        below.setdefault(one, []).append(two)
    x = {node: place for row in rows for node, place in _spread(row).items()}
    for sweep in range(_SWEEPS):
        beside, order = (above, rows) if sweep % 2 == 0 else (below, rows[::-1])
        for row in order:
            middle = {n: sum(x[o] for o in beside[n]) / len(beside[n]) if n in beside else x[n] for n in row}
            row.sort(key=lambda node: (middle[node], node))
            x |= _spread(row, middle)
    left = min(x[node] - _room(node) / 2 for node in x) - 4
    return {
        node: (x[node] - left, 4 + _HIGH / 2 + _LEVEL * level)
        for level, row in enumerate(rows)
        for node in row
    }, lines


def _room(node: str) -> float:
    """Width of a rule's box, or of the bend of a line, whose name has blanks."""
    return _DUMMY if " " in node else _BOX + _GAP


def _spread(row: Sequence[str], wanted: Mapping[str, float] | None = None) -> dict[str, float]:
    """Place nodes in their order, near where they want to be, and none upon another."""
    places: dict[str, float] = {}
    end = float("-inf")
    for node in row:
        half = _room(node) / 2
        places[node] = max((wanted or {}).get(node, 0.0), end + half)
        end = places[node] + half
    if wanted and row:
        # Nodes are pushed to the right only, so subtract the mean shift of the row.
        lean = sum(places[node] - wanted[node] for node in row) / len(row)
        return {node: place - lean for node, place in places.items()}
    return places


def _line(points: Sequence[tuple[float, float]]) -> str:
    path = "M{:.1f} {:.1f}".format(*points[0])
    for (x0, y0), (x1, y1) in pairwise(points):
        middle = (y0 + y1) / 2
        path += f"C{x0:.1f} {middle:.1f} {x1:.1f} {middle:.1f} {x1:.1f} {y1:.1f}"
    return f'<path class="wire" d="{path}"/>'


def _box(name: str, jobs: int, x: float, y: float, needed: bool) -> str:
    text = f"{name} × {jobs}" if jobs > 1 else name
    return (
        f'<rect class="rule{" needed" if needed else ""}" x="{x - _BOX / 2:.1f}" y="{y - _HIGH / 2:.1f}"'
        f' width="{_BOX:g}" height="{_HIGH:g}" rx="4"/>'
        f'<text class="mid" x="{x:.1f}" y="{y + 4:.1f}">{escape(text)}</text>'
    )
