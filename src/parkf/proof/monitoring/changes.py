"""Changes of a detector that a monitor looks for, and candidates as the changed detector would measure them.

A change has a size, 0 for the detector that the set was made for. The candidates of a changed detector are
those of a reference with hits moved, with larger hit errors, or with harder scattering. Random numbers are
drawn with both signs, and quantities are averaged over both, so that their means hardly fluctuate.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from parkf.fit.candidates import Candidates
from parkf.fit.residuals import SLOTS, Residuals, fit_residuals
from parkf.io.planes import UT_LAYERS
from parkf.io.tables import VELO_SLOTS
from parkf.params.parameter_set import ParameterSet
from parkf.proof.monitoring.quantities import REGION_OF, REGIONS, STRIP_LAYERS, Stations, along

Floats = NDArray[np.float64]
Kind = Literal["x", "y", "z", "error", "noise"]

AXES = ("x", "y", "z")
_AT_A_TIME = 2048  # candidates whose covariances are in memory


@dataclass(frozen=True)
class Change:
    """One change: `number` is that of a strip layer, VELO module or region.

    −1 is the UT, −2 SciFi; of the VELO and of regions, −1 is all of them.
    """

    kind: Kind
    detector: Literal["velo", "strips", "all"]
    number: int
    name: str  # in words, as the subject of a sentence
    step: float  # size for which a response is computed: mm, or the change of a factor
    tolerance: float  # smaller sizes need no other parameter set

    @property
    def unit(self) -> str:
        """``mm`` of a displacement; empty for a factor minus one."""
        return "mm" if self.kind in AXES else ""


def all_changes(stations: Stations) -> list[Change]:
    """List the changes, the more general ones of a kind first."""
    changes = [Change("x", "strips", n, f"x of {name}", 0.03, 0.005) for n, name in enumerate(STRIP_LAYERS)]
    whole = ((-1, "the UT"), (-2, "SciFi"))
    for n, name in (*whole, *enumerate(STRIP_LAYERS)):
        changes.append(Change("z", "strips", n, f"z of {name}", 1.0, 0.2))
    for axis in ("x", "y"):
        for n, name in enumerate(stations.names):
            changes.append(Change(axis, "velo", n, f"{axis} of {name}", 0.005, 0.003))
    changes.append(Change("error", "velo", -1, "hit errors of the VELO", 0.1, 0.01))
    changes += [Change("error", "strips", n, f"hit errors of {name}", 0.1, 0.01) for n, name in whole]
    for n, name in enumerate(STRIP_LAYERS):
        changes.append(Change("error", "strips", n, f"hit errors of {name}", 0.1, 0.02))
    changes.append(Change("noise", "all", -1, "noise of all steps", 0.1, 0.01))
    for n, name in enumerate(REGIONS):
        changes.append(Change("noise", "all", n, f"noise of the steps in {name}", 0.1, 0.02))
    return changes


def changed(
    parameters: ParameterSet,
    tracks: Candidates,
    change: Change,
    size: float,
    stations: Stations,
    random: np.random.Generator,
) -> Iterator[Candidates]:
    """Yield what a detector with this change would measure; twice, with both signs, if it is drawn.

    A layer at x + `size` is taken to be at x, so that its hits are at smaller x. Hit errors or noise larger
    by the factor 1 + `size` > 1 add an error of √((1 + size)² − 1) times the assumed one.
    """
    if change.kind in AXES:
        yield _moved(parameters, tracks, change, size, stations)
        return
    more = np.sqrt((1 + size) ** 2 - 1)
    if change.kind == "error":
        draws = [more * one for one in _errors(parameters, tracks, change, random)]
    else:
        draws = [more * one for one in kicks(parameters, tracks, _slots(change.number), random)]
    for sign in (1, -1):
        yield with_hits(tracks, *(sign * one for one in draws))


def _layers(number: int) -> NDArray[np.bool_]:
    """Which of the strip layers a number stands for, (16,)."""
    layers = {-1: slice(0, UT_LAYERS), -2: slice(UT_LAYERS, None)}.get(number, slice(number, number + 1))
    chosen = np.zeros(len(STRIP_LAYERS), bool)
    chosen[layers] = True
    return chosen


def _slots(region: int) -> NDArray[np.bool_]:
    return np.ones(SLOTS, bool) if region < 0 else np.asarray(region == REGION_OF)


def _moved(
    parameters: ParameterSet, tracks: Candidates, change: Change, size: float, stations: Stations
) -> Candidates:
    if change.detector == "strips":
        by = -1.0 if change.kind == "x" else along(fit_residuals(parameters, tracks)[1]).T
        strips = np.where(_layers(change.number), size * by, np.zeros((tracks.count, len(STRIP_LAYERS))))
        return with_hits(tracks, np.zeros_like(tracks.velo[0]), np.zeros_like(tracks.velo[0]), strips)
    here = np.where(stations.number(np.nan_to_num(tracks.velo[2])) == change.number, -size, 0.0)
    none = np.zeros_like(here)
    x, y = (here, none) if change.kind == "x" else (none, here)
    return with_hits(tracks, x, y, np.zeros((tracks.count, len(STRIP_LAYERS))))


def with_hits(tracks: Candidates, x: Floats, y: Floats, strips: Floats) -> Candidates:
    """Return candidates with x, y of VELO hits (n, 26) and x of strips (n, 16) larger by so many mm."""
    kind = tracks.qop.dtype
    ut, scifi = strips[:, :UT_LAYERS].astype(kind), strips[:, UT_LAYERS:].astype(kind)
    velo = (tracks.velo[0] + x.astype(kind), tracks.velo[1] + y.astype(kind), tracks.velo[2])
    return replace(
        tracks,
        velo=velo,
        ut=(tracks.ut[0] + ut, *tracks.ut[1:]),
        scifi=(tracks.scifi[0] + scifi, *tracks.scifi[1:]),
    )


def _errors(
    parameters: ParameterSet, tracks: Candidates, change: Change, random: np.random.Generator
) -> tuple[Floats, Floats, Floats]:
    """Draw hit errors of the layers concerned: x, y of the VELO (n, 26), strips (n, 16), mm."""
    x, y = random.standard_normal((2, tracks.count, VELO_SLOTS)) * parameters.manifest.constants.velo_sigma
    sigma = np.concatenate([tracks.ut[3], tracks.scifi[3]], axis=1)
    strips = random.standard_normal(sigma.shape) * np.nan_to_num(sigma)
    if change.detector == "velo":
        strips[:] = 0
    else:
        x[:], y[:] = 0, 0
        strips[:, ~_layers(change.number)] = 0
    return x, y, strips


def kicks(
    parameters: ParameterSet, tracks: Candidates, slots: NDArray[np.bool_], random: np.random.Generator
) -> tuple[Floats, Floats, Floats]:
    """Draw what scattering at the steps to these slots (42,) does to later hits, by the set's own noise.

    Return the shifts of x, y of VELO hits (n, 26) and of strips (n, 16), mm. Behind a kick a track is
    straight: the change of the bend with its slope is left out, which for 68 % of tracks is below 3 %.
    """
    pieces = [
        _kicks(
            _planes(parameters, tracks.rows(rows)),
            fit_residuals(parameters, tracks.rows(rows), covariances=True)[1],
            slots,
            random,
        )
        for begin in range(0, tracks.count, _AT_A_TIME)
        for rows in (slice(begin, begin + _AT_A_TIME),)
    ]
    x, y, strips = (np.concatenate(parts) for parts in zip(*pieces, strict=True))
    return x, y, strips


def _planes(parameters: ParameterSet, tracks: Candidates) -> Floats:
    """Return the z of each slot's hit, or without one of its layer, (n, 42); 0 in the VELO without one."""
    (ut,), scifi = parameters.block("UTLayer"), parameters.block("TLayer")[0]
    strips = [np.where(np.isfinite(x), z, of) for (x, z, *_), of in ((tracks.ut, ut), (tracks.scifi, scifi))]
    return np.concatenate([np.nan_to_num(tracks.velo[2]), *strips], axis=1).astype(np.float64)


