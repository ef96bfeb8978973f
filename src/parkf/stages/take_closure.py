"""Stage ``take_closure``: the closed table of another run."""

from typing import Any

from parkf.io.files import read_json, sha256, write_sealed
from parkf.params.configuration import NEIGHBOURS_TABLE
from parkf.stages.files import AllRead, Made, Read, folder_of
from parkf.training.assembly import assemble
from parkf.training.closure.close import neighbours_table


def take_closure(
    *,
    geometry: Read,
    alignment: Read,
    field: Read,
    table: Read,
    fits: AllRead,
    theirs: Read,
    their_accuracy: Read,
    output: Made,
    accuracy: Made,
    summary: Made,
    seed: int,
    configuration: dict[str, Any],
) -> None:
    """Use `theirs`, the closed table of a run whose alignment is a little different, with its figures."""
    own = assemble(folder_of(fits), table, geometry, alignment, field, seed=seed, configuration=configuration)
    neighbours_table(own, theirs).save(output)
    write_sealed(accuracy, read_json(their_accuracy))
    write_sealed(summary, {"inputs": {NEIGHBOURS_TABLE: sha256(theirs)}})
