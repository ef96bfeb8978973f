"""The graph of a run's rules: each rule is drawn below the rules that it needs."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from graphlib import TopologicalSorter
from itertools import pairwise
from typing import Any

from parkf.report.picture import Picture, label
from parkf.report.words import words

Needs = Mapping[str, frozenset[str]]

_BOX, _LETTER, _HIGH, _GAP, _DUMMY, _LEVEL = 124.0, 6.4, 22.0, 10.0, 12.0, 46.0
_SWEEPS = 8
# The rule that makes the parameter set.
_SET = "assemble"


def draw_rules(rules: Mapping[str, Mapping[str, Any]]) -> Picture:
    """Draw a graph of :func:`parkf.report.stages.graph_of`: each rule, its number of ``jobs``, and what it ``needs``."""
    needs = {name: frozenset(rule["needs"]) & rules.keys() for name, rule in rules.items()}
    before, levels = _order(needs)
    # A line is left out if a longer path joins the same two rules.
    direct = [
        (one, name)
        for name in sorted(needs)
        for one in sorted(needs[name])
        if not any(one in before[other] for other in needs[name])
    ]
    places, lines = _lay_out(levels, direct)
    full = before.get(_SET, frozenset()) | {_SET}
    boxes = [_box(name, rules[name]["jobs"], *places[name], name in full) for name in sorted(rules)]
    return Picture(
        "rules",
        width=max(x + _box_width(name) / 2 for name, (x, _) in places.items()) + 4,
        height=_LEVEL * max(levels.values(), default=0) + _HIGH + 8,
        body="".join([*(_line([places[node] for node in line]) for line in lines), *boxes]),
        columns=["rule", "jobs", "needs"],
        rows=[(name, rules[name]["jobs"], " ".join(sorted(needs[name]))) for name in sorted(rules)],
        **words("rules"),
    )


def _order(needs: Needs) -> tuple[dict[str, frozenset[str]], dict[str, int]]:
    """Return all rules that each rule waits for, directly or indirectly, and its row.

    A rule is below all rules that it needs; a rule that needs none is just above the rules that use it.
    """
    before: dict[str, frozenset[str]] = {}
    levels: dict[str, int] = {}
    for name in TopologicalSorter(needs).static_order():
        before[name] = needs[name].union(*(before[one] for one in needs[name]))
        levels[name] = 1 + max((levels[one] for one in needs[name]), default=-1)
    for name in needs:
        if not needs[name]:
            levels[name] = min((levels[user] for user in needs if name in needs[user]), default=1) - 1
    return before, levels


def _lay_out(
    levels: Mapping[str, int], edges: Sequence[tuple[str, str]]
) -> tuple[dict[str, tuple[float, float]], list[list[str]]]:
    """Return the positions of rules and of the bends of lines, and the nodes of each line."""
    rows: list[list[str]] = [[] for _ in range(max(levels.values(), default=0) + 1)]
    for name in sorted(levels):
        rows[levels[name]].append(name)
    above, below, lines = defaultdict(list), defaultdict(list), []
    for begin, end in edges:
        line = [begin]
        for level in range(levels[begin] + 1, levels[end]):
            line.append(f"{begin} {end} {level}")
            rows[level].append(line[-1])
        lines.append([*line, end])
        for one, two in pairwise(lines[-1]):
            above[two].append(one)
            below[one].append(two)
    x = {node: place for row in rows for node, place in _spread(row, {}).items()}
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
    """Return the width of a rule's box, or of a line's bend; the name of a bend has blanks."""
    return _DUMMY if " " in node else _box_width(node) + _GAP


def _box_width(name: str) -> float:
    """Return the pixels of a rule's name and its number of jobs, of up to two digits."""
    return max(_BOX, _LETTER * (len(name) + len(" × 99")) + 10)


def _spread(row: Sequence[str], wanted: Mapping[str, float]) -> dict[str, float]:
    """Place nodes in their order, near their wanted positions and without overlaps."""
    places: dict[str, float] = {}
    end = float("-inf")
    for node in row:
        half = _room(node) / 2
        places[node] = max(wanted.get(node, 0.0), end + half)
        end = places[node] + half
    if wanted:
        # Nodes are pushed to the right only, so subtract the mean shift of the row.
        shift = sum(places[node] - wanted[node] for node in row) / len(row)
        return {node: place - shift for node, place in places.items()}
    return places


def _line(points: Sequence[tuple[float, float]]) -> str:
    path = "M{:.1f} {:.1f}".format(*points[0])
    for (x0, y0), (x1, y1) in pairwise(points):
        middle = (y0 + y1) / 2
        path += f"C{x0:.1f} {middle:.1f} {x1:.1f} {middle:.1f} {x1:.1f} {y1:.1f}"
    return f'<path class="wire" d="{path}"/>'


def _box(name: str, jobs: int, x: float, y: float, full: bool) -> str:
    width = _box_width(name)
    box = (
        f'<rect class="rule{" needed" if full else ""}" x="{x - width / 2:.1f}" y="{y - _HIGH / 2:.1f}"'
        f' width="{width:g}" height="{_HIGH:g}" rx="4"/>'
    )
    return box + label("mid", f"{x:.1f}", f"{y + 4:.1f}", f"{name} × {jobs}" if jobs > 1 else name)
