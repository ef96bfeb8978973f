"""The parts of a detector that may have moved or lost hits: modules, staves and quarters, and their groups.

A change of a group, such as a half of the VELO or a SciFi station, is a combination of those of its parts:
all are shifted alike, or turned about the group's centre. The parts are found in a sample.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from parkf.data.elements import FREEDOMS, Elements
from parkf.data.equations import Floats
from parkf.data.quantities import STRIP_LAYERS, Stations
from parkf.fit.candidates import Candidates
from parkf.fit.residuals import STRIPS, Residuals
from parkf.io.planes import UT_LAYERS
from parkf.io.tables import VELO_SLOTS
from parkf.params.parameter_set import ParameterSet

STAVE = 95.5
"""mm: distance of the staves of the UT, of which one begins at x = 0."""
_STAVES, _QUARTERS = 16, 4
_MIDDLE = (1300.0, 1200.0)  # mm: centre of a quarter of a SciFi layer
_SIDES = ("x > 0", "x < 0")


@dataclass(frozen=True)
class Group:
    """Parts that change together."""

    name: str
    detector: str  # VELO, UT or SciFi
    members: NDArray[np.int64]  # numbers of parts
    centre: Floats  # (3,) mm, about which the group turns


@dataclass(frozen=True)
class Parts(Elements):
    """The parts as elements of an alignment; `stations` are the VELO modules among them."""

    stations: Stations

    @classmethod
    def of_sample(cls, parameters: ParameterSet, stations: Stations) -> "Parts":
        """Return the parts of a set's layers, and of the VELO modules that a sample has."""
        (ut_z,), scifi_z = parameters.block("UTLayer"), parameters.block("TLayer")[0]
        centres = [(0.0, 0.0, z) for z in stations.z]
        names = [("VELO module", n) for n in range(len(stations.z))]
        for layer, z in enumerate(ut_z):
            centres += [((n - _STAVES / 2 + 0.5) * STAVE, 0.0, float(z)) for n in range(_STAVES)]
            names += [("UT stave", _STAVES * layer + n) for n in range(_STAVES)]
        for layer, z in enumerate(scifi_z):
            centres += [(sx * _MIDDLE[0], sy * _MIDDLE[1], float(z)) for sx, sy in product((1, -1), (1, -1))]
            names += [("SciFi quarter", _QUARTERS * layer + n) for n in range(_QUARTERS)]
        axes = np.broadcast_to(np.eye(3), (len(names), 3, 3))
        return cls(names, np.array(centres), axes, np.zeros((len(names), 2)), stations)

    def of_hits(self, tracks: Candidates, residuals: Residuals) -> NDArray[np.int64]:
        """Return the part of each coordinate, (68, n); any part without a hit."""
        velo = residuals.modules(tracks, self.stations.number)
        x, y = residuals.state[VELO_SLOTS:, :2].transpose(1, 0, 2).astype(np.float64)
        hits = np.concatenate([tracks.ut[0], tracks.scifi[0]], axis=1).T
        slopes = np.concatenate([tracks.ut[2], tracks.scifi[2]], axis=1)
        with np.errstate(all="ignore"):
            usual = np.nan_to_num(np.nanmedian(slopes, axis=0)) if len(slopes) else np.zeros(STRIPS)
        # Where a strip or fibre is at y = 0; without a hit, where it would be.
        at = np.where(np.isfinite(hits), hits, x - usual[:, None] * y)
        stave = np.clip(np.floor(at[:UT_LAYERS] / STAVE), -_STAVES // 2, _STAVES // 2 - 1) + _STAVES // 2
        quarter = 2 * (at[UT_LAYERS:] < 0) + (y[UT_LAYERS:] < 0)
        first = len(self.stations.z)
        ut = first + _STAVES * np.arange(UT_LAYERS)[:, None] + stave.astype(np.int64)
        begin = first + _STAVES * UT_LAYERS
        scifi = begin + _QUARTERS * np.arange(STRIPS - UT_LAYERS)[:, None] + quarter
        return np.concatenate([velo, velo, ut, scifi])

    def groups(self) -> list[Group]:
        """Return every part, and all groups of parts."""
        found: list[Group] = []
        numbers, left = np.arange(len(self.names)), np.asarray(self.stations.left)

        def add(name: str, detector: str, members: NDArray[np.int64], x: float = 0.0, y: float = 0.0) -> None:
            if len(members):
                found.append(Group(name, detector, members, np.array([x, y, self.centre[members, 2].mean()])))

        velo = numbers[: len(left)]
        for number, name in enumerate(self.stations.names):
            add(name, "VELO", velo[number : number + 1])
        for side, own in zip(_SIDES, (left, ~left), strict=True):
            add(f"the VELO half at {side}", "VELO", velo[own])
        add("the VELO", "VELO", velo)
        staves = len(left) + np.arange(UT_LAYERS * _STAVES).reshape(UT_LAYERS, 2, _STAVES // 2)[:, ::-1]
        for layer, of in enumerate(staves):
            for number in of.ravel():
                x = float(self.centre[number, 0])
                add(f"the stave at x = {x:.0f} mm of UT layer {layer}", "UT", numbers[number : number + 1], x)
        whole = [("the UT", slice(None)), ("UTa", slice(0, 2)), ("UTb", slice(2, 4))]
        whole += [(STRIP_LAYERS[n], slice(n, n + 1)) for n in range(UT_LAYERS)]
        for name, layers in whole:
            add(name, "UT", staves[layers].ravel())
            for n, side in enumerate(_SIDES):
                add(f"{name} at {side}", "UT", staves[layers, n].ravel())
        quarters = staves.max() + 1 + np.arange((STRIPS - UT_LAYERS) * _QUARTERS).reshape(-1, 2, 2)
        whole = [("SciFi", slice(None)), *((f"T{n + 1}", slice(4 * n, 4 * n + 4)) for n in range(3))]
        whole += [(STRIP_LAYERS[UT_LAYERS + n], slice(n, n + 1)) for n in range(len(quarters))]
        for name, layers in whole:
            add(name, "SciFi", quarters[layers].ravel())
            for n, side in enumerate(_SIDES):
                add(f"{name} at {side}", "SciFi", quarters[layers, n].ravel())
                add(f"{name} at {side.replace('x', 'y')}", "SciFi", quarters[layers, :, n].ravel())
            for a, b in product((0, 1), (0, 1)):
                where = f"{_SIDES[a]}, {_SIDES[b].replace('x', 'y')}"
                x, y = ((1 - 2 * n) * at for n, at in zip((a, b), _MIDDLE, strict=True))
                add(f"{name} at {where}", "SciFi", quarters[layers, a, b].ravel(), x, y)
        return found

    def motion(self, group: Group, freedom: int) -> Floats:
        """Return the freedoms of all parts, (parts·6,), if a group moves by 1 mm or 1 rad."""
        moved = np.zeros((len(self.names), len(FREEDOMS)))
        if freedom < 3:
            moved[group.members, freedom] = 1.0
        else:
            turn = np.eye(3)[freedom - 3]
            moved[group.members, :3] = np.cross(turn, self.centre[group.members] - group.centre)
            moved[group.members, 3:] = turn
        return moved.ravel()


def shifts(
    alpha: Floats, element: NDArray[np.int64], slopes: Floats, residuals: Residuals
) -> dict[str, Floats]:
    """Return what displacements `alpha` (parts, 6) add to the hits of tracks, as :func:`shifted` takes it."""
    by = np.einsum("cfn,cnf->nc", slopes, alpha[element])
    x, y, strips = np.split(by, [VELO_SLOTS, 2 * VELO_SLOTS], axis=1)
    rows = np.arange(len(by))
    for axis in (x, y):
        # The second hit of a fit may be a later one of the candidate.
        axis[rows, residuals.second] = axis[rows, 1]
    return {"x": x, "y": y, "strips": strips}
