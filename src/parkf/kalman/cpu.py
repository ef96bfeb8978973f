"""The fit on processor cores, several tracks in a vector register."""

import os

import parkf._fitter as _fitter
from parkf.kalman.candidates import Candidates
from parkf.kalman.fitted import Fitted
from parkf.parameters.parameter_set import ParameterSet


def fit(
    parameters: ParameterSet, tracks: Candidates, *, smoother: bool, threads: int | None, build: str = ""
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
    """
    constants = parameters.manifest.constants
    numbers, integers = _fitter.fit(
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
        forms=parameters.manifest.forms,
        smoother=smoother,
        build=build,
        threads=threads or os.cpu_count() or 1,
    )
    return Fitted.from_kernel(numbers, integers)
