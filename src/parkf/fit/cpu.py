"""The fit on processor cores, several tracks in a vector register."""

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

import parkf._fitter as _fitter
from parkf.fit.candidates import Candidates
from parkf.fit.fitted import INTEGERS, NUMBERS, Fitted
from parkf.fit.source import kernel_of
from parkf.io.tables import VELO_SLOTS
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
) -> Fitted:
    """Fit a batch in the precision of its arrays, as described at :func:`parkf.fit.fit`.

    Without `smoother`, it is fitted in the trigger's arithmetic. `build` is one of
    ``_fitter.builds()``, by default the fastest for this machine; `threads` are as many as cores by default.
    The result does not depend on the number of threads.
    """
    numbers, integers = _fitter.fit(
        *arguments(parameters, tracks, threads, build),
        smoother=smoother,
        robust=robust,
        score=parameters.score.numbers if score and parameters.score is not None else None,
    )
    return Fitted.from_kernel(numbers, integers)


def fit_features(
    parameters: ParameterSet, tracks: Candidates, *, threads: int | None, build: str = ""
) -> tuple[Fitted, NDArray[Any]]:
    """Fit a batch by the smoother; (17, n) float are :data:`parkf.params.ghost_score.FEATURES`."""
    numbers, integers = _fitter.fit(
        *arguments(parameters, tracks, threads, build), smoother=True, score=np.empty(0, np.float32)
    )
    return Fitted.from_kernel(numbers[: len(NUMBERS)], integers), numbers[len(NUMBERS) :]


def interval(
    parameters: ParameterSet, tracks: Candidates, *, threads: int | None, build: str = ""
) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Search for the hit of each candidate that agrees least with its others.

    Returns
    -------
    (1, n) float, (1, n) int32
        u² of the hit; its VELO slot, 26 + UT layer or 30 + SciFi layer.
    """
    return _fitter.interval(*arguments(parameters, tracks, threads, build))


def fit_and_search(
    parameters: ParameterSet,
    tracks: Candidates,
    removed: NDArray[np.int64],
    *,
    threads: int | None,
    build: str = "",
) -> tuple[Fitted, NDArray[Any], NDArray[np.int32]]:
    """Fit a batch in the trigger's arithmetic without some hits, and search for the worst of the others.

    `removed`, (n,), has bit s for VELO slot s, 26 + l for UT layer l, 30 + l for SciFi layer l.

    Returns
    -------
    Fitted, (n,) float, (n,) int32
        The fits; χ² and slot (the number of its bit) of each candidate's worst hit, 0 and -1 without one.
    """
    velo, strips = removed & ((1 << VELO_SLOTS) - 1), removed >> VELO_SLOTS
    numbers, integers = _fitter.fit_and_search(
        *arguments(parameters, tracks, threads, build),
        removed_velo=velo.astype(np.int32),
        removed_strips=strips.astype(np.int32),
    )
    fitted = Fitted.from_kernel(numbers[: len(NUMBERS)], integers[: len(INTEGERS)])
    return fitted, numbers[-1], integers[-1]


def fit_with_rich(
    parameters: ParameterSet,
    rich: NDArray[np.float32],
    tracks: Candidates,
    *,
    threads: int | None,
    build: str = "",
) -> tuple[Fitted, NDArray[Any]]:
    """Fit a batch by the smoother; (56, n) float are the states at the RICH planes.

    For each plane they are x, y, tx, ty and the lower triangle of their covariance. `rich` are the set's
    constants of the steps there, (66,).
    """
    numbers, integers = _fitter.fit(*arguments(parameters, tracks, threads, build), smoother=True, rich=rich)
    return Fitted.from_kernel(numbers[: len(NUMBERS)], integers), numbers[len(NUMBERS) :]


def arguments(
    parameters: ParameterSet, tracks: Candidates, threads: int | None, build: str
) -> tuple[Any, ...]:
    """Return what all functions of the compiled fitter begin with: the set, the candidates, how to run."""
    constants = parameters.manifest.constants
    return (
        parameters.constant,
        parameters.table.reshape(-1),
        constants.velo_sigma,
        constants.beam_x,
        constants.beam_y,
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
