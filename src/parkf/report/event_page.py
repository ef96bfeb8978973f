"""Figures and page of an event: from above, the side and the front, and hits about the fit."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from parkf.io.errors import ParkfError
from parkf.report.drawing import Drawn, Panel, Series
from parkf.report.event import F64, PLANES, Event, Track, load_event
from parkf.report.site import write_page
from parkf.report.tables import Cells

_METRES = 1e-3
# Sides of the front view, mm, and how far from the fit other hits are drawn.
_WIDE, _HIGH = 3000.0, 2500.0
_AROUND = 10.0
# Hits of an event that are drawn at most; where there are more, every n-th is.
_MOST_HITS = 5000
_KINDS = ("genuine", "ghost")


def write_event(
    run: Path, page: Path, *, sample: str | None, number: int | None, tracks: Sequence[int]
) -> Event:
    """Write the page of one event by itself.

    Raises
    ------
    ParkfError
        When a file is missing or broken, or there is no such event or track.
    """
    event = load_event(run, sample=sample, number=number)
    write_page(page, "event.html", folder=f"{page.stem}-figures", **event_page(event, tracks or None))
    return event


def event_page(event: Event, tracks: Sequence[int] | None = None) -> dict[str, Any]:
    """Return the content of ``event.html``: the tracks asked for, or a typical one, a bad one and a ghost.

    Raises
    ------
    ParkfError
        When the event has no such track.
    """
    known = {track.number: track for track in event.tracks}
    for number in tracks or ():
        if number not in known:
            raise ParkfError(
                f"event {event.number}: no track {number}; there are 0 to {max(known, default=0)}"
            )
    chosen = _telling(event) if tracks is None else [(f"track {n}", known[n]) for n in tracks]
    return {
        "event": event,
        "views": _views(event),
        "tracks": [(title, track, _track_views(event, track)) for title, track in chosen],
        "table_of": _table(event),
    }


def without_event(reason: str) -> dict[str, Any]:
    """Return the content of the page for a run without an event to show."""
    return {"event": None, "reason": reason}


def _telling(event: Event) -> list[tuple[str, Track]]:
    """Choose tracks: the genuine one of median χ², the worst, and the ghost that looks best."""
    good = [track for track in event.tracks if track.good]
    genuine = sorted((t for t in good if not t.ghost), key=lambda t: t.chi2)
    ghosts = sorted((t for t in good if t.ghost), key=lambda t: t.chi2)
    chosen = []
    if genuine:
        chosen += [("a typical genuine track", genuine[len(genuine) // 2])]
        chosen += [("the genuine track with the largest χ²", genuine[-1])] if len(genuine) > 1 else []
    return chosen + ([("the ghost with the smallest χ²", ghosts[0])] if ghosts else [])


def _table(event: Event) -> Cells:
    return Cells(
        ["track", "what", "hits of its particle [%]", "p [GeV]", "χ²/ndof", "hits"],
        [
            [
                str(track.number),
                "no good fit" if not track.good else _KINDS[track.ghost],
                f"{100 * track.purity:.0f}",
                f"{track.p:+.2f}",
                f"{track.chi2:.2f}",
                str(len(track.velo) + len(track.strips)),
            ]
            for track in event.tracks
        ],
        text=("what",),
    )


def _many(
    tracks: Sequence[Track], a: int | None, b: int, scale: float
) -> tuple[list[float], list[float | None]]:
    """Join paths of several tracks, with a gap between each; `a` None is z."""
    xs: list[float] = []
    ys: list[float | None] = []
    for track in tracks:
        first = PLANES if a is None else track.fit[:, a]
        kept = np.isfinite(track.fit[:, b])
        xs += [*(_METRES * first[kept]).tolist(), 0.0]
        ys += [*(scale * track.fit[kept, b]).tolist(), None]
    return xs, ys


def _views(event: Event) -> Drawn:
    kinds = [[t for t in event.tracks if t.good and t.ghost == ghost] for ghost in (False, True)]

    step = -(-len(event.hits) // _MOST_HITS)
    drawn = event.hits[::step]

    def panel(a: int | None, b: int, x_label: str, y_label: str, **limits: Any) -> Panel:
        column = 2 if a is None else a
        hits = Series(
            "hits" if step == 1 else f"hits, one in {step}",
            (_METRES * drawn[:, column]).tolist(),
            (_METRES * drawn[:, b]).tolist(),
            shape="dots",
            colour=6,
        )
        paths = [
            Series(f"fit, {name}", *_many(tracks, a, b, _METRES), shape="line", colour=number)
            for number, (name, tracks) in enumerate(zip(_KINDS, kinds, strict=True))
        ]
        return Panel(x_label, y_label, [hits, *paths], **limits)

    x, y = _METRES * _WIDE, _METRES * _HIGH
    return Drawn(
        "event",
        f"Event {event.number}: hits and fitted tracks from above, from the side and from the front",
        [
            panel(None, 0, "z [m]", "from above: x [m]", y_limits=(-x, x)),
            panel(None, 1, "z [m]", "from the side: y [m]", y_limits=(-y, y)),
            panel(0, 1, "x [m]", "from the front: y [m]", x_limits=(-x, x), y_limits=(-y, y)),
        ],
        see=(
            "Dots are hits, those of strips in the strip's middle; lines are fitted states at the beam "
            "line, carried on by Runge–Kutta without scattering."
        ),
        good=(
            "Good: lines bend in the magnet, between 3 and 7 m, and not before or behind it; in y they hardly"
            " bend at all."
        ),
        otherwise="Otherwise: a line that leaves its hits behind the magnet has a wrong momentum.",
        small=True,
    )


def _track_views(event: Event, track: Track) -> Drawn:
    z = (_METRES * PLANES).tolist()
    velo, strips = track.velo, track.strips
    hit_z = np.concatenate([velo[:, 2], strips[:, 1]])
    fit = np.column_stack([np.interp(hit_z, PLANES, track.fit[:, c], left=np.nan) for c in (0, 1)])
    # A strip measures x at a given y; the y of the fit is good enough to draw its hit.
    hit_x = np.concatenate([velo[:, 0], strips[:, 0] + strips[:, 2] * fit[len(velo) :, 1]])
    left = [*(hit_x - fit[:, 0])]
    own, wrong = track.own, ~track.own

    def hits(values: F64 | Sequence[float], scale: float) -> list[Series]:
        numbers = np.asarray(values)
        return [
            Series(name, (_METRES * hit_z[which]).tolist(), (scale * numbers[which]).tolist(), colour=colour)
            for name, which, colour in (("found, of its particle", own, 2), ("found, of another", wrong, 1))
        ]

    def path(name: str, values: F64, colour: int, *, dashed: bool) -> Series:
        return Series(name, z, values.tolist(), shape="line", colour=colour, dashed=dashed)

    def pair(column: int) -> list[Series]:
        return [
            path("fit", _METRES * track.fit[:, column], 0, dashed=False),
            path("truth", _METRES * track.truth[:, column], 6, dashed=True),
        ]

    others = _others(event, track)
    far = max(_AROUND, 1.1 * float(np.nanmax(np.abs(left), initial=0.0)))
    velo_y = np.concatenate([velo[:, 1], np.full(len(strips), np.nan)])
    return Drawn(
        f"track-{track.number}",
        f"Track {track.number}: from above, from the side, and hits about the fit",
        [
            Panel("z [m]", "from above: x [m]", [*pair(0), *hits(hit_x, _METRES)]),
            Panel("z [m]", "from the side: y [m]", [*pair(1), *hits(velo_y, _METRES)]),
            Panel(
                "z [m]",
                "about the fit, in x [mm]",
                [
                    Series("other hits", *others, shape="dots", colour=6),
                    path("truth", track.truth[:, 0] - track.fit[:, 0], 6, dashed=True),
                    *hits(left, 1.0),
                ],
                # Wide enough for all hits of the track itself.
                y_limits=(-far, far),
                levels=(0.0,),
            ),
        ],
        small=True,
    )


def _others(event: Event, track: Track) -> tuple[list[float], list[float | None]]:
    """Hits of any particle near the fit in x and, roughly, in y: z in m, distance in mm."""
    z = event.hits[:, 2]
    x, y = (np.interp(z, PLANES, track.fit[:, c], left=np.nan) for c in (0, 1))
    # VELO hits are points. A strip is as long as its half of the detector, so y only selects the half.
    velo = z < PLANES[10]
    beside = np.where(velo, np.abs(event.hits[:, 1] - y) < _AROUND, event.hits[:, 1] * y > 0)
    near = (np.abs(event.hits[:, 0] - x) < _AROUND) & beside
    return (_METRES * z[near]).tolist(), (event.hits[near, 0] - x[near]).tolist()
