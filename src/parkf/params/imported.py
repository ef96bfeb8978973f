"""New parameter sets: their manifests, and sets of numbers that were not trained here."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkf import __version__
from parkf.model.layout import Layout
from parkf.params.manifest import FORMAT_VERSION, Blob, Blobs, Constants, Manifest, Validity, minimum_reader
from parkf.params.parameter_set import ParameterSet, with_blobs
from parkf.params.rich import RichConstants

ALWAYS = Validity(first_run=None, last_run=None, first_time=None, last_time=None)
# Filled in by `with_blobs`.
EMPTY = Blobs(constant=Blob(numbers=0, sha256="0" * 64), table=Blob(numbers=0, sha256="0" * 64))


def new_manifest(forms: Layout, **content: Any) -> Manifest:
    """Return the manifest of an unpublished set of these forms, without blobs, with `content` as fields."""
    fields: dict[str, Any] = {
        "format_version": FORMAT_VERSION,
        "minimum_reader": minimum_reader(content["constants"]),
        "forms": forms.name,
        "layout_version": forms.layout_version,
        "code_version": __version__,
        "formulas": forms.formulas,
        "steps": forms.steps,
        "blobs": EMPTY,
        "validity": ALWAYS,
        "state": "open",
        **{"version": None, "supersedes": None, "created": None, "layout": [], "fits": [], "gates": []},
        **{"seeds": {}, "environment": {}},
    }
    return Manifest.model_validate(fields | content)


def imported(
    layout: Layout,
    blocks: Mapping[str, NDArray[np.float32]],
    table: NDArray[np.float32],
    constants: Constants,
    *,
    inputs: dict[str, str],
    source: str,
    rich: RichConstants | None = None,
) -> ParameterSet:
    """Make a set of these numbers.

    `blocks` has all blocks of the constant blob, (sets, columns) float32 by name, and `table` is the magnet
    table, (60, 50, 80) float32. `inputs` are fingerprints of the files that were read, and `source` is the
    origin of the numbers, for the manifest.
    """
    manifest = new_manifest(layout, source=source, detector="unknown", constants=constants, inputs=inputs)
    constant = np.concatenate([blocks[block.name].ravel() for block in layout.blocks])
    return with_blobs(manifest, constant, table, rich=rich)
