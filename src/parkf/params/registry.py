"""The registry: a folder with one folder for each published set, which is never changed again.

States: *open* (just made), *validated* (meets its gates), *published* (in a registry), *withdrawn*
(published, with the reason in the log or in a file ``withdrawn.json``; readable, so that old results can be
repeated).

A signed registry has a log (:mod:`parkf.params.log`). :mod:`parkf.params.publisher` writes sets and log.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import Field

import parkf._fitter as _fitter
from parkf.io.documents.models import Strict, load_document
from parkf.io.errors import ParkfError
from parkf.io.files import existing
from parkf.io.option_types import FormsName
from parkf.params.log import VERSION, Log, is_signed, read_log
from parkf.params.manifest import Manifest, read_manifest
from parkf.params.parameter_set import MANIFEST_FILE, ParameterSet, load
from parkf.params.superseding import differences
from parkf.params.validity import Interval, Moment, Series

WITHDRAWN_FILE = "withdrawn.json"
# The registry of a project, and that of the installation.
FOLDER = Path("params")
SHIPPED = Path(_fitter.__file__).parent / "params"


class Withdrawal(Strict):
    """Why a published set must not be used any more."""

    reason: str = Field(description="What is wrong with the set.")
    time: str = Field(description="When it was withdrawn, UTC.")


class Registry:
    """Published sets in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.layouts = folder / "layouts"  # its sets' layouts, with their formulas

    def log(self) -> Log | None:
        """Read the log and check it, with the presence of all sets; None where the registry is not signed.

        A ParkfError names what is missing, was changed, or is older than it was.
        """
        return read_log(self.folder) if is_signed(self.folder) else None

    def versions(self) -> list[str]:
        """List the published sets, oldest first within a year and detector."""
        if not self.folder.is_dir():
            return []
        return sorted(p.name for p in self.folder.iterdir() if VERSION.fullmatch(p.name) and p.is_dir())

    def path(self, version: str) -> Path:
        """Return the folder of a published set; an invalid or unknown name raises a ParkfError."""
        if not VERSION.fullmatch(version):
            raise ParkfError(
                f"{self.folder}: version {version!r:.60}, expected a name such as 2026-run3-r001;"
                " list them with `parkf params list`"
            )
        path = self.folder / version
        if not path.is_dir():
            known = ", ".join(self.versions()) or "none"
            raise ParkfError(
                f"{self.folder}: no version {version}; there are: {known}; name one of them, or its folder"
            )
        return path

    def find(self, name: str) -> Path:
        """Return the folder of a set, from its version or from a path; without a set, raise a ParkfError."""
        path = Path(name)
        if path.is_file():
            raise ParkfError(f"{name}: a file, expected a version or the folder of a set; name that first")
        if "/" in name or (path / MANIFEST_FILE).is_file():
            existing(path / MANIFEST_FILE)
            return path
        return self.path(name)

    def load(self, version: str) -> ParameterSet:
        """Read a published set; if it is not whole, or of another version or state, raise a ParkfError."""
        path = self.path(version)
        loaded = load(path)
        if loaded.manifest.version != version or loaded.manifest.state != "published":
            got = f"{loaded.manifest.state} version {loaded.manifest.version}"
            raise ParkfError(f"{path / MANIFEST_FILE}: {got}, expected published version {version}")
        return loaded

    def newest_alike(self, manifest: Manifest, apart_from: Path | None = None) -> str | None:
        """Name the newest set of the same detector and forms, not withdrawn, and not in a certain folder."""
        for version in reversed(self.versions()):
            other = read_manifest(self.path(version) / MANIFEST_FILE)
            alike = (other.detector, other.forms) == (manifest.detector, manifest.forms)
            itself = apart_from is not None and self.path(version).absolute() == apart_from.absolute()
            if alike and not itself and self.withdrawal(version) is None:
                return version
        return None

    def series(
        self, *, detector: str | None = None, forms: FormsName | None = None
    ) -> dict[tuple[str, FormsName], Series]:
        """Sort the sets, or only those of `detector` and `forms`, into series by detector and forms.

        A manifest that cannot be read or has no valid interval, and a series with limits of two kinds, raise
        a ParkfError.
        """
        self.log()
        intervals: dict[tuple[str, FormsName], dict[str, Interval]] = {}
        supersedes: dict[str, str | None] = {}
        for version in self.versions():
            path = self.path(version) / MANIFEST_FILE
            manifest = read_manifest(path)
            supersedes[version] = manifest.supersedes
            chosen = detector in (None, manifest.detector) and forms in (None, manifest.forms)
            if chosen and self.withdrawal(version) is None:
                with _naming(str(path)):
                    interval = Interval.of(manifest.validity)
                intervals.setdefault((manifest.detector, manifest.forms), {})[version] = interval
        series = {}
        for kind, several in intervals.items():
            with _naming(f"{self.folder}: {', '.join(kind)}"):
                series[kind] = Series(several, supersedes)
        return series

    def best_sets(
        self, moment: Moment, *, detector: str | None = None, forms: FormsName | None = None
    ) -> list[dict[str, Any]]:
        """Find the set to use for a run or a time, for each detector and set of forms.

        Each is ``{detector, forms, set, validity, superseded, path}``: `set` is a version, `validity` all its
        data, and `superseded` the sets that it replaces here; if there is no set, they are None or empty.

        Besides the errors of :meth:`series`, a ParkfError reports several sets of which none superseded the
        others, a series that is limited in the other unit, and a broken set.
        """
        best = []
        for kind, series in self.series(detector=detector, forms=forms).items():
            where = f"{self.folder}: {', '.join(kind)}"
            with _naming(where):
                sets = series.at(moment)
            if len(sets.holding) > 1:
                raise ParkfError(
                    f"{where}: {' and '.join(sets.holding)} are both for {moment.unit} {moment}, and "
                    "neither superseded the other; withdraw one"
                )
            found: dict[str, Any] = {"detector": kind[0], "forms": kind[1], "set": None, "validity": None}
            found |= {"superseded": [], "path": None}
            for version in sets.holding:
                # A broken set is refused here.
                self.load(version)
                found |= {"set": version, "validity": str(series.intervals[version])}
                found["superseded"] = [one for one in sets.versions if one != version]
                found["path"] = str(self.path(version))
            best.append(found)
        return best

    def withdrawal(self, version: str) -> Withdrawal | None:
        """Return why a set was withdrawn, or None; a broken log or ``withdrawn.json`` raises a ParkfError."""
        if (log := self.log()) is not None:
            entry = log.withdrawn.get(version)
            return None if entry is None else Withdrawal(reason=str(entry.reason), time=entry.time)
        path = self.path(version) / WITHDRAWN_FILE
        return load_document(path, Withdrawal) if path.exists() else None

    def replaced(self, manifest: Manifest) -> dict[str, list[str]]:
        """Return the sets that a new one would replace, each with what the new one has less or other."""
        series = self.series(detector=manifest.detector, forms=manifest.forms)
        kind = manifest.detector, manifest.forms
        held = series[kind].holding(Interval.of(manifest.validity)) if kind in series else []
        return {
            version: differences(manifest, read_manifest(self.path(version) / MANIFEST_FILE))
            for version in held
        }


@contextmanager
def _naming(where: str) -> Iterator[None]:
    """Put `where` in front of an error's message."""
    try:
        yield
    except ParkfError as error:
        raise ParkfError(f"{where}: {error}") from error


def readable_registry() -> Registry:
    """Return the registry to read from: ``params/`` of this folder, or else that of the installation."""
    return Registry(FOLDER if FOLDER.is_dir() else SHIPPED)


def state_of(path: Path, manifest: Manifest) -> tuple[str, str | None]:
    """Return the state of the set in a folder, and the reason where it is withdrawn."""
    published = manifest.state == "published"
    withdrawal = Registry(path.parent).withdrawal(path.name) if published else None
    return (manifest.state, None) if withdrawal is None else ("withdrawn", withdrawal.reason)
