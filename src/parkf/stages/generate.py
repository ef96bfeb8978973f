"""Stage ``generate``: pp collisions."""

import sys

from parkf.detector.geometry import load_geometry
from parkf.io.terminal import say
from parkf.simulation.generate.collisions import generate as collide
from parkf.stages.files import AllMade, Read


def generate(
    *,
    geometry: Read,
    outputs: AllMade,
    seeds: list[int],
    events: int,
    first: int = 0,
    pile_up: float = 5.5,
    threads: int = 1,
) -> None:
    """Generate the particles of several samples with one Pythia, whose start takes seconds.

    Parameters
    ----------
    seeds
        One for each of the `outputs`.
    events, first
        Bunch crossings of each sample, and the number of the first one, a multiple of 50.
    pile_up
        Mean number of inelastic pp collisions a crossing.
    """
    beam = load_geometry(geometry).beam
    for output, seed in zip(outputs, seeds, strict=True):
        say(f"generate: {events} events from {first} on, seed {seed}", file=sys.stderr)
        collide(output, beam=beam, events=events, seed=seed, pile_up=pile_up, first=first, workers=threads)
