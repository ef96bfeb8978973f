"""A chart of the times of a run's jobs: a bar for each job, a row for each stage."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import accumulate
from typing import Any

from parkf.report.drawing import nice_ticks
from parkf.report.picture import Picture, label
from parkf.report.words import words

_WIDTH, _LEFT, _RIGHT, _TOP, _ROW, _CURVE = 980.0, 216.0, 960.0, 8.0, 15.0, 46.0
# Seconds: a longer time without any job counts as a pause, which is not drawn.
PAUSE = 60.0
_PAUSES = f" Times of over {PAUSE:g} s without any job are left out; dashed lines mark them."
# Pixels of the text beside the bars of a row.
_NOTE = 230.0

Stages = Mapping[str, Mapping[str, Any]]


def gantt(stages: Stages) -> Picture | None:
    """Draw the spans of ``stages.json``; None if its logs have no times of jobs."""
    timed = [(name, stage) for name, stage in stages.items() if stage.get("spans")]
    if not timed:
        return None
    rows = dict(sorted(timed, key=lambda item: (min(item[1]["spans"]), item[0])))
    spans = [
        (name, float(begin), float(end)) for name, stage in rows.items() for begin, end in stage["spans"]
    ]
    clock = _Clock([(begin, end) for _, begin, end in spans])
    return Picture(
        "gantt",
        width=_WIDTH,
        height=_TOP + _ROW * len(rows) + _CURVE + 40,
        body="".join(_body(rows, clock)),
        columns=["stage", "begin [s]", "end [s]"],
        rows=spans,
        **words("gantt", pauses=_PAUSES if clock.cuts else ""),
    )


class _Clock:
    """Converts seconds since the first job to positions; pauses have no length."""

    def __init__(self, spans: Sequence[tuple[float, float]]) -> None:
        self.spans = spans
        self.cuts: list[tuple[float, float]] = []  # begin of a pause, and its length
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
        return _LEFT + seconds / self.length * (_RIGHT - _LEFT)


def _body(rows: Stages, clock: _Clock) -> Iterator[str]:
    base = _TOP + _ROW * len(rows) + _CURVE
    unit, name = (60.0, "min") if clock.length > 600 else (1.0, "s")
    for tick in nice_ticks(0.0, clock.length / unit):
        x = f"{clock.place(tick * unit):.1f}"
        yield f'<path class="grid" d="M{x} {_TOP}V{base}"/>'
        yield label("t", x, base + 14, f"{tick:g}", ' text-anchor="middle"')
    for begin, _ in clock.cuts:
        yield f'<path class="level cut" d="M{clock.at(begin):.1f} {_TOP}V{base}"/>'
    for number, (stage, content) in enumerate(rows.items()):
        yield from _row(stage, content, clock, _TOP + _ROW * number)
    yield from _at_once(clock, base)
    yield f'<path class="axis" d="M{_LEFT} {_TOP}V{base}H{_RIGHT}"/>'
    yield label("t", _RIGHT, base + 28, f"time since the first job [{name}]", ' text-anchor="end"')


def _row(name: str, stage: Mapping[str, Any], clock: _Clock, top: float) -> Iterator[str]:
    y, spans = f"{top + 11:g}", stage["spans"]
    yield label("row", _LEFT - 5, y, name)
    for begin, end in spans:
        width = max(clock.at(end) - clock.at(begin), 1.0)
        yield (
            f'<rect class="job" x="{clock.at(begin):.1f}" y="{top + 3:g}" height="{_ROW - 5:g}"'
            f' width="{width:.1f}"><title>{escape(name)}: {end - begin:.1f} s,'
            f" from {begin:.1f} to {end:.1f} s</title></rect>"
        )
    first, last = clock.at(spans[0][0]), clock.at(max(end for _, end in spans))
    style, x = "t soft", last + 4
    if last > _WIDTH - _NOTE:
        # The note is before the first bar or, without room there, on the last bar.
        style, x = ("row soft", first - 4) if first > _LEFT + _NOTE else ("row pale", last - 4)
    busy = stage["cpu_s"] / stage["wall_s"] if stage["wall_s"] else 0.0
    jobs = f"{stage['jobs']} jobs, " if stage["jobs"] > 1 else ""
    note = f"{jobs}{stage['wall_s']:.1f} s, {busy:.1f} cores, {stage['peak_mb']:.0f} MB"
    yield label(style, f"{x:.1f}", y, note)


def _at_once(clock: _Clock, base: float) -> Iterator[str]:
    """Draw the number of jobs at work as steps above the time axis."""
    changes = sorted([(begin, 1) for begin, _ in clock.spans] + [(end, -1) for _, end in clock.spans])
    counts = [*accumulate(change for _, change in changes)]
    scale = (_CURVE - 14) / max(counts)
    path = f"M{clock.at(changes[0][0]):.1f} {base}" + "".join(
        f"H{clock.at(time):.1f}V{base - scale * count:.1f}"
        for (time, _), count in zip(changes, counts, strict=True)
    )
    yield f'<g class="s c0"><path d="{path}"/><path class="fill" d="{path}V{base}Z"/></g>'
    yield label("row", _LEFT - 5, f"{base - 2:g}", f"jobs at once, {max(counts)} at most")
