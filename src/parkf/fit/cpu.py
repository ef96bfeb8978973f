"""The fit on processor cores, several tracks in a vector register."""

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

import parkf._fitter as _fitter
from parkf.fit.candidates import Candidates
from parkf.fit.fitted import NUMBERS, Fitted
from parkf.fit.source import kernel_of
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
    """Fit a batch in the precision of its arrays.

    Parameters
    ----------
    parameters : ParameterSet
        Constant blob, magnet table, VELO resolution and beam line.
    tracks : Candidates
        The batch.
    smoother : bool
        The fixed-point smoother; else forward and VELO backward.
    threads : int or None
        Threads to use; None: as many as there are cores. The result does not depend on it.
    build : str
        One of ``_fitter.builds()``; empty: the fastest for this machine.
    robust : bool
        Fit once more without UT hits, and with more noise where a track scattered hard
        (:func:`parkf.fit.fit`); the smoother alone.
    score : bool
        Give the ghost score, if the set has one, by the plain fit; the smoother alone.
    """
    numbers, integers = _fitter.fit(
        *_arguments(parameters, tracks),
        build=build,
        threads=_threads(threads),
        smoother=smoother,
        robust=robust,
        score=parameters.score.numbers if score and parameters.score is not None else None,
    )
    return Fitted.from_kernel(numbers, integers)


def fit_features(
    parameters: ParameterSet, tracks: Candidates, *, threads: int | None, build: str = ""
) -> tuple[Fitted, NDArray[Any]]:
    """Fit a batch by the smoother, and give the input features of the ghost score.

    Returns
    -------
    Fitted, (17, n) float
        The features of :data:`parkf.params.ghost_score.FEATURES`.
    """
    numbers, integers = _fitter.fit(
        *_arguments(parameters, tracks),
        build=build,
        threads=_threads(threads),
        smoother=True,
        score=np.empty(0, np.float32),
    )
    return Fitted.from_kernel(numbers[: len(NUMBERS)], integers), numbers[len(NUMBERS) :]


def interval(
    parameters: ParameterSet, tracks: Candidates, *, planes: bool, threads: int | None, build: str = ""
) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Fit a batch at every plane: u² of each candidate's worst hit; with `planes` the RICH states, too.

    Parameters
    ----------
    parameters, tracks, threads, build
        As for :func:`fit`.
    planes : bool
        Give the states, too.

    Returns
    -------
    (1 or 57, n) float, (1, n) int32
        u², and for each plane x, y, tx, ty and the lower triangle of their covariance; the worst hit: its
        VELO slot, 26 + UT layer or 30 + SciFi layer.
    """
    return _fitter.interval(
        *_arguments(parameters, tracks), build=build, threads=_threads(threads), planes=planes
    )


def _threads(threads: int | None) -> int:
    return threads or os.cpu_count() or 1


def _arguments(parameters: ParameterSet, tracks: Candidates) -> tuple[Any, ...]:
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
    )
