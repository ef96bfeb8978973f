"""A geometry drawn: from the side, every plane from the front, and its material."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from parkf.detector.budget import budget
from parkf.detector.description import SciFi, StripLayer, Ut
from parkf.detector.frame import Frame
from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, VELO_PLANES, Geometry
from parkf.io.errors import ParkfError
from parkf.io.files import replacing

_VELO, _UT, _SCIFI, _OTHER = "#0072B2", "#D55E00", "#009E73", "#999999"
_CANVASES = {".svg": FigureCanvasSVG, ".png": FigureCanvasAgg}
_DPI = 110
_COLUMNS = 6
_ETA = np.linspace(1.9, 5.1, 129)
_PHI = np.linspace(-np.pi, np.pi, 48, endpoint=False)
_ETA_OF_Z = 3.0


def draw(geometry: Geometry, path: Path) -> None:
    """Draw a geometry on one page.

    Parameters
    ----------
    geometry : Geometry
    path : Path
        Picture to write; its ending says whether SVG or PNG.

    Raises
    ------
    ParkfError
        On another ending.
    """
    if path.suffix not in _CANVASES:
        raise ParkfError(f"{path}: expected a name that ends with {' or '.join(_CANVASES)}")
    _save(geometry_figure(geometry), path)


def geometry_figure(geometry: Geometry) -> Figure:
    """Draw a geometry as a figure of Matplotlib: the side view, the material, every plane from the front."""
    page = Figure(figsize=(18.0, 19.0), dpi=_DPI)
    grid = page.add_gridspec(
        5, _COLUMNS, height_ratios=(1.2, 1.0, 1, 1, 1), hspace=0.32, wspace=0.32, left=0.045, right=0.985,
        top=0.965, bottom=0.025,
    )  # fmt: skip
    page.suptitle(f"geometry {geometry.tag}", fontsize=15, y=0.988)
    _side(page.add_subplot(grid[0, :]), geometry)
    _close_up(page.add_subplot(grid[1, :2]), geometry)
    _material_by_eta(page.add_subplot(grid[1, 2:4]), geometry)
    _material_by_z(page.add_subplot(grid[1, 4:]), geometry)
    _planes(
        [page.add_subplot(grid[2 + index // _COLUMNS, index % _COLUMNS]) for index in range(18)], geometry
    )
    return page


def draw_parts(geometry: Geometry, path: Path) -> list[str]:
    """Draw the same as several pictures, each no wider than a page of text.

    Parameters
    ----------
    geometry : Geometry
    path : Path
        What the names of the SVG files begin with; ``-side.svg``, ``-material.svg``, ``-planes.svg`` follow.

    Returns
    -------
    list of str
        What follows, without ``.svg``.
    """
    side, material = (Figure(figsize=(11.0, height), layout="constrained") for height in (6.4, 3.6))
    whole, close = side.subplots(2, 1)
    _side(whole, geometry)
    _close_up(close, geometry)
    by_eta, by_z = material.subplots(1, 2)
    _material_by_eta(by_eta, geometry)
    _material_by_z(by_z, geometry)
    # A constrained layout would draw the many panels twice.
    planes = Figure(figsize=(11.0, 14.5))
    margins = {"left": 0.06, "right": 0.985, "bottom": 0.02, "top": 0.97, "wspace": 0.2, "hspace": 0.36}
    _planes(planes.subplots(_COLUMNS, 3, gridspec_kw=margins).ravel(), geometry)
    drawn = {"side": side, "material": material, "planes": planes}
    for name, page in drawn.items():
        _save(page, path.with_name(f"{path.name}-{name}.svg"))
    return list(drawn)


def _planes(panels: Sequence[Axes], geometry: Geometry) -> None:
    """Each half of the VELO and each strip layer from the front, on 18 panels."""
    _velo_front(panels[0], geometry, "right")
    _velo_front(panels[1], geometry, "left")
    for panel, plane, layer in zip(panels[2:6], UT_PLANES, geometry.ut.layers, strict=True):
        _strips_front(panel, geometry, plane, layer, geometry.ut, _UT, f"UT {plane - UT_PLANES.start}")
    for panel, plane, layer in zip(panels[6:], SCIFI_PLANES, geometry.scifi.layers, strict=True):
        name = f"SciFi {plane - SCIFI_PLANES.start}"
        _strips_front(panel, geometry, plane, layer, geometry.scifi, _SCIFI, name)


def _save(page: Figure, path: Path) -> None:
    kind = path.suffix[1:]
    _CANVASES[path.suffix](page)
    # Names inside an SVG would be random without the salt.
    with replacing(path) as temporary, rc_context({"svg.hashsalt": "parkf"}):
        page.savefig(temporary, format=kind, metadata={"Date": None} if kind == "svg" else None)


def _outlines(geometry: Geometry, plane: int, layer: StripLayer) -> np.ndarray:
    """(n, 4, 3) corners of what a layer is made of, or of itself."""
    if plane in geometry.pieces:
        return geometry.pieces[plane].corners()
    v = np.array([-1.0, -1.0, 1.0, 1.0]) * layer.half_height
    u = np.array([-1.0, 1.0, 1.0, -1.0]) * layer.half_width + layer.dxdy * v
    return np.stack(geometry.frames[plane].points(u, v), axis=-1)[None]


def _sensors(geometry: Geometry, plane: int) -> np.ndarray:
    """(n, 4, 3) corners of a module's sensors."""
    if plane in geometry.pieces:
        return geometry.pieces[plane].corners()
    side = geometry.velo.left if geometry.velo.modules[plane][1] == "left" else geometry.velo.right
    size, corners = geometry.velo.sensor, []
    for sensor in side.sensors:
        c, s = np.cos(np.radians(sensor.angle)), np.sin(np.radians(sensor.angle))
        a = 0.5 * size.length * np.array([-1, 1, 1, -1])
        b = 0.5 * size.width * np.array([-1, -1, 1, 1])
        points = geometry.frames[plane].points(sensor.x + c * a - s * b, sensor.y + s * a + c * b)
        corners.append(np.stack(points, axis=-1))
    return np.array(corners)


