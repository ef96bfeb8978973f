"""Which allocator Arrow takes its memory from."""

import os
import sys

_VARIABLE = "ARROW_DEFAULT_MEMORY_POOL"


def settle_memory() -> None:
    """Have Arrow use jemalloc; call it before Arrow is loaded.

    A job reads a table piece by piece. jemalloc takes the room of the last piece for the next; Arrow's
    default keeps 30 to 45 MB more that no one uses, and the C library's grows as a job goes on. Arrow has it
    in all its builds for Linux. An environment that names another one is left as it is.
    """
    if sys.platform == "linux":
        os.environ.setdefault(_VARIABLE, "jemalloc")
