"""Samples in chunks: ranges of events that are jobs of their own, and the names of their files.

A chunk is whole blocks of what the stages work in, so no result depends on how many chunks there are. A
sample in one chunk is one file, ``<sample>.parquet``; of several, they are
``<sample>/<number>-of-<count>.parquet``.
"""

from itertools import pairwise
from pathlib import Path

BLOCK_EVENTS = 50
"""Crossings: a multiple of the piece that generator, transport and pattern recognition process."""

BLOCK_COLLISIONS = 500
"""Collisions of a signal: the piece that its generator processes."""


def chunk_ranges(total: int, block: int, wanted: int) -> list[range]:
    """Cut 0 to `total` − 1 into ranges of whole blocks, of even length.

    Parameters
    ----------
    total : int
        Length of the sample, positive.
    block : int
        Length of a block; what is left behind the last one goes with it, or is one of its own from half a
        block on.
    wanted : int
        Number of ranges; fewer come back where there are not as many blocks.

    Returns
    -------
    list of range
        Adjacent, none empty; all but the last end at a multiple of `block`.
    """
    blocks = max(1, (total + block // 2) // block)
    count = min(wanted, blocks)
    bounds = [number * blocks // count * block for number in range(count)] + [total]
    return [range(begin, end) for begin, end in pairwise(bounds)]


def chunk_names(sample: str, count: int) -> list[str]:
    """Return the names of a sample's chunks in the order of their events; the sample itself for one chunk."""
    return [sample] if count == 1 else [f"{sample}/{number}-of-{count}" for number in range(1, count + 1)]


def chunk_files(samples: list[Path], count: int, ending: str) -> list[Path]:
    """Name the files of several samples' chunks, `count` of each, with an ending such as ``.parquet``."""
    return [
        sample.parent / f"{name}{ending}" for sample in samples for name in chunk_names(sample.name, count)
    ]