def _seen_from_side(axes: Axes, corners: np.ndarray, colour: str) -> None:
    """Each element as the line between its lowest and its highest corner."""
    order = np.argsort(corners[..., 1], axis=1)[..., None]
    ends = np.take_along_axis(corners, order, axis=1)[:, [0, -1]]
    axes.add_collection(LineCollection(list(ends[..., [2, 1]]), colors=colour, linewidths=0.8))


def _side(axes: Axes, geometry: Geometry) -> None:
    for plane in VELO_PLANES:
        _seen_from_side(axes, _sensors(geometry, plane), _VELO)
    for planes, layers, colour in (
        (UT_PLANES, geometry.ut.layers, _UT),
        (SCIFI_PLANES, geometry.scifi.layers, _SCIFI),
    ):
        for plane, layer in zip(planes, layers, strict=True):
            _seen_from_side(axes, _outlines(geometry, plane, layer), colour)
    top = 1.04 * geometry.scifi.layers[-1].half_height
    for slab in geometry.description.slabs:
        for begin, end in ((slab.opening, top), (-top, -slab.opening)):
            axes.plot([slab.z, slab.z], [begin, end], color=_OTHER, lw=0.7, ls=":")
        axes.text(
            slab.z, -1.08 * top, slab.name, rotation=90, fontsize=7, color="#555555", ha="center", va="top"
        )
    for z, name in ((geometry.z_in, "z_in"), (geometry.z_out, "z_out")):
        axes.axvline(z, color="black", lw=0.8, ls="--")
        axes.text(z, 1.03 * top, f" {name} {z:g}", fontsize=8, va="bottom", ha="right")
    end = geometry.scifi.layers[-1].z + 200
    for slope in (0.25, -0.25):
        axes.plot([0, end], [0, slope * end], color="black", lw=0.5, alpha=0.5)
    axes.set(xlim=(-500, end), ylim=(-1.95 * top, 1.15 * top), ylabel="y [mm]")
    axes.set_title("side view; thin lines: slopes of ±250 mrad; dotted: passive material", fontsize=10)


def _close_up(axes: Axes, geometry: Geometry) -> None:
    for plane in VELO_PLANES:
        _seen_from_side(axes, _sensors(geometry, plane), _VELO)
    for tube in geometry.description.tubes:
        for sign in (1, -1):
            axes.plot([tube.z_min, tube.z_max], [sign * tube.radius] * 2, color=_OTHER, lw=1.5)
    axes.set(xlim=(-340, 900), ylim=(-60, 60), xlabel="z [mm]", ylabel="y [mm]")
    axes.set_title("VELO from the side, and what is around the beam", fontsize=10)


def _parts(geometry: Geometry) -> dict[str, tuple[str, str]]:
    """Return the names under which material is summed up, with their colours."""
    parts = {"VELO": ("VELO", _VELO), "UT": ("UT", _UT), "SciFi": ("SciFi", _SCIFI)}
    parts |= {tube.name: ("around the beam", "#56B4E9") for tube in geometry.description.tubes}
    z_in = geometry.z_in
    for slab in geometry.description.slabs:
        parts[slab.name] = ("VELO to UT", "#CC79A7") if slab.z < z_in - 1 else ("behind the UT", "#E69F00")
    return parts


