"""Drawings of a geometry: from the side, around the beam, and its material."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from parkf.detector.budget import budget
from parkf.detector.description import StripLayer
from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, VELO_PLANES, Geometry
from parkf.io.errors import ParkfError
from parkf.io.files import replacing

_VELO, _UT, _SCIFI, _OTHER = "#0072B2", "#D55E00", "#009E73", "#999999"
_DETECTORS = {"VELO": (VELO_PLANES, _VELO), "UT": (UT_PLANES, _UT), "SciFi": (SCIFI_PLANES, _SCIFI)}
_DPI = 110
_ETA = np.linspace(1.9, 5.1, 129)
_PHI = np.linspace(-np.pi, np.pi, 48, endpoint=False)
# Corners of a rectangle from its middle, in halves of its sides.
_ALONG, _ACROSS = np.array([-1.0, 1.0, 1.0, -1.0]), np.array([-1.0, -1.0, 1.0, 1.0])


def draw(geometry: Geometry, path: Path) -> None:
    """Draw a geometry on one page, as SVG or PNG by the path's ending; other endings raise a ParkfError."""
    if path.suffix not in (".svg", ".png"):
        raise ParkfError(f"{path}: expected a name that ends with .svg or .png")
    kind = path.suffix[1:]
    # Without the salt, the names inside an SVG file would be random.
    with replacing(path) as temporary, rc_context({"svg.hashsalt": "parkf"}):
        geometry_figure(geometry).savefig(
            temporary, format=kind, metadata={"Date": None} if kind == "svg" else None
        )


def geometry_figure(geometry: Geometry) -> Figure:
    """Draw a geometry as a figure of Matplotlib: from the side, around the beam, and its material."""
    page = Figure(figsize=(11.0, 9.0), dpi=_DPI, layout="constrained")
    side, close_up, material = page.subplots(3, 1, height_ratios=(1.9, 1, 1))
    page.suptitle(f"geometry {geometry.description.tag}", fontsize=15)
    _side(side, geometry)
    _close_up(close_up, geometry)
    _material_by_eta(material, geometry)
    return page


def _strip_layers(geometry: Geometry) -> Iterator[tuple[int, StripLayer, str]]:
    """Iterate over number, layer and detector of the planes of strips."""
    for name, part in (("UT", geometry.ut), ("SciFi", geometry.scifi)):
        for plane, layer in zip(_DETECTORS[name][0], part.layers, strict=True):
            yield plane, layer, name


def _outlines(geometry: Geometry, plane: int, layer: StripLayer) -> np.ndarray:
    """Corners of a layer's pieces, or of the layer itself, (n, 4, 3)."""
    if plane in geometry.pieces:
        return geometry.pieces[plane].corners()
    v = _ACROSS * layer.half_height
    u = _ALONG * layer.half_width + layer.dxdy * v
    return np.stack(geometry.frames[plane].points(u, v), axis=-1)[None]


def _sensors(geometry: Geometry, plane: int) -> np.ndarray:
    """Corners of a module's sensors, (n, 4, 3)."""
    if plane in geometry.pieces:
        return geometry.pieces[plane].corners()
    side = geometry.velo.left if geometry.velo.modules[plane][1] == "left" else geometry.velo.right
    a, b = 0.5 * geometry.velo.sensor.length * _ALONG, 0.5 * geometry.velo.sensor.width * _ACROSS
    corners = []
    for sensor in side.sensors:
        c, s = np.cos(np.radians(sensor.angle)), np.sin(np.radians(sensor.angle))
        points = geometry.frames[plane].points(sensor.x + c * a - s * b, sensor.y + s * a + c * b)
        corners.append(np.stack(points, axis=-1))
    return np.array(corners)


