"""The files of a set, each of which is read once: the bytes that are checked are those that are used."""

from pathlib import Path

from parkf.io.errors import ParkfError
from parkf.io.files import existing

# Largest size of a file in a set, bytes.
LARGEST = 64 << 20


class SetFolder:
    """A folder, and the bytes of its files that were read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._contents: dict[str, bytes] = {}

    def read(self, name: str) -> bytes:
        """Return the bytes of a file; a missing, unusual or very large one raises a ParkfError."""
        if name not in self._contents:
            with existing(self.path / name).open("rb") as stream:
                content = stream.read(LARGEST + 1)
            if len(content) > LARGEST:
                what = f"more than {LARGEST} bytes, expected at most as many"
                raise ParkfError(f"{self.path / name}: {what}; get the set again")
            self._contents[name] = content
        return self._contents[name]
