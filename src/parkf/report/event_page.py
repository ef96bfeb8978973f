"""Figures and page of an event: views from above, the side and the front, and hits about the fit."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from parkf.io.errors import ParkfError
from parkf.report.drawing import Drawn, Panel, Series
from parkf.report.event import F64, PLANES, Event, Track, hit_places, load_event
from parkf.report.site import write_page
from parkf.report.tables import Cells, table_of
from parkf.report.words import words

_METRES = 1e-3
# Half sides of the front view, mm; and the distance from the fit up to which other hits are drawn, mm.
_WIDE, _HIGH = 3000.0, 2500.0
_AROUND = 10.0
# Maximum number of hits in a drawing; of more hits, every n-th is drawn.
_MOST_HITS = 3000
# Maximum number of points of all paths in a drawing; of more points, every n-th is drawn.
_MOST_POINTS = 4000
_KINDS = ("genuine", "ghost")


def write_event(
    run: Path, page: Path, *, sample: str | None, number: int | None, tracks: Sequence[int]
) -> Event:
    """Write the page of one event; a broken file, or no such event or track, raises a ParkfError."""
    event = load_event(run, sample=sample, number=number)
    write_page(page, "event.html", folder=f"{page.stem}-figures", **event_page(event, tracks or None))
    return event


def event_page(event: Event, tracks: Sequence[int] | None = None) -> dict[str, Any]:
    """Return the content of ``event.html``: the `tracks` by number, or a typical and a bad one and a ghost.

    A ParkfError is raised when the event has no such track.
    """
    known = {track.number: track for track in event.tracks}
    for number in tracks or ():
        if number not in known:
            raise ParkfError(
                f"event {event.number}: no track {number}; there are 0 to {max(known, default=0)}"
            )
    chosen = _examples(event) if tracks is None else [(f"track {n}", known[n]) for n in tracks]
    return {
        "event": event,
        "views": _views(event),
        "tracks": [(title, track, _track_views(event, track)) for title, track in chosen],
        "table_of": _table(event),
    }


def _examples(event: Event) -> list[tuple[str, Track]]:
    """Choose the genuine tracks with the median and the largest χ², and the ghost with the smallest χ²."""
    good = sorted((track for track in event.tracks if track.good), key=lambda track: track.chi2)
    genuine = [track for track in good if not track.ghost]
    ghosts = [track for track in good if track.ghost]
    chosen = []
    if genuine:
        chosen.append(("a typical genuine track", genuine[len(genuine) // 2]))
    if len(genuine) > 1:
        chosen.append(("the genuine track with the largest χ²", genuine[-1]))
    if ghosts:
        chosen.append(("the ghost with the smallest χ²", ghosts[0]))
    return chosen


def _table(event: Event) -> Cells:
    columns: dict[str, Callable[[Track], str]] = {
        "track": lambda track: str(track.number),
        "what": lambda track: _KINDS[track.ghost] if track.good else "no good fit",
        "hits of its particle [%]": lambda track: f"{100 * track.purity:.0f}",
        "p [GeV]": lambda track: f"{track.p:+.2f}",
        "χ²/ndof": lambda track: f"{track.chi2:.2f}",
        "hits": lambda track: str(len(track.velo) + len(track.strips)),
    }
    return table_of(event.tracks, columns, text=("what",))


def _views(event: Event) -> Drawn:
    step = -(-len(event.hits) // _MOST_HITS)
    # In metres: x, y, z.
    hits = _METRES * event.hits[::step].T
    name = "hits" if step == 1 else f"hits, one in {step}"

    def panel(a: int, b: int, x_label: str, y_label: str, **limits: Any) -> Panel:
        series = [Series(name, hits[a].tolist(), hits[b].tolist(), shape="dots", colour=6)]
        for ghost, kind in enumerate(_KINDS):
            tracks = [track for track in event.tracks if track.good and track.ghost == ghost]
            series.append(Series(f"fit, {kind}", *_paths(tracks, a, b), shape="line", colour=ghost))
        return Panel(x_label, y_label, series, **limits)

    x, y = _METRES * _WIDE, _METRES * _HIGH
    panels = [
        panel(2, 0, "z [m]", "from above: x [m]", y_limits=(-x, x)),
        panel(2, 1, "z [m]", "from the side: y [m]", y_limits=(-y, y)),
        panel(0, 1, "x [m]", "from the front: y [m]", x_limits=(-x, x), y_limits=(-y, y)),
    ]
    return Drawn("event", panels=panels, **words("event", number=event.number))


def _paths(tracks: Sequence[Track], a: int, b: int) -> tuple[list[float], list[float | None]]:
    """Join paths of several tracks in m, with a gap between each; coordinates are 0 x, 1 y, and 2 z."""
    xs: list[float] = []
    ys: list[float | None] = []
    step = -(-len(tracks) * len(PLANES) // _MOST_POINTS) or 1
    for track in tracks:
        first = PLANES if a == 2 else track.fit[:, a]
        kept = np.isfinite(track.fit[:, b])
        kept &= np.arange(len(kept)) % step == np.argmax(kept) % step
        xs += [*(_METRES * first[kept]).tolist(), 0.0]
        ys += [*(_METRES * track.fit[kept, b]).tolist(), None]
    return xs, ys


def _track_views(event: Event, track: Track) -> Drawn:
    z, hit_x, fit_x = hit_places(track)
    away = hit_x - fit_x
    # Strips do not measure y.
    hit_y = np.concatenate([track.velo[:, 1], np.full(len(track.strips), np.nan)])

    def hits(values: F64) -> list[Series]:
        return [
            Series(name, (_METRES * z[which]).tolist(), values[which].tolist(), colour=colour)
            for name, which, colour in (
                ("found, of its particle" if event.all_hits else "found", track.own, 2),
                ("found, of another", ~track.own, 1),
            )
            if event.all_hits or which.any()
        ]

    def path(name: str, values: F64) -> Series:
        truth = name == "truth"
        z_of_path = (_METRES * PLANES).tolist()
        return Series(name, z_of_path, values.tolist(), shape="line", colour=6 if truth else 0, dashed=truth)

    def paths(column: int) -> list[Series]:
        return [path("fit", _METRES * track.fit[:, column]), path("truth", _METRES * track.truth[:, column])]

    beside = [
        Series("other hits", *_others(event, track), shape="dots", colour=6),
        path("truth", track.truth[:, 0] - track.fit[:, 0]),
        *hits(away),
    ]
    # The panel has room for all hits of the track itself.
    far = max(_AROUND, 1.1 * float(np.nanmax(np.abs(away), initial=0.0)))
    return Drawn(
        f"track-{track.number}",
        f"Track {track.number}: from above, from the side, and hits about the fit",
        [
            Panel("z [m]", "from above: x [m]", [*paths(0), *hits(_METRES * hit_x)]),
            Panel("z [m]", "from the side: y [m]", [*paths(1), *hits(_METRES * hit_y)]),
            Panel("z [m]", "about the fit, in x [mm]", beside, y_limits=(-far, far), levels=(0.0,)),
        ],
    )


def _others(event: Event, track: Track) -> tuple[list[float], list[float]]:
    """Return hits of any particle near the fit in x and, roughly, in y: z in m, distance in mm."""
    z = event.hits[:, 2]
    x, y = (np.interp(z, PLANES, track.fit[:, c], left=np.nan) for c in (0, 1))
    # VELO hits are points. A strip is as long as its half of the detector, so y only selects the half.
    velo = z < PLANES[10]
    beside = np.where(velo, np.abs(event.hits[:, 1] - y) < _AROUND, event.hits[:, 1] * y > 0)
    near = (np.abs(event.hits[:, 0] - x) < _AROUND) & beside
    return (_METRES * z[near]).tolist(), (event.hits[near, 0] - x[near]).tolist()
