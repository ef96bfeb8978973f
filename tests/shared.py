"""What one process of the tests makes for all of them."""

import fcntl
import os
import pickle


class Shared:
    """A folder of all processes of the tests.

    Parameters
    ----------
    folder : Path
    """

    def __init__(self, folder):
        self._folder = folder

    def path(self, name, make):
        """Return the path of what `make` has written to a path; the process that needs it first makes it."""
        made = self._folder / name
        # The others wait meanwhile.
        with made.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not made.exists():
                begun = made.with_suffix(f".{os.getpid()}")
                make(begun)
                begun.rename(made)
        return made

    def value(self, name, compute):
        """Return what `compute` returns; the process that needs it first computes it."""
        path = self.path(name, lambda path: path.write_bytes(pickle.dumps(compute())))
        return pickle.loads(path.read_bytes())