def _kicks(
    z: Floats, residuals: Residuals, slots: NDArray[np.bool_], random: np.random.Generator
) -> tuple[Floats, Floats, Floats]:
    noise: Any = residuals.noise
    noise = np.nan_to_num(noise.transpose(2, 0, 1).astype(np.float64))
    # The fit starts behind the step from the first hit to the second, which scatters as the next one does.
    noise[:, 1] = noise[:, 2]
    draws = random.standard_normal((2, 2, *z.shape))
    shifts = []
    for axis in (0, 1):
        place, shared, slope = noise[..., 3 * axis : 3 * axis + 3].transpose(2, 0, 1)
        sigma = np.sqrt(np.maximum(slope, 0))
        along = np.divide(shared, sigma, out=np.zeros_like(sigma), where=sigma > 0)
        rest = np.sqrt(np.maximum(place - along**2, 0))
        kick = np.where(slots, sigma * draws[axis, 0], 0)
        step = np.where(slots, along * draws[axis, 0] + rest * draws[axis, 1], 0)
        # The magnet's noise is at z_out, in front of the first SciFi layer by less than its own length.
        shifts.append(np.cumsum(step - kick * z, axis=1) + np.cumsum(kick, axis=1) * z)
    x, y = shifts
    strips = x[:, VELO_SLOTS:] - residuals.dxdy.T * y[:, VELO_SLOTS:]
    return x[:, :VELO_SLOTS], y[:, :VELO_SLOTS], strips