def _material_by_eta(axes: Axes, geometry: Geometry) -> None:
    parts = _parts(geometry)
    eta, phi = np.meshgrid(_ETA, _PHI, indexing="ij")
    sums: dict[str, np.ndarray] = {}
    for layer in budget(geometry, eta, phi):
        name = parts[layer.part][0]
        sums[name] = sums.get(name, np.zeros(len(_ETA))) + layer.x0.mean(axis=1)
    order = [n for n in dict.fromkeys(name for name, _ in parts.values()) if n in sums]
    colours = dict(parts.values())
    axes.stackplot(
        _ETA, [100 * sums[n] for n in order], labels=order, colors=[colours[n] for n in order], alpha=0.85
    )
    highest = 100 * float(np.sum(list(sums.values()), axis=0).max())
    axes.set(xlim=(_ETA[0], _ETA[-1]), ylim=(0, 1.3 * highest), xlabel="η", ylabel="X/X0 [%]")
    axes.legend(fontsize=8, ncols=3, loc="upper center")
    axes.set_title("material of lines from the origin, mean over φ", fontsize=10)


def _material_by_z(axes: Axes, geometry: Geometry) -> None:
    eta, phi = np.full(len(_PHI), _ETA_OF_Z), _PHI
    layers = budget(geometry, eta, phi)
    z = np.array([layer.z for layer in layers])
    total = 100 * np.cumsum([layer.x0.mean() for layer in layers])
    axes.step(z, total, where="post", color="black")
    for planes, colour, name in (
        (VELO_PLANES, _VELO, "VELO"),
        (UT_PLANES, _UT, "UT"),
        (SCIFI_PLANES, _SCIFI, "SciFi"),
    ):
        places = geometry.planes()[list(planes), 0]
        axes.axvspan(places.min(), places.max(), color=colour, alpha=0.2, label=name)
    axes.set(xlabel="z [mm]", ylabel="X/X0 [%]", ylim=(0, None))
    axes.legend(fontsize=8)
    axes.set_title(f"the same up to z, at η = {_ETA_OF_Z:g}", fontsize=10)


def _velo_front(axes: Axes, geometry: Geometry, side: str) -> None:
    planes = [plane for plane in VELO_PLANES if geometry.velo.modules[plane][1] == side]
    for plane in planes:
        corners = _sensors(geometry, plane)
        axes.add_collection(
            PolyCollection(list(corners[..., :2]), facecolors="none", edgecolors=_VELO, lw=0.4)
        )
    for tube in geometry.description.tubes:
        angle = np.linspace(0, 2 * np.pi, 60)
        axes.plot(tube.radius * np.cos(angle), tube.radius * np.sin(angle), color=_OTHER, lw=0.8)
    axes.set(xlim=(-60, 60), ylim=(-60, 60), aspect="equal")
    axes.set_title(f"VELO {side}, {len(planes)} modules", fontsize=9)


def _strips_front(
    axes: Axes, geometry: Geometry, plane: int, layer: StripLayer, part: Ut | SciFi, colour: str, name: str
) -> None:
    corners = _outlines(geometry, plane, layer)
    axes.add_collection(
        PolyCollection(list(corners[..., :2]), facecolors=colour, edgecolors=colour, lw=0.4, alpha=0.25)
    )
    hole = part.hole
    axes.add_patch(
        Rectangle((-hole.half_width, -hole.half_height), 2 * hole.half_width, 2 * hole.half_height,
                  facecolor="white", edgecolor="black", lw=0.6)
    )  # fmt: skip
    if isinstance(part, Ut):
        for zone in part.zones[:-1]:
            w, h = zone.half_width, zone.half_height
            axes.add_patch(Rectangle((-w, -h), 2 * w, 2 * h, fill=False, edgecolor="black", lw=0.4, ls=":"))
    frame: Frame = geometry.frames[plane]
    x, _, slope, _ = frame.lines(np.linspace(-0.8, 0.8, 5) * layer.half_width, layer.dxdy)
    for begin, tilt in zip(x, slope, strict=True):
        y = np.array([-1.0, 1.0]) * layer.half_height
        axes.plot(begin + tilt * y, y, color=colour, lw=0.6, ls="--")
    width = 1.12 * layer.half_width + abs(layer.dxdy) * layer.half_height
    axes.set(xlim=(-width, width), ylim=(-1.12 * layer.half_height, 1.12 * layer.half_height), aspect="equal")
    z0, _, dzdy = frame.plane
    axes.set_title(f"{name}: z = {z0:.2f} mm\ndx/dy {slope[0]:+.4f}, dz/dy {1e3 * dzdy:+.2f}e-3", fontsize=8)
    axes.tick_params(labelsize=7)
    axes.locator_params(nbins=5)
