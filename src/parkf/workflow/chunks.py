"""Samples in chunks: ranges of events, each of which is a separate job, and the names of their files.

The stages process events in blocks. A chunk consists of whole blocks, so no result depends on the number of
chunks. The file of a sample with one chunk is ``<sample>.parquet``; with several chunks, the files are
``<sample>/<number>-of-<count>.parquet``.
"""

from itertools import pairwise

BLOCK_EVENTS = 50
"""Number of crossings: a multiple of the pieces that generator, transport and pattern recognition process."""

BLOCK_COLLISIONS = 2000
"""Number of collisions of a signal that its generator processes as one piece."""


def chunk_ranges(total: int, block: int, wanted: int) -> list[range]:
    """Cut 0 to `total` − 1 into at most `wanted` adjacent ranges of about the same number of whole blocks.

    A remainder of less than half a block is added to the last block; a larger remainder counts as a block.
    """
    blocks = max(1, (total + block // 2) // block)
    count = min(wanted, blocks)
    bounds = [number * blocks // count * block for number in range(count)] + [total]
    return [range(begin, end) for begin, end in pairwise(bounds)]


def chunk_names(sample: str, count: int) -> list[str]:
    """Return the names of a sample's chunks in the order of their events; one chunk has the sample's name."""
    return [sample] if count == 1 else [f"{sample}/{number}-of-{count}" for number in range(1, count + 1)]