def _seen_from_side(axes: Axes, corners: np.ndarray, colour: str) -> None:
    """Draw each element as the line between its lowest and its highest corner."""
    order = np.argsort(corners[..., 1], axis=1)[..., None]
    ends = np.take_along_axis(corners, order, axis=1)[:, [0, -1]]
    axes.add_collection(LineCollection(list(ends[..., [2, 1]]), colors=colour, linewidths=0.8))


def _side(axes: Axes, geometry: Geometry) -> None:
    for plane in VELO_PLANES:
        _seen_from_side(axes, _sensors(geometry, plane), _VELO)
    for plane, layer, detector in _strip_layers(geometry):
        _seen_from_side(axes, _outlines(geometry, plane, layer), _DETECTORS[detector][1])
    top = 1.04 * geometry.scifi.layers[-1].half_height
    for slab in geometry.description.slabs:
        for begin, end in ((slab.opening, top), (-top, -slab.opening)):
            axes.plot([slab.z, slab.z], [begin, end], color=_OTHER, lw=0.7, ls=":")
        axes.text(
            slab.z, -1.08 * top, slab.name, rotation=90, fontsize=7, color="#555555", ha="center", va="top"
        )
    for z, name in ((geometry.magnet.z_in, "z_in"), (geometry.magnet.z_out, "z_out")):
        axes.axvline(z, color="black", lw=0.8, ls="--")
        axes.text(z, 1.03 * top, f" {name} {z:g}", fontsize=8, va="bottom", ha="right")
    end = geometry.scifi.layers[-1].z + 200
    for slope in (0.25, -0.25):
        axes.plot([0, end], [0, slope * end], color="black", lw=0.5, alpha=0.5)
    axes.set(xlim=(-500, end), ylim=(-1.95 * top, 1.3 * top), ylabel="y [mm]")
    axes.set_title("side view; thin lines: slopes of ±250 mrad; dotted: passive material", fontsize=10)


def _close_up(axes: Axes, geometry: Geometry) -> None:
    for plane in VELO_PLANES:
        _seen_from_side(axes, _sensors(geometry, plane), _VELO)
    for tube in geometry.description.tubes:
        for sign in (1, -1):
            axes.plot([tube.z_min, tube.z_max], [sign * tube.radius] * 2, color=_OTHER, lw=1.5)
    axes.set(xlim=(-340, 900), ylim=(-60, 60), xlabel="z [mm]", ylabel="y [mm]")
    axes.set_title("VELO from the side, and the material around the beam", fontsize=10)


def _parts(geometry: Geometry) -> dict[str, tuple[str, str]]:
    """Return the names under which the material of each part is summed up, with their colours."""
    parts = {name: (name, colour) for name, (_, colour) in _DETECTORS.items()}
    parts |= {tube.name: ("around the beam", "#56B4E9") for tube in geometry.description.tubes}
    for slab in geometry.description.slabs:
        before = slab.z < geometry.magnet.z_in - 1
        parts[slab.name] = ("VELO to UT", "#CC79A7") if before else ("behind the UT", "#E69F00")
    return parts


def _material_by_eta(axes: Axes, geometry: Geometry) -> None:
    parts = _parts(geometry)
    sums: dict[str, np.ndarray] = {}
    for layer in budget(geometry, *np.meshgrid(_ETA, _PHI, indexing="ij")):
        name = parts[layer.part][0]
        sums[name] = sums.get(name, np.zeros(len(_ETA))) + layer.x0.mean(axis=1)
    colours = {name: colour for name, colour in parts.values() if name in sums}
    stacked = [100 * sums[name] for name in colours]
    axes.stackplot(_ETA, stacked, labels=list(colours), colors=list(colours.values()), alpha=0.85)
    highest = 100 * float(np.sum(list(sums.values()), axis=0).max())
    axes.set(xlim=(_ETA[0], _ETA[-1]), ylim=(0, 1.3 * highest), xlabel="η", ylabel="X/X0 [%]")
    axes.legend(fontsize=8, ncols=3, loc="upper center")
    axes.set_title("material of lines from the origin, mean over φ", fontsize=10)
