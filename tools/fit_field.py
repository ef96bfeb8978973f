"""Fits free magnetic charges to what is publicly known of LHCb's field: the source of data/field/lhcb.json.

    python -m tools.fit_field [--data FOLDER] [--to FILE]

The charges stand where those of data/field/dipole.json and their mirror images stand, outside the aperture,
and each has a strength of its own. Gauss-Newton fits them to tracks through the map that LHCb's trigger
loads, from z = 2665 to 7826 mm, to By on the axis, and to By behind the magnet. Two priors decide the rest.
The strengths stay small. The field stays near the dipole's, scaled along z to By on the axis: within some
mT in the centre, and more loosely towards the edge of the aperture. Before z = 2.9 m, where no track is
known, the prior is tight. Without it the tracks bend better by a seventh, but fields of tens of mT that
nobody measured appear across the Upstream Tracker.

The normal equations are nearly singular: another order of sums changes the strengths by 1e-4 T m2, but the
field in the acceptance by less than 10 µT.
"""

import argparse
import json
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from parkf.detector.dipole import DipoleSources
from parkf.detector.field import FieldMap, evaluate_on_grid
from parkf.detector.transport import propagate
from parkf.io.files import replacing

F64 = NDArray[np.float64]

ROOT = Path(__file__).parents[1]
DATA = ROOT / "../shared/data/lhcb_production_field"
DIPOLE = ROOT / "data/field/dipole.json"

Z_IN, Z_OUT, PLACES = 2665.0, 7826.0, 53  # mm; planes on which the field acts on a track
KICK = 0.299792458e-3  # GeV per T mm
APERTURE = {"x": [300.0, 0.385], "y": [150.0, 0.295]}  # mm at z = 0, and growth

# Widths of the prior, mT: in the centre, at the edge of the aperture, and the least one of By. Towards the
# edge they grow with the fourth power of the distance.
CENTRE, EDGE, LEAST = 30.0, 300.0, 2.0
NEAR, FAR, HELD = 2900.0, 3400.0, 0.03  # mm: before `NEAR` the widths in the centre are multiplied by `HELD`
HELD_BX = 0.25  # of the width at the edge, for Bx before `NEAR`
AXIS, BEHIND = 0.3e-3, 1.5e-3  # T: errors of By on the axis and behind the magnet
CHAINED = 5, 20  # neighbouring points there whose errors are one
STEEP, STEEP_WEIGHT = 0.165, 0.05  # of ty: beyond, LHCb's map is not smooth


def unit_fields(points: F64, places: F64) -> F64:
    """Return the field (n, 3, charges) in T at points of charges of 1 T m2."""
    away = points[:, None, :] - places
    square = np.einsum("ijk,ijk->ij", away, away)
    return np.moveaxis(1e6 * away / (square * np.sqrt(square))[:, :, None], 1, 2)


