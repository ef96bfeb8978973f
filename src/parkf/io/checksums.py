"""Parquet files with checksums: the format has checksums of pages, and parkf adds one of the footer.

The footer describes the pages, and the format has no checksum of it. A sealed file has one, in twelve bytes
between the last row group and the footer. Other programs ignore these bytes, and read the file as any Parquet
file.
"""

import os
import re
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from parkf.io.errors import DamagedFileError

KIND = "a Parquet file"
_MAGIC = b"PKFSEAL1"
_SEAL = struct.Struct(f"<{len(_MAGIC)}sI")
# No page is larger than this multiple of its file, whatever the compression.
_LARGEST_RATIO = 10_000
# Length of the footer, and the format's name.
_END = struct.Struct("<I4s")
# A footer grows with the number of row groups, so it is read in pieces of this many bytes.
_PIECE = 1 << 16


class CheckedFile(pq.ParquetFile):
    """A Parquet file that is checked as it is read: damage raises a DamagedFileError.

    The caller's thread decodes it, because Arrow would use all cores, and not only those assigned to the job.
    Each further thread would also keep memory of its own.
    """

    def __init__(self, path: Path) -> None:
        check_seal(path)
        self._path = path
        with self._damage_named():
            # Do not pre-buffer, because data read ahead would stay in memory until the file is closed.
            super().__init__(path, pre_buffer=False, page_checksum_verification=True)

    def read(self, *args: Any, **kwargs: Any) -> pa.Table:
        """Read all rows."""
        with self._damage_named():
            return super().read(*args, use_threads=False, **kwargs)

    def read_row_group(self, *args: Any, **kwargs: Any) -> pa.Table:
        """Read one row group."""
        with self._damage_named():
            return super().read_row_group(*args, use_threads=False, **kwargs)

    def iter_batches(self, *args: Any, **kwargs: Any) -> Iterator[pa.RecordBatch]:
        """Read rows in pieces."""
        batches = super().iter_batches(*args, use_threads=False, **kwargs)
        while True:
            with self._damage_named():
                batch = next(batches, None)
            if batch is None:
                return
            yield batch
            # Free this piece before the next one is read, so that memory never holds two.
            del batch

    @contextmanager
    def _damage_named(self) -> Iterator[None]:
        try:
            yield
        except (pa.ArrowException, OSError, MemoryError) as error:
            if isinstance(error, MemoryError) and not self._is_senseless(str(error)):
                raise
            raise DamagedFileError(self._path, KIND, str(error).splitlines()[0]) from error

    def _is_senseless(self, message: str) -> bool:
        """Whether a request for memory is too large for the file: a damaged length leads to such requests."""
        asked = re.search(r"size (\d+)", message)
        return asked is not None and int(asked[1]) > _LARGEST_RATIO * self._path.stat().st_size


def check_pages(path: Path) -> None:
    """Check all columns of a Parquet file, with one row group in memory at a time.

    A DamagedFileError reports a page or a footer that is not what was written.
    """
    with CheckedFile(path) as file:
        for group in range(file.num_row_groups):
            file.read_row_group(group)


def seal(path: Path) -> None:
    """Add the footer's checksum to a Parquet file that has just been written."""
    with path.open("r+b") as file:
        begin = _begin_of_footer(path, file)
        file.seek(begin)
        footer = file.read()
        file.seek(begin)
        file.write(_SEAL.pack(_MAGIC, zlib.crc32(footer)) + footer)


def is_sealed(path: Path) -> bool:
    """Whether parkf wrote a file, and no other program wrote it again."""
    with path.open("rb") as file:
        begin = _begin_of_footer(path, file)
        file.seek(max(0, begin - _SEAL.size))
        return file.read(len(_MAGIC)) == _MAGIC


def check_seal(path: Path) -> None:
    """Check the footer of a Parquet file, if the file is sealed; a DamagedFileError reports a wrong one."""
    with path.open("rb") as file:
        begin = _begin_of_footer(path, file)
        if begin < _SEAL.size:
            return
        file.seek(begin - _SEAL.size)
        magic, checksum = _SEAL.unpack(file.read(_SEAL.size))
        found = 0
        while piece := file.read(_PIECE):
            found = zlib.crc32(piece, found)
    if magic == _MAGIC and found != checksum:
        raise DamagedFileError(path, KIND, "its footer does not have the checksum that was written")


def _begin_of_footer(path: Path, file: BinaryIO) -> int:
    size = file.seek(0, os.SEEK_END)
    if size < _END.size:
        raise DamagedFileError(path, KIND, f"it has {size} bytes")
    file.seek(size - _END.size)
    length, name = _END.unpack(file.read(_END.size))
    begin = int(size - _END.size - length)
    if name != b"PAR1" or begin < len(name):
        raise DamagedFileError(path, KIND, "it does not end as such a file does")
    return begin
