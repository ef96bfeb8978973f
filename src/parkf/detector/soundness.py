"""Summary of a geometry, and warnings about values that are possible but hardly intended."""

from collections.abc import Iterator

import numpy as np

from parkf.detector.budget import budget
from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, VELO_PLANES, Geometry
from parkf.io.planes import STEREO

_LEAST_STEREO, _MOST_STRAIGHT = 0.02, 0.002
_ETA = (2.2, 4.8)
_MATERIAL = (0.1, 1.0)  # radiation lengths up to the end of the SciFi; LHCb's are 0.4 to 0.6
_ACCEPTANCE = 0.25  # slope in x up to which strips and fibres should reach
_CLOSEST, _FARTHEST = 3.0, 60.0  # mm; limits of the distance of a VELO sensor's centre from the beam
_TILT = 0.02  # largest difference from the lean of the layer


def describe(geometry: Geometry) -> str:
    """Summarize the positions of the detectors and the material."""
    planes = geometry.planes()
    lines = [f"geometry {geometry.description.tag}"]
    for name, of in (("VELO", VELO_PLANES), ("UT", UT_PLANES), ("SciFi", SCIFI_PLANES)):
        z = planes[list(of), 0]
        count = sum(len(geometry.pieces[plane].numbers) for plane in of if plane in geometry.pieces)
        pieces = f", {count} pieces" if count else ""
        slopes = "" if name == "VELO" else " ".join(f"{geometry.strip_slope(p):+.4f}" for p in of)
        dxdy = f", dx/dy {slopes}" if slopes else ""
        lines.append(f"{name}: {len(of)} planes, z = {z[0]:.3f} to {z[-1]:.3f} mm{pieces}{dxdy}")
    low, high = np.quantile(_total(geometry), [0.0, 1.0])
    magnet = geometry.magnet
    lines.append(
        f"magnet: table from z = {magnet.z_in:g} to {magnet.z_out:g} mm; material from the origin to the"
        f" end of the SciFi, for η {_ETA[0]} to {_ETA[1]}: {100 * low:.0f} to {100 * high:.0f} % of X0"
    )
    return "\n".join(lines)


def _total(geometry: Geometry) -> np.ndarray:
    eta, phi = np.meshgrid(np.linspace(*_ETA, 14), np.linspace(-np.pi, np.pi, 24, endpoint=False))
    total: np.ndarray = sum((layer.x0 for layer in budget(geometry, eta, phi)), np.zeros(eta.shape))
    return np.asarray(total.mean(axis=0))


def doubts(geometry: Geometry) -> list[str]:
    """List values that are hardly intended; impossible ones have been refused before."""
    return [*_of_velo(geometry), *_of_layers(geometry), *_of_material(geometry)]


def _of_velo(geometry: Geometry) -> Iterator[str]:
    for name, side, sign in (("left", geometry.velo.left, +1), ("right", geometry.velo.right, -1)):
        positions = np.array([[sensor.x, sensor.y] for sensor in side.sensors])
        if sign * positions[:, 0].mean() <= 0:
            yield f"velo.{name}: its sensors are at the other half's x"
        far = np.hypot(*positions.T)
        if far.min() < _CLOSEST or far.max() > _FARTHEST:
            yield f"velo.{name}: sensors {far.min():.1f} to {far.max():.1f} mm from the beam; in mm?"


def _of_layers(geometry: Geometry) -> Iterator[str]:
    for name, part in (("ut", geometry.ut), ("scifi", geometry.scifi)):
        for index, layer in enumerate(part.layers):
            where, stereo = f"{name}.layers.{index}", STEREO[index % len(STEREO)]
            if stereo and abs(layer.dxdy) < _LEAST_STEREO:
                yield f"{where}: dx/dy {layer.dxdy:g}, where a stereo layer is expected"
            if not stereo and abs(layer.dxdy) > _MOST_STRAIGHT:
                yield f"{where}: dx/dy {layer.dxdy:g}, where a layer that measures x is expected"
            if layer.half_width < _ACCEPTANCE * layer.z:
                yield f"{where}: sees slopes up to {layer.half_width / layer.z:.2f} in x alone"
        pairs = [layer.dxdy for index, layer in enumerate(part.layers) if STEREO[index % len(STEREO)]]
        if min(pairs) * max(pairs) > 0:
            yield f"{name}: stereo layers all lean to one side"
    for plane, (_, dzdx, dzdy) in enumerate(geometry.planes()):
        lean = geometry.scifi.dzdy if plane in SCIFI_PLANES else 0.0
        if np.hypot(dzdx, dzdy - lean) > _TILT:
            yield f"plane {plane}: tilted by {1e3 * np.hypot(dzdx, dzdy - lean):.1f} mrad"


def _of_material(geometry: Geometry) -> Iterator[str]:
    total = _total(geometry)
    if total.min() < _MATERIAL[0] or total.max() > _MATERIAL[1]:
        low, high = 100 * total.min(), 100 * total.max()
        yield f"material: {low:.0f} to {high:.0f} % of X0 up to the end of the SciFi"
