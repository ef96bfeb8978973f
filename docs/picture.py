"""Draws docs/detector.svg: the planes that a track crosses, three tracks, and where each kind of step acts.

Called by docs/generate.py. The geometry and the field are those that runs use; text and lines are plain SVG, so
that the same inputs give the same bytes.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from parkf.detector.field import DipoleSources, evaluate_on_grid
from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, VELO_PLANES, load_geometry
from parkf.detector.transport.runge_kutta import propagate

ROOT = Path(__file__).parents[1]
WIDTH, HEIGHT = 900.0, 330.0
_LEFT, _MIDDLE = 50.0, 175.0
_LAST = 9600.0  # mm
_PER_Z, _PER_X = (WIDTH - 95) / (_LAST + 400), 110 / 2600  # pixels a mm along the beam and across it
# Momentum in GeV, charge, slope at the origin, colour: readable on a light and on a dark page.
_TRACKS = ((2.0, 1, -0.05, "#d9482b"), (5.0, -1, 0.11, "#2b7bd9"), (20.0, 1, -0.17, "#2f9e63"))
_BANDS = (
    ("VELO", "V, BEAM", -290, 760),
    ("", "VUT", 760, 2320),
    ("UT", "UT", 2320, 2665),
    ("magnet", "table, UTTF", 2665, 7826),
    ("SciFi", "TFT, T", 7826, 9420),
)


def _x(z: float) -> float:
    return round(_LEFT + (z + 400) * _PER_Z, 1)


def _y(x: float) -> float:
    return round(_MIDDLE - x * _PER_X, 1)


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, width: float) -> str:
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{colour}" stroke-width="{width}"/>'


def _text(x: float, y: float, text: str, size: int, colour: str = "#888") -> str:
    return f'<text x="{x}" y="{y}" font-size="{size}" text-anchor="middle" fill="{colour}">{text}</text>'


def _planes() -> Iterator[str]:
    geometry = load_geometry(ROOT / "data/geometry/run3.yaml")
    z = geometry.planes()[:, 0]
    for planes, half in ((VELO_PLANES, 50.0), (UT_PLANES, 760.0), (SCIFI_PLANES, 2500.0)):
        for plane in planes:
            yield _line(_x(z[plane]), _y(half), _x(z[plane]), _y(-half), "#999", 1)
    for position in (geometry.magnet.z_in, geometry.magnet.z_out):
        place = _x(position)
        yield f'<path d="M{place} 60V290" stroke="#b58900" stroke-width="1" stroke-dasharray="4 3" fill="none"/>'


def _tracks() -> Iterator[str]:
    # A coarse map near y = 0 is enough for an accuracy of one pixel.
    sources = DipoleSources.load(ROOT / "data/field/dipole.json")
    field = evaluate_on_grid(sources, spacing=200.0, x_max=3000.0, y_max=400.0)
    places = np.linspace(0.0, 9450.0, 96)
    ones = np.ones(len(places))
    for momentum, charge, slope, colour in _TRACKS:
        start = np.tile([0.0, 0.0, slope, 0.01, charge / (1000 * momentum)], (len(places), 1))
        ends = propagate(field, -1, start, 0.0, (places, 0 * ones, 0 * ones), threads=1)
        points = [f"{_x(z)},{_y(x)}" for z, x in zip(ends.z[ends.ok], ends.states[ends.ok, 0], strict=True)]
        yield f'<polyline points="{" ".join(points)}" fill="none" stroke="{colour}" stroke-width="1.6"/>'
        last = float(points[-1].split(",")[1])
        yield _text(WIDTH - 22, last + 4, f"{momentum:g} GeV", 11, colour)


def _bands() -> Iterator[str]:
    for detector, steps, begin, end in _BANDS:
        middle = round((_x(begin) + _x(end)) / 2, 1)
        yield _text(middle, 24, detector, 14)
        yield _text(middle, 44, steps, 12, "#b58900")


def picture() -> str:
    """Draw the detector from above: z to the right, x upwards."""
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:g} {HEIGHT:g}" font-family="sans-serif">',
        "<title>LHCb's tracking detectors from above, three tracks in the dipole, and the step of each part</title>",
        *_planes(),
        *_bands(),
        *_tracks(),
        _line(_x(0), 305, _x(1000), 305, "#888", 1.5),
        _text(_x(500), 322, "1 m along the beam", 11),
        _line(20, _y(500), 20, _y(-500), "#888", 1.5),
        _text(20, round(_y(-500) + 14, 1), "1 m", 11),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"
