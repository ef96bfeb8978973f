"""Stage ``assemble``: the ghost score, and a parameter set of its parts."""

import sys
from functools import partial
from typing import Any

from parkf.io.files import read_json
from parkf.io.terminal import say
from parkf.params.validity import validity_of
from parkf.stages.files import AllMade, AllRead, Made, Read, folder_of, set_folder
from parkf.training.assembly import assemble as join
from parkf.training.ghost_score.train import train_score


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
    particles: AllRead,
    candidates: AllRead,
    theirs: Read | None = None,
    score: Made | None = None,
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
    source: str = "trained",
    threads: int = 1,
) -> None:
    """Make a parameter set from fits, magnet table and layers.

    Parameters
    ----------
    particles, candidates
        The `score` is trained on these candidates, fitted with the set without a score, and on their
        particles.
    theirs
        The score of a run whose alignment is a little different, if none is trained.
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
    source
        Where the numbers are from, for the manifest.
    """
    closed_with = {} if closed_summary is None else read_json(closed_summary)["inputs"]
    made = partial(
        join,
        *(folder_of(fits), table, geometry, alignment, field),
        seed=seed,
        configuration=configuration,
        closed=closed,
        rich=rich,
    )
    if score is not None:
        trained = train_score(
            made(), list(zip(particles, candidates, strict=True)), seed=seed, threads=threads
        )
        counts = f"{trained.genuine} genuine candidates, {trained.ghosts} ghosts"
        say(f"score: {counts}, seed {seed}", file=sys.stderr)
        trained.save(score)
    made(
        inputs={**closed_with, **inputs},
        validity=validity_of(validity),
        seeds=seeds,
        score=score or theirs,
        slices=slices,
        electron=electron,
        source=source,
    ).save(set_folder(outputs))
