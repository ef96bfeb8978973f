"""Fingerprints of code that an earlier process computed, in the user's cache folder."""

import atexit
import hashlib
import json
import os
import re
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from parkf.io.errors import ParkfError
from parkf.io.files import read_json, write_sealed

# No fingerprint depends on these files, which Python or the build makes.
_MADE = (".pyc", ".pyi", ".so")
# A file may change twice within the resolution of its times, ns. Until it has passed, nothing is cached.
_SETTLED_NS = 2_000_000_000
_CODE = re.compile("[0-9a-f]{16}")


class Known:
    """Fingerprints in a cache, by the commands that they belong to, for one state of the source folders.

    The state is the path, size and times of each file. A cache that is damaged, or belongs to another state,
    is not used. Several processes may use the cache at the same time, because each replaces the whole file.
    """

    def __init__(self, path: Path, sources: Iterable[Path]) -> None:
        self._path = path
        self._state, self._newest_ns = _state_of(sources)
        self.codes = self._read()
        self._is_saved = False

    def add(self, key: str, code: str) -> None:
        """Add a fingerprint; the cache is written when this process ends."""
        self.codes[key] = code
        if not self._is_saved:
            atexit.register(self.save)
        self._is_saved = True

    def save(self) -> None:
        """Write the cache, if its folder can be written and the sources have not changed just now."""
        if time.time_ns() - self._newest_ns < _SETTLED_NS:
            return
        # The next process computes the fingerprints again where there is no cache.
        with suppress(OSError):
            write_sealed(self._path, {"state": self._state, "codes": self._read() | self.codes})

    def _read(self) -> dict[str, str]:
        try:
            content = read_json(self._path)
        except (ParkfError, OSError):
            return {}
        codes = content.get("codes") if isinstance(content, dict) else None
        if not isinstance(codes, dict) or content.get("state") != self._state:
            return {}
        return {key: code for key, code in codes.items() if _CODE.fullmatch(str(code))}


def cache_file(sources: Iterable[Path]) -> Path:
    """Return the path of the cache for these sources and this Python, in XDG_CACHE_HOME or ``~/.cache``."""
    folder = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if not folder.is_absolute():
        try:
            folder = Path.home() / ".cache"
        except RuntimeError:
            # A user without a home has no cache: nothing exists below this path, or can be written there.
            folder = Path(os.devnull)
    about = hashlib.sha256(json.dumps([sys.version, *map(str, sources)]).encode()).hexdigest()[:16]
    return folder / "parkf" / f"fingerprints-{about}.json"


def _state_of(sources: Iterable[Path]) -> tuple[str, int]:
    """Return a digest of the paths, sizes and times of all files, and the latest of the times in ns."""
    digest = hashlib.sha256()
    newest_ns = 0
    folders = (folder for source in sources for folder in os.walk(source, followlinks=True))
    for path in sorted(Path(folder, name) for folder, _, names in folders for name in names):
        # Editors may have removed a file of their own meanwhile.
        if path.suffix not in _MADE and path.is_file():
            of = path.stat()
            digest.update(f"{path}\0{of.st_size} {of.st_mtime_ns} {of.st_ctime_ns}\0".encode())
            newest_ns = max(newest_ns, of.st_mtime_ns, of.st_ctime_ns)
    return digest.hexdigest(), newest_ns
