"""The fit on processor cores, several tracks in a vector register."""

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

import parkf._fitter as _fitter
from parkf.fit.candidates import Candidates
from parkf.fit.fitted import NUMBERS, Fitted
from parkf.fit.source import kernel_of
from parkf.io.kinds import Kind
from parkf.io.option_types import Origin
from parkf.io.planes import RICH_PLANES
from parkf.io.tables import BEHIND_VELO
from parkf.params.ghost_score import FEATURES, NAMES
from parkf.params.parameter_set import ParameterSet


def fit(
    parameters: ParameterSet,
    tracks: Candidates,
    *,
    smoother: bool,
    threads: int | None,
    build: str = "",
    robust: bool = False,
    score: bool = False,
    features: bool = False,
    origin: Origin = "vertex",
) -> Fitted:
    """Fit a batch in the precision of its arrays, as described at :func:`parkf.fit.fit`.

    Without `smoother`, it is fitted in the trigger's arithmetic. `build` is one of
    ``_fitter.builds()``, by default the fastest for this machine. `threads` is by default the number of
    cores; the result does not depend on it. With `features`, ``more`` has the inputs of ghost scores,
    :data:`parkf.params.ghost_score.FEATURES`, instead of scores.
    """
    networks = parameters.score.numbers if score and parameters.score is not None else None
    names = FEATURES if features else () if networks is None else NAMES
    numbers, integers = _fitter.fit(
        *kernel_arguments(parameters, tracks, threads, build, origin),
        smoother=smoother,
        robust=robust,
        score=np.empty(0, np.float32) if features else networks,
    )
    return Fitted.from_kernel(numbers, integers, names)


def fit_kind(
    parameters: ParameterSet, tracks: Candidates, kind: Kind, *, threads: int | None, build: str = ""
) -> Fitted:
    """Fit tracks of a kind other than long ones, as described at :func:`parkf.fit.fit`."""
    slices = parameters.slices
    assert slices is not None
    given: dict[str, Any] = dict(
        zip(("numbers", "place", "centre", "scatterers"), slices.for_kernel, strict=True)
    )
    numbers, integers = _fitter.fit_kind(
        *kernel_arguments(parameters, tracks, threads, build),
        kind=kind.name,
        loss=slices.loss_before(ut=kind.ut),
        **given,
    )
    return Fitted.from_kernel(numbers, integers, () if kind.velo else dict(BEHIND_VELO))


def fit_residuals(
    parameters: ParameterSet,
    tracks: Candidates,
    *,
    covariances: bool,
    threads: int | None,
    build: str = "",
    origin: Origin = "vertex",
) -> tuple[Fitted, NDArray[Any]]:
    """Fit a batch by the smoother, and compare each hit with all others (:mod:`parkf.fit.residuals`).

    Also return the kernel's rows, (456, n) float, or (2986, n) with `covariances`.
    """
    numbers, integers = _fitter.fit_residuals(
        *kernel_arguments(parameters, tracks, threads, build, origin), covariances=covariances
    )
    return Fitted.from_kernel(numbers[: len(NUMBERS)], integers), numbers[len(NUMBERS) :]


def fit_with_rich(
    parameters: ParameterSet,
    tracks: Candidates,
    *,
    threads: int | None,
    build: str = "",
    origin: Origin = "vertex",
) -> tuple[Fitted, dict[str, NDArray[Any]]]:
    """Fit a batch by the smoother; also return states at the RICH planes, the columns ``RICH_STATES``.

    Steps with the set's RICH constants lead to z = 990, 2165, 9450 and 11900 mm. The step to 990 mm begins at
    the smoothed state at the last VELO hit, the step to 2165 mm at the smoothed state at the first UT layer,
    and the others at the last SciFi layer. Scattering on the way is left out. ``python -m
    benchmarks.rich_states`` compares the states with Runge-Kutta from the true state.
    """
    assert parameters.rich is not None
    numbers, integers = _fitter.fit(
        *kernel_arguments(parameters, tracks, threads, build, origin),
        smoother=True,
        rich=parameters.rich.kernel_numbers,
    )
    planes = numbers[len(NUMBERS) :].reshape(len(RICH_PLANES), -1, tracks.count)
    columns = {f"state_{z}": plane[:4].T for z, plane in zip(RICH_PLANES, planes, strict=True)}
    columns |= {f"covariance_{z}": plane[4:].T for z, plane in zip(RICH_PLANES, planes, strict=True)}
    return Fitted.from_kernel(numbers[: len(NUMBERS)], integers), columns


def foil(origin: Origin) -> float:
    """Return the weight of the material in front of the first hit, for tracks that were born at `origin`."""
    return 1.0 if origin == "vertex" else 0.0


def kernel_arguments(
    parameters: ParameterSet,
    tracks: Candidates,
    threads: int | None,
    build: str,
    origin: Origin = "vertex",
) -> tuple[Any, ...]:
    """Return the first arguments of all functions of the compiled fitter: set, candidates, and how to run."""
    constants = parameters.manifest.constants
    detector = (constants.velo_sigma, constants.beam_x, constants.beam_y, constants.velo_loss, foil(origin))
    return (
        parameters.constant,
        parameters.table.reshape(-1),
        np.array(detector, np.float64),
        tracks.polarity,
        tracks.qop,
        tracks.velo_n,
        list(tracks.velo),
        list(tracks.ut),
        list(tracks.scifi),
        kernel_of(parameters.manifest),
        build,
        threads or os.cpu_count() or 1,
    )
