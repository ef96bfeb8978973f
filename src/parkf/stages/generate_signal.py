"""Stage ``generate_signal``: the two tracks of a mass peak."""

import sys

from parkf.detector.geometry import load_geometry
from parkf.io.option_types import Signal
from parkf.io.terminal import say
from parkf.simulation.generate.signal import generate_signal as decay
from parkf.stages.files import Made, Read


def generate_signal(
    *,
    geometry: Read,
    output: Made,
    signal: Signal,
    collisions: int,
    seed: int,
    first: int = 0,
    threads: int = 1,
) -> None:
    """Generate collisions with a decay by Pythia.

    Parameters
    ----------
    signal
        J/psi to two muons or electrons, D0 to K pi, photons to e e.
    collisions, first
        Number of collisions, and the number of the first one, a multiple of 2000.
    """
    beam = load_geometry(geometry).beam
    pairs = decay(
        output, signal=signal, beam=beam, number=collisions, seed=seed, first=first, workers=threads
    )
    say(f"generate-signal: {pairs} pairs, seed {seed}", file=sys.stderr)
