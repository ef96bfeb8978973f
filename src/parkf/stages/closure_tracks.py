"""Stage ``closure_tracks``: tracks on which the magnet table is closed."""

import sys

from parkf.detector.field import load_field
from parkf.detector.geometry import load_geometry
from parkf.io.terminal import say
from parkf.stages.files import AllMade, Read
from parkf.training.closure.sample import simulate_sample


def closure_tracks(
    *,
    geometry: Read,
    alignment: Read,
    field: Read,
    outputs: AllMade,
    tracks: int,
    polarities: list[int],
    seeds: list[int],
    threads: int = 1,
) -> None:
    """Start `tracks` particles in all parts of the table, of which half leave a track, and make full fits.

    Each of the `outputs` has a polarity, +1 MagUp or -1 MagDown, and a seed.
    """
    placed, magnet = load_geometry(geometry, alignment), load_field(field)
    for output, polarity, seed in zip(outputs, polarities, seeds, strict=True):
        count = simulate_sample(
            output,
            tracks=tracks,
            seed=seed,
            polarity=polarity,
            geometry=placed,
            field=magnet,
            threads=threads,
        )
        say(f"closure-tracks: {count} tracks of {tracks} particles, seed {seed}", file=sys.stderr)
