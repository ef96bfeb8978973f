"""The folder of a set: opened once, and each of its files read once.

The bytes that are checked are then those that are used, and all of them are of one folder, even if another
folder takes its name meanwhile.
"""

import errno
import os
import stat
from pathlib import Path
from types import TracebackType
from typing import Self

from parkf.io.errors import ParkfError
from parkf.io.files import existing

# Largest size of a file in a set or of an index, bytes: of numbers, and of text.
LARGEST, LARGEST_TEXT = 64 << 20, 4 << 20


class SetFolder:
    """An open folder; use it in a ``with`` statement.

    Without `links`, a ParkfError refuses a folder or a file that is a symbolic link. `place` is the folder
    to open, where it has another name than `path`, which is for messages.
    """

    def __init__(self, path: Path, *, links: bool = True, place: Path | None = None) -> None:
        self.path = path
        self._flags = os.O_RDONLY | os.O_CLOEXEC | (0 if links else os.O_NOFOLLOW)
        self._contents: dict[str, bytes] = {}
        try:
            self._handle = os.open(place or path, self._flags | os.O_DIRECTORY)
        except OSError as error:
            if not links and (place or path).is_symlink():
                raise _link(path) from error
            # A set without its folder lacks its manifest.
            existing(path / "manifest.json")
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._handle)

    def read(self, name: str) -> bytes:
        """Return the bytes of a file; a missing, unusual or very large one raises a ParkfError."""
        if name not in self._contents:
            self._contents[name] = self._read(name)
        return self._contents[name]

    def names(self) -> list[str]:
        """List the files in the folder."""
        return sorted(os.listdir(self._handle))  # noqa: PTH208  # of the open folder

    def _read(self, name: str) -> bytes:
        path, largest = self.path / name, LARGEST_TEXT if name.endswith(".json") else LARGEST
        try:
            # Without O_NONBLOCK, a pipe would wait for its writer.
            handle = os.open(name, self._flags | os.O_NONBLOCK, dir_fd=self._handle)
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise _link(path) from error
            if error.errno in (errno.ENOENT, errno.ENOTDIR):
                raise ParkfError(
                    f"{path}: no such file; expected a file: correct the name, or make the file first"
                ) from error
            raise
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                existing(path)
            with open(handle, "rb", closefd=False) as stream:
                content = stream.read(largest + 1)
        finally:
            os.close(handle)
        if len(content) > largest:
            raise ParkfError(f"{path}: more than {largest} bytes, expected at most as many; get it again")
        return content


def _link(path: Path) -> ParkfError:
    return ParkfError(
        f"{path}: a symbolic link; expected the folder or file itself, because a link may lead out of the"
        " registry: put the published one in its place"
    )
