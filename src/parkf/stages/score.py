"""Stage ``score``: the ghost score of a set."""

import sys
from typing import Any

from parkf.io.terminal import say
from parkf.stages.files import AllRead, Made, Read, folder_of
from parkf.training.assembly import assemble
from parkf.training.ghost_score.train import train_score


def score(
    *,
    geometry: Read,
    alignment: Read,
    field: Read,
    table: Read,
    fits: AllRead,
    rich: Read,
    closed: Read | None = None,
    particles: AllRead,
    candidates: AllRead,
    output: Made,
    seed: int,
    configuration: dict[str, Any],
    threads: int = 1,
) -> None:
    """Train the score on candidates, fitted with the set without a score, and on their particles.

    The arguments of the set are those of ``assemble``; its `configuration` needs the factors of noise alone.
    """
    draft = assemble(
        *(folder_of(fits), table, geometry, alignment, field),
        seed=seed,
        configuration=configuration,
        closed=closed,
        rich=rich,
    )
    files = list(zip(particles, candidates, strict=True))
    trained = train_score(draft, files, seed=seed, threads=threads)
    counts = f"{trained.genuine} genuine candidates, {trained.ghosts} ghosts"
    say(f"score: {counts}, seed {seed}", file=sys.stderr)
    trained.save(output)
