"""Stage ``simulate``: transport of a chunk's particles, and what is made of its states and hits at once."""

import sys
from functools import partial
from pathlib import Path

from parkf.detector.field import load_field
from parkf.detector.geometry import load_geometry
from parkf.io.errors import ParkfError
from parkf.io.files import scratch_folder
from parkf.io.fingerprints.detector import detector_metadata
from parkf.io.option_types import Segments
from parkf.io.terminal import say
from parkf.simulation.pattern import find_candidates
from parkf.simulation.response.misalignment import misalign_scifi
from parkf.simulation.response.simulate import simulate as transport
from parkf.stages.files import Made, Read
from parkf.training.datasets.lottery import draw


def simulate(
    *,
    geometry: Read,
    alignment: Read,
    field: Read,
    particles: Read,
    states: Made | None = None,
    hits: Made | None = None,
    fates: Made | None = None,
    crossings: Made | None = None,
    draws: Made | None = None,
    candidates: Made | None = None,
    misaligned: Made | None = None,
    polarity: int,
    seed: int,
    crowded: bool = False,
    hits_before: int | None = None,
    segments: Segments = "truth",
    max_rows: int | None = None,
    scifi_module: float = 0.0,
    scifi_mat: float = 0.0,
    misalignment_seed: int = 0,
    threads: int = 1,
) -> None:
    """Transport particles through field and material, and write the products that are named.

    Parameters
    ----------
    states, hits, fates, crossings
        True states that train the steps; hits; each particle's hardest scattering; true states in the first
        layers of UT and SciFi.
    draws
        The smallest random numbers of the rows of all steps, of which `max_rows` can be kept.
    candidates, misaligned
        Candidates found in the hits, and in the hits of displaced SciFi mats. `scifi_module` and `scifi_mat`
        are widths of the displacements in mm.
    polarity
        +1 MagUp, -1 MagDown.
    crowded
        Hits with LHCb's tails, overlaps and density.
    hits_before
        Hits, fates and crossings only of events below this number.
    segments
        Search for track segments in hits alone, or begin with the truth.
    """
    if draws is not None and max_rows is None:
        raise ParkfError("simulate: got draws without max_rows, expected the rows to keep; add --max-rows")
    say(f"simulate: seed {seed}", file=sys.stderr)
    placed, magnet = load_geometry(geometry, alignment), load_field(field)
    with scratch_folder() as folder:
        own_states, own_hits = states or Path(folder, "states.parquet"), hits or Path(folder, "hits.parquet")
        transport(
            particles,
            None if states is draws is None else own_states,
            None if hits is candidates is misaligned is None else own_hits,
            fates,
            crossings,
            geometry=placed,
            field=magnet,
            polarity=polarity,
            seed=seed,
            hits_before=hits_before,
            crowded=crowded,
            threads=threads,
        )
        if draws is not None and max_rows is not None:
            draw(particles, own_states, draws, beam=placed.beam, max_rows=max_rows)
        search = partial(
            find_candidates,
            geometry=placed,
            field=magnet,
            polarity=polarity,
            workers=threads,
            segments=segments,
            made_with=detector_metadata(geometry, alignment, field, polarity),
        )
        if candidates is not None:
            search(own_hits, candidates)
        if misaligned is not None:
            displaced = Path(folder, "displaced.parquet")
            misalign_scifi(own_hits, displaced, module=scifi_module, mat=scifi_mat, seed=misalignment_seed)
            search(displaced, misaligned)
