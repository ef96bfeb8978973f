"""Nuisances of a detector, and candidates as one with other hit errors or noise would measure them.

A nuisance is 0 for the detector that the set was made for. The candidates of another detector are those of a
reference with larger hit errors, or with harder scattering. Random numbers are drawn with both signs, and
quantities are averaged over both, so that their means hardly fluctuate.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parkf.data.align import AT_A_TIME
from parkf.data.equations import Floats
from parkf.data.moving import shifted
from parkf.data.quantities import REGION_OF, REGIONS, STRIP_LAYERS
from parkf.fit.candidates import Candidates
from parkf.fit.residuals import fit_residuals
from parkf.io.planes import UT_LAYERS
from parkf.io.tables import VELO_SLOTS
from parkf.params.parameter_set import ParameterSet

_STRIPS = {-1: slice(0, UT_LAYERS), -2: slice(UT_LAYERS, None)}
_VELO = -3
SIDES = {1: "MagUp", -1: "MagDown"}


@dataclass(frozen=True)
class Nuisance:
    """A number that is 0 if the detector is the set's: a shift, a turn, or a factor minus one."""

    kind: str  # x, y, z, rx, ry, rz, efficiency, error or noise
    name: str  # what it is a change of
    tolerance: float  # smaller sizes need no other parameter set
    sides: tuple[int, ...] = ()  # polarities in which it changes, if not in all
    # Of errors a strip layer, −1 the UT, −2 SciFi, −3 the VELO; of noise a region, −1 all of them.
    number: int = 0

    @property
    def unit(self) -> str:
        """``mm`` of a shift, ``rad`` of a turn; empty for a factor minus one."""
        return {"x": "mm", "y": "mm", "z": "mm", "rx": "rad", "ry": "rad", "rz": "rad"}.get(self.kind, "")

    @property
    def what(self) -> str:
        """The nuisance in a few words."""
        kind = {"error": "hit errors", "efficiency": "hit efficiency"}.get(self.kind, self.kind)
        return f"{kind} of {self.name}{''.join(f' in {SIDES[side]}' for side in self.sides)}"


FACTORS = (
    *(Nuisance("error", name, 0.01, number=n) for n, name in enumerate(("the VELO", "SciFi", "the UT"), -3)),
    *(Nuisance("error", name, 0.02, number=n) for n, name in enumerate(STRIP_LAYERS)),
    Nuisance("noise", "all steps", 0.01, number=-1),
    *(Nuisance("noise", f"the steps in {name}", 0.02, number=n) for n, name in enumerate(REGIONS)),
)
"""Factors on hit errors and noise, the more general ones of a kind first."""


def changed(
    parameters: ParameterSet,
    tracks: Candidates,
    change: Nuisance,
    size: float,
    random: np.random.Generator,
) -> Iterator[Candidates]:
    """Yield what a detector with this change would measure, twice, with draws of both signs.

    Hit errors or noise larger by the factor 1 + `size` > 1 add an error of √((1 + size)² − 1) times the
    assumed one.
    """
    if change.kind == "error":
        draws = _errors(parameters, tracks, change, random)
    else:
        slots = np.isin(REGION_OF, change.number if change.number >= 0 else range(len(REGIONS)))
        draws = kicks(parameters, tracks, slots, random)
    for more in (np.sqrt((1 + size) ** 2 - 1), -np.sqrt((1 + size) ** 2 - 1)):
        x, y, strips = (more * one for one in draws)
        yield shifted(tracks, x=x, y=y, strips=strips)


def _errors(
    parameters: ParameterSet, tracks: Candidates, change: Nuisance, random: np.random.Generator
) -> tuple[Floats, Floats, Floats]:
    """Draw hit errors of the layers concerned: x, y of the VELO (n, 26), strips (n, 16), mm."""
    x, y = random.standard_normal((2, tracks.count, VELO_SLOTS)) * parameters.manifest.constants.velo_sigma
    sigma = np.concatenate([tracks.ut[3], tracks.scifi[3]], axis=1)
    velo, layers = change.number == _VELO, np.zeros(len(STRIP_LAYERS), bool)
    if not velo:
        layers[_STRIPS.get(change.number, change.number)] = True
    strips = random.standard_normal(sigma.shape) * np.nan_to_num(sigma) * layers
    return x * velo, y * velo, strips


def kicks(
    parameters: ParameterSet, tracks: Candidates, slots: NDArray[np.bool_], random: np.random.Generator
) -> tuple[Floats, Floats, Floats]:
    """Draw what scattering at the steps to these slots (42,) does to later hits, by the set's own noise.

    Return the shifts of x, y of VELO hits (n, 26) and of strips (n, 16), mm. Behind a kick a track is
    straight: the change of the bend with its slope is left out, which for 68 % of tracks is below 3 %.
    """
    pieces = [_kicks(parameters, some, slots, random) for some in tracks.pieces(AT_A_TIME)]
    x, y, strips = (np.concatenate(parts) for parts in zip(*pieces, strict=True))
    return x, y, strips


def _kicks(
    parameters: ParameterSet, tracks: Candidates, slots: NDArray[np.bool_], random: np.random.Generator
) -> tuple[Floats, Floats, Floats]:
    z, residuals = _planes(parameters, tracks), fit_residuals(parameters, tracks, covariances=True)[1]
    noise = np.nan_to_num(np.asarray(residuals.noise).transpose(2, 0, 1).astype(np.float64))
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


def _planes(parameters: ParameterSet, tracks: Candidates) -> Floats:
    """Return the z of each slot's hit, or without one of its layer, (n, 42); 0 in the VELO without one."""
    (ut,), scifi = parameters.block("UTLayer"), parameters.block("TLayer")[0]
    strips = [np.where(np.isfinite(x), z, of) for (x, z, *_), of in ((tracks.ut, ut), (tracks.scifi, scifi))]
    return np.concatenate([np.nan_to_num(tracks.velo[2]), *strips], axis=1).astype(np.float64)
