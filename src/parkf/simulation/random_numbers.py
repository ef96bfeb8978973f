"""Counter-based random numbers, keyed so that no result depends on chunking, order or cores."""

from enum import IntEnum

import numpy as np


class Stream(IntEnum):
    """Use of the random numbers; two uses with the same (seed, event) never share a stream."""

    COLLISIONS = 1
    PYTHIA = 2
    INTERACTIONS = 3
    RESPONSE = 4
    GUN = 5
    MISALIGNMENT = 6
    CLOSURE = 7
    SECONDARIES = 8
    CROWD = 9
    DECAYS = 10
    ELECTRONS = 11


def keyed_generator(seed: int, event: int, stream: Stream) -> np.random.Generator:
    """Philox generator of one seed, event (below 2³²) and use."""
    key = np.array([seed, event | int(stream) << 32], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key))