def responses(path: F64, q_over_p: F64, places: F64) -> F64:
    """Return the derivatives (n, 4, charges) of the ends of tracks by the charges, by Simpson's rule."""
    z = np.linspace(Z_IN, Z_OUT, PLACES)
    weights = np.where(np.arange(PLACES) % 2, 4.0, 2.0) * (z[1] - z[0]) / 3.0
    weights[[0, -1]] /= 2.0
    result = np.zeros((len(path), 4, len(places)))
    for number in range(PLACES):
        x, y, tx, ty = path[:, number].T
        factor = KICK * q_over_p * np.sqrt(1.0 + tx * tx + ty * ty) * weights[number]
        lever = Z_OUT - z[number]
        for block in np.array_split(np.arange(len(path)), 1 + len(path) // 512):
            points = np.column_stack([x[block], y[block], np.full(len(block), z[number])])
            bx, by, bz = np.moveaxis(unit_fields(points, places) * factor[block, None, None], 1, 0)
            tx_, ty_ = tx[block, None], ty[block, None]
            dtx = ty_ * (tx_ * bx + bz) - (1.0 + tx_ * tx_) * by
            dty = (1.0 + ty_ * ty_) * bx - tx_ * (ty_ * by + bz)
            result[block] += np.stack([lever * dtx, lever * dty, dtx, dty], axis=1)
    return result


def paths(field: FieldMap, start: F64, q_over_p: F64) -> F64:
    """Carry tracks through a field, and return their states (n, places, 4) on all planes."""
    states, z = np.column_stack([start, 1e-3 * q_over_p]), np.linspace(Z_IN, Z_OUT, PLACES)
    found = [start]
    for before, after in pairwise(z):
        states = propagate(field, -1, states, before, (after, 0.0, 0.0)).states
        found.append(states[:, :4])
    return np.stack(found, axis=1)


def prior_points() -> tuple[F64, F64]:
    """Return points in and on the aperture, and how near its edge each is: 0 in the centre, 1 there."""
    points, nearness = [], []

    def half_sizes(z: float) -> tuple[float, float]:
        (x, dx), (y, dy) = APERTURE["x"], APERTURE["y"]
        return max(x + dx * z, 100.0), max(y + dy * z, 80.0)

    inside = (-1.0, -0.75, -0.4, 0.0, 0.4, 0.75, 1.0)
    for z in np.arange(-400.0, 9700.0, 300.0):
        x, y = half_sizes(z)
        points += [(u * x, v * y, z) for u in inside for v in inside]
        nearness += [max(abs(u), abs(v)) ** 4 for u in inside for v in inside]
    for z in np.arange(-450.0, 9700.0, 150.0):
        x, y = half_sizes(z)
        rim = [(u * x, side * y, z) for u in np.linspace(-1, 1, 17) for side in (1, -1)]
        rim += [(side * x, v * y, z) for v in np.linspace(-1, 1, 7)[1:-1] for side in (1, -1)]
        points, nearness = points + rim, nearness + [0.7] * len(rim)
    return np.array(points), np.array(nearness)


class Known:
    """What is known beside the tracks, as normal equations: A x = b, with three nuisances of the axis."""

    def __init__(self, places: F64, dipole: DipoleSources, data: Path) -> None:
        count = len(places)
        axis, behind = (np.load(data / f"{name}.npz") for name in ("axis", "behind_magnet"))
        z, by = axis["z"], axis["By"]
        line = np.column_stack([0.0 * z, 0.0 * z, z])
        slope = np.gradient(by, z)
        # The axis was read off a figure: its scale (per mille), shift (mm) and stretch (mm) are fitted.
        nuisances = np.column_stack([-1e-3 * by, -slope, -slope * (z - 4700.0) / 2500.0])
        rows = np.column_stack([unit_fields(line, places)[:, 1], nuisances])
        points, beyond = self._behind(behind)
        far = np.column_stack([unit_fields(points, places)[:, 1], np.zeros((len(points), 3))])
        near_axis, near_behind = AXIS**2 * CHAINED[0], BEHIND**2 * CHAINED[1]
        self.matrix = rows.T @ rows / near_axis + far.T @ far / near_behind
        self.vector = rows.T @ by / near_axis + far.T @ beyond / near_behind
        points, nearness = prior_points()
        expected = dipole.field(points)
        expected[:, 1] *= np.interp(points[:, 2], z, by) / dipole.field(points * [0.0, 0.0, 1.0])[:, 1]
        held = np.interp(points[:, 2], [NEAR, FAR], [HELD, 1.0])
        widths = np.repeat((held * CENTRE + EDGE * nearness)[:, None], 3, axis=1)
        widths[:, 0] = held * CENTRE + np.maximum(held, HELD_BX) * EDGE * nearness
        weights = 1e3 / np.maximum(widths, [0.0, LEAST, 0.0]).ravel()
        fields = unit_fields(points, places).reshape(-1, count) * weights[:, None]
        self.matrix[:count, :count] += fields.T @ fields
        self.vector[:count] += fields.T @ (expected.ravel() * weights)
        smallness = ((400.0 + 0.31 * np.maximum(places[:, 2], 0.0)) / 2000.0) ** -3
        self.matrix += np.diag([*smallness, 1 / 2.0**2, 1 / 4.0**2, 1 / 4.0**2])

    @staticmethod
    def _behind(fit: dict[str, F64]) -> tuple[F64, F64]:
        points, values = [], []
        for z, coefficients in zip(fit["z"][::8], fit["coefficients"][::8], strict=True):
            x = 0.9 * min(300.0 + 0.385 * z, 4000.0) * np.linspace(-1.0, 1.0, 9)
            y = 0.9 * min(150.0 + 0.295 * z, 2700.0) * np.linspace(-1.0, 1.0, 7)
            x, y = (axis.ravel() for axis in np.meshgrid(x, y))
            powers = [(x / fit["x_unit"]) ** a * (y / fit["y_unit"]) ** b for a, b in fit["powers"]]
            points.append(np.column_stack([x, y, np.full(len(x), z)]))
            values.append(coefficients @ np.array(powers))
        return np.concatenate(points), np.concatenate(values)


def fit(data: Path, dipole: DipoleSources) -> DipoleSources:
    """Fit the strengths of all charges: two steps of Gauss-Newton, each with three of robust weights."""
    x, y, z, strength = np.array(dipole.charges).T
    signs = [(1, 1), (1, -1), (-1, 1), (-1, -1)]
    places = np.concatenate([np.column_stack([a * x, b * y, z]) for a, b in signs])
    charges = np.concatenate([b * strength for _, b in signs])
    known = Known(places, _sources(places, charges), data)
    tracks = np.load(data / "tracks.npz")
    start, end, q_over_p = (tracks[name].astype(np.float64) for name in ("start", "end", "q_over_p"))
    p, bend = 1.0 / np.abs(q_over_p), np.abs(end[:, 2] - start[:, 2])
    # Errors, in mm and as slopes: how well a smooth field follows a map of measured nodes. Soft tracks count
    # less.
    errors = np.column_stack([0.5 / p, 0.8 / p, 2.5e-4 * bend, 5e-4 * bend])
    weights = np.minimum(1.0, p / 4.0)[:, None] / errors
    weights[np.abs(start[:, 3]) > STEEP] *= STEEP_WEIGHT
    for _ in range(2):
        path = paths(evaluate_on_grid(_sources(places, charges)), start, q_over_p)
        response = responses(path, q_over_p, places)
        target = end - path[:, -1] + response @ charges
        robust = weights
        for _ in range(3):
            matrix, vector = known.matrix.copy(), known.vector.copy()
            rows = (response * robust[:, :, None]).reshape(-1, len(places))
            matrix[: len(places), : len(places)] += rows.T @ rows
            vector[: len(places)] += rows.T @ (target * robust).ravel()
            charges = np.linalg.solve(matrix, vector)[: len(places)]
            robust = weights / np.sqrt(1.0 + ((target - response @ charges) * weights / 3.0) ** 2)
    return _sources(places, np.round(charges, 6))


def _sources(places: F64, charges: F64) -> DipoleSources:
    content = json.loads(DIPOLE.read_text("utf-8"))
    content |= {"about": ABOUT, "form": FORM, "mirrored": False, "aperture": APERTURE}
    content["charges"] = np.column_stack([places, charges]).tolist()
    return DipoleSources.model_validate(content)


ABOUT = (
    "LHCb's magnet, MagDown (By < 0 on the axis): free magnetic charges outside the aperture, fitted by"
    " tools/fit_field.py to 5,974 tracks through the map that the trigger loads (v8r1), from z = 2665 to 7826"
    " mm, to its field on the axis, and to its By behind 7.9 m. Not mirrored: the magnet's left and right, up"
    " and down differ."
)
FORM = "B(r) = sum over charges of 1e6 q (r - s) / |r - s|^3 with s = (x, y, z)"


def text(sources: DipoleSources) -> str:
    """Write sources as JSON with a line for each charge."""
    head = [
        f' "{name}": {json.dumps(value)}' for name, value in sources.model_dump(exclude={"charges"}).items()
    ]
    rows = [f"  [{x:.1f}, {y:.1f}, {z:.1f}, {charge:.6f}]" for x, y, z, charge in sources.charges]
    return "{\n" + ",\n".join([*head, ' "charges": [\n' + ",\n".join(rows)]) + "\n ]\n}\n"


def main() -> None:
    """Run the command."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--data", type=Path, default=DATA)
    arguments.add_argument("--to", type=Path, default=ROOT / "data/field/lhcb.json")
    given = arguments.parse_args()
    with threadpool_limits(1), replacing(given.to) as path:
        path.write_text(text(fit(given.data, DipoleSources.load(DIPOLE))), "utf-8")


if __name__ == "__main__":
    main()
