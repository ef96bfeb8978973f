"""Stage ``simulate``: transport of particles, and what is made of their states and hits at once."""

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
from parkf.stages.files import AllMade, AllRead, Read
from parkf.training.datasets.lottery import draw


def simulate(
    *,
    geometry: Read,
    alignment: Read,
    field: Read,
    particles: AllRead,
    states: AllMade | None = None,
    hits: AllMade | None = None,
    fates: AllMade | None = None,
    crossings: AllMade | None = None,
    draws: AllMade | None = None,
    candidates: AllMade | None = None,
    misaligned: AllMade | None = None,
    polarities: list[int],
    seeds: list[int],
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

    Each product has a file for each file of `particles`, in their order.

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
    polarities, seeds
        Of each file of particles; the polarities are +1 MagUp, -1 MagDown.
    crowded
        Hits with LHCb's tails, overlaps and density.
    hits_before
        Hits, fates and crossings only of events below this number.
    segments
        Search for track segments in hits alone, or begin with the truth.
    """
    if draws is not None and max_rows is None:
        raise ParkfError("simulate: got draws without max_rows, expected the rows to keep; add --max-rows")
    placed, magnet = load_geometry(geometry, alignment), load_field(field)
    products = {
        "states": states,
        "hits": hits,
        "fates": fates,
        "crossings": crossings,
        "draws": draws,
        "candidates": candidates,
        "misaligned": misaligned,
    }
    for number, (shot, polarity, seed) in enumerate(zip(particles, polarities, seeds, strict=True)):
        say(f"simulate: seed {seed}", file=sys.stderr)
        made = {name: files[number] for name, files in products.items() if files}
        with scratch_folder() as folder:
            own_states = made.get("states", Path(folder, "states.parquet"))
            own_hits = made.get("hits", Path(folder, "hits.parquet"))
            transport(
                shot,
                own_states if made.keys() & {"states", "draws"} else None,
                own_hits if made.keys() & {"hits", "candidates", "misaligned"} else None,
                made.get("fates"),
                made.get("crossings"),
                geometry=placed,
                field=magnet,
                polarity=polarity,
                seed=seed,
                hits_before=hits_before,
                crowded=crowded,
                threads=threads,
            )
            if "draws" in made and max_rows is not None:
                draw(shot, own_states, made["draws"], beam=placed.beam, max_rows=max_rows)
            search = partial(
                find_candidates,
                geometry=placed,
                field=magnet,
                polarity=polarity,
                workers=threads,
                segments=segments,
                made_with=detector_metadata(geometry, alignment, field, polarity),
            )
            if "candidates" in made:
                search(own_hits, made["candidates"])
            if "misaligned" in made:
                displaced = Path(folder, "displaced.parquet")
                misalign_scifi(
                    own_hits, displaced, module=scifi_module, mat=scifi_mat, seed=misalignment_seed
                )
                search(displaced, made["misaligned"])
