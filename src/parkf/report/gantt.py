"""When each job of a run was at work: a bar a job, a row a stage."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from parkf.report.drawing import nice_ticks
from parkf.report.picture import Picture

Span = tuple[float, float]

_WIDTH, _LEFT, _RIGHT, _TOP, _ROW, _CURVE = 980.0, 216.0, 20.0, 8.0, 15.0, 46.0
# Seconds: a longer time without any job counts as a pause, which is not drawn.
PAUSE = 60.0
_SEE = (
    "Each bar is a job. A row has the jobs of one stage; rows are in the order in which stages began. Beside"
    " the bars are their seconds, the cores that they kept busy, and the memory of the largest. Below is how"
    " many jobs ran at once."
)
_CUT = f" Where all stood still for over {PAUSE:g} s the time is left out, at the dashed lines."
# Width of a note.
_NOTE = 230.0


def gantt(stages: Mapping[str, Mapping[str, Any]]) -> Picture | None:
    """Draw the spans of ``stages.json``; None if its logs have no times of jobs."""
    rows = {name: stage for name, stage in stages.items() if stage.get("spans")}
    if not rows:
        return None
    rows = dict(sorted(rows.items(), key=lambda item: (min(item[1]["spans"]), item[0])))
    spans = [tuple(span) for stage in rows.values() for span in stage["spans"]]
    clock = _Clock(spans)
    return Picture(
        "gantt",
        "When each job ran",
        _WIDTH,
        _TOP + _ROW * len(rows) + _CURVE + 40,
        _body(rows, clock, spans),
        ["stage", "begin [s]", "end [s]"],
        [(name, float(begin), float(end)) for name, stage in rows.items() for begin, end in stage["spans"]],
        see=_SEE + (_CUT if clock.cuts else ""),
        good="Good: as many jobs at once as there are cores, to the end.",
        otherwise=(
            "Otherwise: the run waits for a long job that runs alone; --set-scatter cuts samples and fits"
            " into more jobs."
        ),
    )


class _Clock:
    """Time without the pauses: from seconds since the first job to places."""

    def __init__(self, spans: Sequence[Any]) -> None:
        self.cuts: list[Span] = []  # begin of a pause, and its length
        busy_until = min(begin for begin, _ in spans)
        for begin, end in sorted(spans):
            if begin - busy_until > PAUSE:
                self.cuts.append((busy_until, begin - busy_until))
            busy_until = max(busy_until, end)
        self.length = max(self.seconds(busy_until), 1e-3)

    def seconds(self, time: float) -> float:
        return time - sum(length for begin, length in self.cuts if begin < time)

    def at(self, time: float) -> float:
        return self.place(self.seconds(time))

    def place(self, seconds: float) -> float:
        return _LEFT + seconds / self.length * (_WIDTH - _LEFT - _RIGHT)


def _body(rows: Mapping[str, Mapping[str, Any]], clock: _Clock, spans: Sequence[Any]) -> str:
    foot = _TOP + _ROW * len(rows)
    base = foot + _CURVE
    minutes = clock.length > 600
    unit = 60.0 if minutes else 1.0
    parts = []
    for tick in nice_ticks(0.0, clock.length / unit):
        place = clock.place(tick * unit)
        parts.append(
            f'<path class="grid" d="M{place:.1f} {_TOP}V{base}"/>'
            f'<text class="t" x="{place:.1f}" y="{base + 14}" text-anchor="middle">{tick:g}</text>'
        )
    for begin, _ in clock.cuts:
        parts.append(f'<path class="level cut" d="M{clock.at(begin):.1f} {_TOP}V{base}"/>')
    for number, (name, stage) in enumerate(rows.items()):
        parts.append(_row(name, stage, clock, _TOP + _ROW * number))
    parts.append(_at_once(spans, clock, base))
    parts.append(
        f'<path class="axis" d="M{_LEFT} {_TOP}V{base}H{_WIDTH - _RIGHT}"/>'
        f'<text class="t" x="{_WIDTH - _RIGHT}" y="{base + 28}" text-anchor="end">'
        f"time since the first job [{'min' if minutes else 's'}]</text>"
    )
    return "".join(parts)


def _row(name: str, stage: Mapping[str, Any], clock: _Clock, top: float) -> str:
    bars = "".join(
        f'<rect class="job" x="{clock.at(begin):.1f}" y="{top + 3:g}" height="{_ROW - 5:g}"'
        f' width="{max(clock.at(end) - clock.at(begin), 1.0):.1f}"><title>'
        f"{escape(name)}: {end - begin:.1f} s, from {begin:.1f} to {end:.1f} s</title></rect>"
        for begin, end in stage["spans"]
    )
    first, last = clock.at(stage["spans"][0][0]), clock.at(max(end for _, end in stage["spans"]))
    busy = stage["cpu_s"] / stage["wall_s"] if stage["wall_s"] else 0.0
    jobs = f"{stage['jobs']} jobs, " if stage["jobs"] > 1 else ""
    note = f"{jobs}{stage['wall_s']:.1f} s, {busy:.1f} cores, {stage['peak_mb']:.0f} MB"
    place, style = last + 4, "t soft"
    if last > _WIDTH - _NOTE:
        # Before the first bar or, where there is no room either, on the last.
        place, style = (first - 4, "row soft") if first > _LEFT + _NOTE else (last - 4, "row pale")
    return (
        f'<text class="row" x="{_LEFT - 5}" y="{top + 11:g}">{escape(name)}</text>{bars}'
        f'<text class="{style}" x="{place:.1f}" y="{top + 11:g}">{note}</text>'
    )


def _at_once(spans: Iterable[Any], clock: _Clock, base: float) -> str:
    """Draw the number of jobs at work as steps above the time axis."""
    changes = sorted((time, change) for begin, end in spans for time, change in ((begin, 1), (end, -1)))
    counts, count = [], 0
    for time, change in changes:
        count += change
        counts.append((clock.at(time), count))
    most = max(count for _, count in counts)
    scale = (_CURVE - 14) / most
    path = f"M{counts[0][0]:.1f} {base}" + "".join(f"H{x:.1f}V{base - scale * n:.1f}" for x, n in counts)
    return (
        f'<g class="s c0"><path d="{path}"/><path class="fill" d="{path}V{base}Z"/></g>'
        f'<text class="row" x="{_LEFT - 5}" y="{base - 2:g}">jobs at once, {most} at most</text>'
    )
