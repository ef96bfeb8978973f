"""Pictures of geometries, events and tracks, as figures of Matplotlib."""

from pathlib import Path

from matplotlib.figure import Figure

from parkf.detector.geometry import Geometry, load_geometry
from parkf.io.errors import ParkfError
from parkf.report.event import PLANES, Event, Track, hit_places
from parkf.report.geometry import geometry_figure

_COLOURS = {False: "tab:blue", True: "tab:red"}
_STRIP = 1000.0


def draw(what: Event | Track | Geometry | str | Path) -> Figure:
    """Draw an event or a track of a run, or a geometry.

    ``run.event()`` returns an event, which has ``tracks``. An event is shown from above and from the side,
    with genuine tracks in blue and ghosts in red. A track is shown by the distances of its hits from the
    fitted path. A geometry, or the file of one, is shown by its planes and its material.

    Raises
    ------
    ParkfError
        When there is anything else to draw, or the file of a geometry cannot be read.
    """
    if isinstance(what, str | Path):
        what = load_geometry(Path(what))
    if isinstance(what, Geometry):
        return geometry_figure(what)
    if isinstance(what, Event):
        return _event(what)
    if isinstance(what, Track):
        return _track(what)
    raise ParkfError(f"draw: got {type(what).__name__}, expected an event, a track or a geometry")


def _event(event: Event) -> Figure:
    figure = Figure(figsize=(10, 7), layout="constrained")
    views = figure.subplots(2, 1, sharex=True)
    for view, (name, axis) in zip(views, (("x", 0), ("y", 1)), strict=True):
        # Strips measure x alone: the height of their hits is not known.
        hits = event.hits if axis == 0 else event.hits[event.hits[:, 2] < _STRIP]
        view.plot(hits[:, 2] / 1e3, hits[:, axis] / 1e3, ".", color="0.75", markersize=1, rasterized=True)
        for track in event.tracks:
            if track.good:
                path = track.fit[:, axis] / 1e3
                view.plot(PLANES / 1e3, path, color=_COLOURS[track.ghost], linewidth=0.7)
        view.set(ylabel=f"{name} / m", ylim=(-3, 3))
    views[-1].set(xlabel="z / m", xlim=(-0.3, 9.6))
    ghosts = sum(track.ghost for track in event.tracks if track.good)
    title = f"event {event.number} of {event.sample}: {len(event.tracks)} tracks, {ghosts} of them ghosts"
    figure.suptitle(title)
    return figure


def _track(track: Track) -> Figure:
    figure = Figure(figsize=(7, 3.5), layout="constrained")
    axes = figure.subplots()
    z, measured, fitted = hit_places(track)
    for mine, marker, colour, label in (
        (True, "o", "tab:blue", "hits of its particle"),
        (False, "s", "tab:red", "other hits"),
    ):
        chosen = track.own == mine
        axes.plot(z[chosen] / 1e3, (measured - fitted)[chosen], marker, color=colour, label=label)
    axes.axhline(0, color="0.5", linewidth=0.8)
    axes.set(xlabel="z / m", ylabel="hit − fitted path in x / mm")
    axes.set_title(f"track {track.number}: p = {track.p:.1f} GeV, χ²/ndof = {track.chi2:.1f}")
    axes.legend(fontsize="small")
    return figure
