"""The registry: a folder with one folder for each published set, which is never changed again, and an index.

States: *open* (just made), *validated* (meets its gates), *published* (in a registry), *withdrawn*
(published, with the reason in the index; readable if one asks for it, so that old results can be repeated).

:mod:`parkf.params.index` lists what is published, and :mod:`parkf.params.publisher` writes sets and index.
A version is looked up in ``params/`` of the working folder, and then in the installation's registry. Two
different sets under one version are an error.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from parkf.io.errors import ParkfError
from parkf.io.files import existing
from parkf.io.option_types import FormsName
from parkf.params import claims
from parkf.params.binary_form import MANIFEST_FILE
from parkf.params.index import VERSION, Entry, Index, read_index
from parkf.params.manifest import Manifest, read_manifest
from parkf.params.parameter_set import ParameterSet, load
from parkf.params.superseding import differences
from parkf.params.validity import Interval, Moment, Series


class Registry:
    """Published sets in a folder; versions that it lacks are looked up in the folder `after`, if given."""

    def __init__(self, folder: Path, after: Path | None = None) -> None:
        self.folder = folder
        self.layouts = folder / "layouts"  # its sets' layouts, with their formulas
        self._places = (folder,) if after is None else (folder, after)

    def index(self) -> Index:
        """Read what the registry lists; a broken or missing index raises a ParkfError."""
        return read_index(self.folder)

    def versions(self) -> list[str]:
        """List the published sets, oldest first within a year and detector."""
        return sorted(self.index().sets)

    def names(self) -> list[str]:
        """List all versions that can be looked up."""
        return sorted({name for place in self._places for name in read_index(place).sets})

    def valid(self, *, detector: str | None = None, forms: FormsName | None = None) -> dict[str, Entry]:
        """Return the sets that are not withdrawn, or only those of `detector` and `forms`, in their order."""
        return {
            version: entry
            for version, entry in sorted(self.index().sets.items())
            if entry.withdrawn is None and detector in (None, entry.detector) and forms in (None, entry.forms)
        }

    def path(self, version: str) -> Path:
        """Return the folder of a published set.

        A ParkfError reports an invalid or unknown name, and two different sets of this name.
        """
        if not VERSION.fullmatch(version):
            raise ParkfError(
                f"{self.folder}: version {version!r:.60}, expected a name such as 2026-run3-r001;"
                " list them with `parkf params list`"
            )
        path = claims.find_listed(version, self._places)
        if path is None:
            known = ", ".join(self.names()) or "none"
            raise ParkfError(
                f"{self.folder}: no version {version}; there are: {known}; name one of them, or its folder"
            )
        if not path.is_dir():
            raise ParkfError(f"{path}: missing; the index lists it: get it again from another copy")
        return path

    def find(self, name: str) -> Path:
        """Return the folder of a set, from its version or from a path; without a set, raise a ParkfError.

        A version is looked up, even where a folder of this name lies in the working folder.
        """
        path = Path(name)
        if path.is_file():
            raise ParkfError(f"{name}: a file, expected a version or the folder of a set; name that first")
        if not VERSION.fullmatch(name) and ("/" in name or (path / MANIFEST_FILE).is_file()):
            existing(path / MANIFEST_FILE)
            return path
        return self.path(name)

    def load(self, version: str, *, sha256: str | None = None, withdrawn: bool = False) -> ParameterSet:
        """Read a published set, as :func:`parkf.params.parameter_set.load` does."""
        return load(self.path(version), sha256=sha256, withdrawn=withdrawn)

    def newest_alike(self, manifest: Manifest, apart_from: Path | None = None) -> str | None:
        """Name the newest set of the same detector and forms, not withdrawn, and not in a certain folder."""
        itself = None if apart_from is None else apart_from.absolute()
        found = self.valid(detector=manifest.detector, forms=manifest.forms)
        return next((one for one in reversed(found) if (self.folder / one).absolute() != itself), None)

    def same_numbers(self, manifest: Manifest) -> str | None:
        """Name the published set, withdrawn or not, that has the numbers of another one."""
        ours = {"constant.f32": manifest.blobs.constant.sha256, "global.f32": manifest.blobs.table.sha256}
        for version, entry in self.index().sets.items():
            if ours.items() <= entry.files.items():
                other = read_manifest(self.folder / version / MANIFEST_FILE)
                if other.constants == manifest.constants:
                    return version
        return None

    def series(
        self, *, detector: str | None = None, forms: FormsName | None = None
    ) -> dict[tuple[str, FormsName], Series]:
        """Sort the sets, or only those of `detector` and `forms`, into series by detector and forms.

        An index that cannot be read or has no valid interval, and a series with limits of two kinds, raise a
        ParkfError.
        """
        intervals: dict[tuple[str, FormsName], dict[str, Interval]] = {}
        supersedes = {version: entry.supersedes for version, entry in self.index().sets.items()}
        for version, entry in self.valid(detector=detector, forms=forms).items():
            with _naming(str(self.folder / version)):
                interval = Interval.of(entry.validity)
            intervals.setdefault((entry.detector, entry.forms), {})[version] = interval
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

    def replaced(self, manifest: Manifest) -> dict[str, list[str]]:
        """Return the sets that a new one would replace, each with what the new one has less or other."""
        series = self.series(detector=manifest.detector, forms=manifest.forms)
        kind = manifest.detector, manifest.forms
        held = series[kind].holding(Interval.of(manifest.validity)) if kind in series else []
        return {
            version: differences(manifest, read_manifest(self.folder / version / MANIFEST_FILE))
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
    """Return the registry to read from: ``params/`` of this folder, then that of the installation."""
    if claims.FOLDER.is_dir():
        return Registry(claims.FOLDER, claims.SHIPPED)
    return Registry(claims.SHIPPED)
