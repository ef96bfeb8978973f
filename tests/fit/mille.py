"""Reads files for Millepede II, as tests need them."""

import struct

import numpy as np


def read_mille(path):
    """Words and labels of each record, without the first word."""
    content = path.read_bytes()
    while content:
        count = struct.unpack_from("<i", content)[0] // 2
        words = struct.unpack_from(f"<{count}f", content, 4)
        labels = struct.unpack_from(f"<{count}i", content, 4 + 4 * count)
        content = content[4 + 8 * count :]
        yield np.array(words[1:]), np.array(labels[1:])
