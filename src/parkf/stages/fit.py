"""Stage ``fit``: fits of candidates with a set."""

import sys
from itertools import product
from typing import Any

from parkf.fit.fitter import fit_file
from parkf.fit.gpu import choose_backend
from parkf.io.terminal import say
from parkf.stages.files import AllMade, AllRead, set_folder


def fit(
    *, set: AllRead, candidates: AllRead, outputs: AllMade, fits: dict[str, Any], threads: int = 1
) -> None:
    """Fit files of candidates in several ways, in one job, because a start takes longer than a fit.

    Parameters
    ----------
    outputs
        For each file of candidates, a file for each of the fits, in the order of their names.
    fits
        Arguments of each fit by its name: scheme, precision, backend, robust, score.
    """
    for output, (file, name) in zip(outputs, product(candidates, sorted(fits)), strict=True):
        how: dict[str, Any] = dict(fits[name])
        how["backend"], device = choose_backend(how["backend"])
        say(f"fit: {name} on {device}", file=sys.stderr)
        fit_file(set_folder(set), file, output, threads=threads, **how).tell(file, output)
