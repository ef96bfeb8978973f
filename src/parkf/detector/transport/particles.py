"""Transport of particles through field and material, to true states at every plane."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import parkf._transport as _transport
from parkf.detector.field import FieldMap
from parkf.detector.geometry import SCIFI_PLANES, VELO_PLANES, Geometry
from parkf.detector.transport.surfaces import compiled_detector
from parkf.io.errors import ParkfError

PROPERTIES = ("charge", "mass", "x", "y", "z", "px", "py", "pz", "z_end")
STEP_TOLERANCE = 1e-3  # mm; well below every resolution
LEAST_MOMENTUM = 100.0  # MeV; slower particles reach no further plane
STEEPEST = 1.0  # slope; steeper particles are far outside every acceptance
FEWEST_VELO_MODULES = 3  # fewest modules that a long track crosses
_BEHIND_VELO = 10.0  # mm; margin for modules that lean; the next plane is far behind


def track_through(
    field: FieldMap,
    polarity: int,
    geometry: Geometry,
    particles: Mapping[str, Any],
    *,
    seed: int,
    long_only: bool = False,
    between: Sequence[float] = (),
    threads: int | None = None,
) -> dict[str, NDArray[Any]]:
    """Follow charged particles downstream, from where they are produced until they stop or leave.

    Scattering has the core of Highland's formula and the tail of Fruehwirth and Liendl; energy loss is
    Bethe's with Landau's fluctuations. Hadrons scatter elastically off nuclei, too. Electrons radiate; their
    photons are not followed. A state at a plane lies in the middle of the plane's material. The outcome
    depends on seed, event and particle number alone.

    The polarity is +1 for MagUp, -1 for MagDown, and the seed is below 2**64. Particles have columns (n,):
    event, particle and `PROPERTIES`, as in ``parkf.io.tables.PARTICLES``. There is no state behind `z_end`,
    in mm, where a particle decays or interacts (infinite if it does neither). With `long_only`, only
    particles that may become long tracks have states: they cross the sensitive area of at least
    `FEWEST_VELO_MODULES` VELO modules, and of the last SciFi layer. Others are abandoned on the way. There
    are also states on planes across the beam at the z of `between`, mm; their numbers begin at `PLANES`.

    Return the columns (m,) of ``parkf.io.tables.STATES`` except the polarity, sorted by event, particle and
    z, and `hardest`. This is the largest scattering in one layer so far: its space angle over Highland's
    width for one projection. A VELO module has a state only if it is hit. Other planes always have one, and
    `active` is whether it is inside the sensitive area. A ParkfError reports (event, particle) twice; other
    mistakes are reported where a file is read, by :mod:`parkf.simulation.plausible`.
    """
    event, number = (np.ascontiguousarray(particles[name], np.int32) for name in ("event", "particle"))
    properties = np.column_stack([np.asarray(particles[name], np.float64) for name in PROPERTIES])
    order = np.lexsort((number, event))
    event, number, properties = event[order], number[order], np.ascontiguousarray(properties[order])
    twice = np.flatnonzero((np.diff(event) == 0) & (np.diff(number) == 0))
    if len(twice):
        raise ParkfError(f"track_through: event {event[twice[0]]}, particle {number[twice[0]]} occurs twice")
    return dict(
        _transport.track_through(
            field.for_polarity(polarity),
            compiled_detector(geometry, between),
            event,
            number,
            properties,
            seed=seed,
            tolerance=STEP_TOLERANCE,
            least_momentum=LEAST_MOMENTUM,
            steepest=STEEPEST,
            fewest_planes=FEWEST_VELO_MODULES if long_only else 0,
            velo_end=float(geometry.planes()[VELO_PLANES, 0].max()) + _BEHIND_VELO,
            last_plane=SCIFI_PLANES[-1] if long_only else -1,
            threads=threads or os.cpu_count() or 1,
        )
    )
