"""Stage ``closure_tracks``: tracks on which the magnet table is closed."""

import sys

from parkf.detector.field import load_field
from parkf.detector.geometry import load_geometry
from parkf.io.terminal import say
from parkf.stages.files import Made, Read
from parkf.training.closure.sample import simulate_sample


def closure_tracks(
    *,
    geometry: Read,
    alignment: Read,
    field: Read,
    output: Made,
    tracks: int,
    polarity: int,
    seed: int,
    threads: int = 1,
) -> None:
    """Start `tracks` particles in all parts of the table, of which half leave a track, and make full fits."""
    count = simulate_sample(
        output,
        tracks=tracks,
        seed=seed,
        polarity=polarity,
        geometry=load_geometry(geometry, alignment),
        field=load_field(field),
        threads=threads,
    )
    say(f"closure-tracks: {count} tracks of {tracks} particles, seed {seed}", file=sys.stderr)
