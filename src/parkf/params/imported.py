"""A parameter set out of numbers that were not trained here."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from parkf import __version__
from parkf.model.layout import Layout
from parkf.params.manifest import FORMAT_VERSION, MINIMUM_READER, Blob, Blobs, Constants, Manifest, Validity
from parkf.params.parameter_set import ParameterSet, with_blobs

ALWAYS = Validity(first_run=None, last_run=None, first_time=None, last_time=None)
# Filled in by `with_blobs`.
EMPTY = Blobs(constant=Blob(numbers=0, sha256="0" * 64), table=Blob(numbers=0, sha256="0" * 64))


def imported(
    layout: Layout,
    blocks: Mapping[str, NDArray[np.float32]],
    table: NDArray[np.float32],
    constants: Constants,
    *,
    inputs: dict[str, str],
    source: str,
) -> ParameterSet:
    """Make a set of these numbers.

    Parameters
    ----------
    layout : Layout
        What the numbers are of.
    blocks : mapping of str to (sets, columns) float32
        Every block of the constant blob.
    table : (60, 50, 80) float32
        The magnet table.
    constants : Constants
        What the fitter needs besides.
    inputs : dict of str to str
        Fingerprints of the files that were read.
    source : str
        What the manifest calls the origin.
    """
    manifest = Manifest(
        format_version=FORMAT_VERSION,
        minimum_reader=MINIMUM_READER,
        version=None,
        state="open",
        source=source,
        detector="unknown",
        validity=ALWAYS,
        forms=layout.name,
        layout_version=layout.layout_version,
        code_version=__version__,
        formulas=layout.formulas,
        blobs=EMPTY,
        constants=constants,
        layout=[],
        inputs=inputs,
        seeds={},
        steps=layout.steps,
        fits=[],
        gates=[],
        environment={},
        supersedes=None,
        created=None,
    )
    constant = np.concatenate([blocks[block.name].ravel() for block in layout.blocks])
    return with_blobs(manifest, constant, table)
