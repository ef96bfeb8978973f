"""States of fitted candidates at the RICH detectors, by the smoother on processor cores."""

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from parkf.fit import cpu
from parkf.fit.candidates import Candidates
from parkf.fit.fitted import Fitted
from parkf.io.errors import ParkfError
from parkf.io.option_types import Origin
from parkf.io.planes import RICH_PLANES
from parkf.params.parameter_set import ParameterSet


@dataclass(frozen=True)
class PlaneStates:
    """States at the RICH planes, in the order of :data:`parkf.io.planes.RICH_PLANES`."""

    state: NDArray[Any]  # (n, 4, 4): x, y (mm), tx, ty of each candidate and plane; q/p is the fit's
    covariance: NDArray[Any]  # (n, 4, 10): lower triangle of its covariance, row by row

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the columns ``RICH_STATES`` of the table ``fitted``."""
        return {
            f"{name}_{z}": getattr(self, name)[:, i]
            for i, z in enumerate(RICH_PLANES)
            for name in ("state", "covariance")
        }


def fit_with_rich(
    parameters: ParameterSet,
    tracks: Candidates,
    *,
    threads: int | None = None,
    origin: Origin = "vertex",
) -> tuple[Fitted, PlaneStates]:
    """Fit candidates by the smoother, with states at z = 990, 2165, 9450 and 11900 mm from all their hits.

    Steps with the set's RICH constants lead to these planes. The step to 990 mm begins at the smoothed state
    at the last VELO hit, the step to 2165 mm at the smoothed state at the first UT layer, and the others at
    the last SciFi layer. Scattering on the way is left out. ``python -m benchmarks.rich_states`` compares the
    states with Runge-Kutta from the true state. A set without RICH constants raises a ParkfError.
    """
    if parameters.rich is None:
        raise ParkfError(
            "states at the RICH planes: the parameter set has no constants for them (rich.f32), which sets"
            " have since manifest format 6; train one, or take a newer one of `parkf params list`"
        )
    fitted, numbers = cpu.fit_with_rich(
        parameters, parameters.rich.kernel_numbers, tracks, threads=threads, origin=origin
    )
    planes = numbers.reshape(len(RICH_PLANES), -1, tracks.count)
    states = PlaneStates(planes[:, :4].transpose(2, 0, 1), planes[:, 4:].transpose(2, 0, 1))
    return fitted.flagged(tracks.nulls, "null_number"), states
