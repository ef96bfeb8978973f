"""Stage ``assemble``: a parameter set of its parts."""

from typing import Any

from parkf.io.files import read_json
from parkf.params.validity import validity_of
from parkf.stages.files import AllMade, AllRead, Read, folder_of, set_folder
from parkf.training.assembly import assemble as join


def assemble(
    *,
    geometry: Read,
    alignment: Read,
    field: Read,
    table: Read,
    fits: AllRead,
    rich: Read,
    slices: Read,
    electron: Read,
    score: Read | None = None,
    closed: Read | None = None,
    closed_accuracy: Read | None = None,
    closed_summary: Read | None = None,
    sources: AllRead,
    outputs: AllMade,
    seed: int,
    seeds: dict[str, Any],
    configuration: dict[str, Any],
    inputs: dict[str, Any],
    validity: dict[str, Any],
) -> None:
    """Make a parameter set from fits, magnet table and layers.

    Parameters
    ----------
    closed, closed_accuracy, closed_summary
        The closed table, its accuracy, and the list of what it was closed with.
    sources
        Files that the field is from.
    outputs
        Files of the set.
    seeds, inputs
        More seeds and fingerprints for the manifest, which also has `configuration`: what decides the set.
    validity
        Data that the set is for, as configured.
    """
    closed_with = {} if closed_summary is None else read_json(closed_summary)["inputs"]
    join(
        *(folder_of(fits), table, geometry, alignment, field),
        seed=seed,
        configuration=configuration,
        inputs={**closed_with, **inputs},
        validity=validity_of(validity),
        closed=closed,
        seeds=seeds,
        score=score,
        rich=rich,
        slices=slices,
        electron=electron,
    ).save(set_folder(outputs))
