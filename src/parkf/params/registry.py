"""The registry: a folder with one folder for each published set, which is never changed again.

A set is prepared under a hidden name and renamed when it is whole, so that readers see all of it or nothing,
also when the publisher is killed. A lock lets one publisher work at a time. On a file system that ignores the
lock, the rename of the second publisher fails, because a published folder is not empty.

States: *open* (just made), *validated* (meets its gates), *published* (in a registry), *withdrawn*
(published, with the reason in a file ``withdrawn.json``; readable, so that old results can be repeated).
"""

import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

import parkf._fitter as _fitter
from parkf.io.errors import ParkfError
from parkf.io.files import copy, existing, read_json, write_json
from parkf.io.fingerprints.environment import environment
from parkf.model.layout.built import layout_files, layout_in
from parkf.params.manifest import Gate, Manifest, Validity, read_manifest
from parkf.params.parameter_set import MANIFEST_FILE, ParameterSet, load
from parkf.params.schema import first_problem, read_document
from parkf.params.validity import Interval, Series

WITHDRAWN_FILE = "withdrawn.json"
# The registry of a project, and that of the installation.
FOLDER = Path("params")
SHIPPED = Path(_fitter.__file__).parent / "params"
_NAME = re.compile(r"(?P<year>[0-9]{4})-(?P<detector>[a-z0-9][a-z0-9-]{0,40})-r(?P<revision>[0-9]{3})")
_STAGING = ".publishing-"


class Withdrawal(BaseModel):
    """Why a published set must not be used any more."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    reason: str = Field(description="What is wrong with the set.")
    time: str = Field(description="When it was withdrawn, UTC.")


class Registry:
    """Published sets in a folder, which the first publication makes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def versions(self) -> list[str]:
        """List the published sets, oldest first within a year and detector."""
        if not self.folder.is_dir():
            return []
        return sorted(p.name for p in self.folder.iterdir() if _NAME.fullmatch(p.name) and p.is_dir())

    def path(self, version: str) -> Path:
        """Return the folder of a published set.

        Raises
        ------
        ParkfError
            When the name is not that of a version, or there is no such set.
        """
        if not _NAME.fullmatch(version):
            raise ParkfError(
                f"{self.folder}: version {version!r:.60}, expected a name such as 2026-run3-r001"
            )
        path = self.folder / version
        if not path.is_dir():
            known = ", ".join(self.versions()) or "none"
            raise ParkfError(f"{self.folder}: no version {version}; there are: {known}")
        return path

    def find(self, name: str) -> Path:
        """Return the folder of a set, from its version or from a path with a slash or a manifest.

        Raises
        ------
        ParkfError
            When there is no such set.
        """
        path = Path(name)
        if path.is_file():
            raise ParkfError(f"{name}: a file, expected a version or the folder of a set")
        if "/" in name or (path / MANIFEST_FILE).is_file():
            existing(path / MANIFEST_FILE)
            return path
        return self.path(name)

    def load(self, version: str) -> ParameterSet:
        """Read a published set.

        Raises
        ------
        ParkfError
            When it is not whole, or its manifest has another version or state.
        """
        path = self.path(version)
        loaded = load(path)
        if loaded.manifest.version != version or loaded.manifest.state != "published":
            got = f"{loaded.manifest.state} version {loaded.manifest.version}"
            raise ParkfError(f"{path / MANIFEST_FILE}: {got}, expected published version {version}")
        return loaded

    @property
    def layouts(self) -> Path:
        """Folder of the layouts of its sets, with their formulas."""
        return self.folder / "layouts"

    def publish(
        self, parameters: Path, *, year: int, gates: Sequence[Gate], validity: Validity | None = None
    ) -> str:
        """Publish a set under the next free name.

        Parameters
        ----------
        parameters : Path
            Folder of the set.
        year : int
            Year of the data.
        gates : sequence of Gate
            Results of all gates, which must be met.
        validity : Validity, optional
            Data that it is for; that of its manifest by default.

        Returns
        -------
        str
            Its version.

        Raises
        ------
        ParkfError
            When the set is not whole, misses a gate or is published already; when its layout was published
            with other formulas; when its validity is wrong or has limits of another kind than the other sets
            of its detector; when another publisher is at work.
        """
        loaded = load(parameters)
        missed = [f"{g.what}: {g.measured} (bar {g.bar})" for g in gates if not g.met]
        if missed or not gates:
            which = "; ".join(missed) or "none measured"
            raise ParkfError(f"{parameters}: not published, gates missed: {which}")
        with self._alone():
            update = {"gates": list(gates), "validity": validity or loaded.manifest.validity}
            manifest = self._published(parameters, loaded.manifest.model_copy(update=update), year)
            published = replace(loaded, manifest=manifest)
            assert manifest.version is not None
            self._put(published, manifest.version)
            return manifest.version

    def withdraw(self, version: str, reason: str) -> None:
        """Mark a published set as one that must not be used any more; its files stay.

        Raises
        ------
        ParkfError
            When there is no such set, no reason, it is withdrawn already, or a publisher is at work.
        """
        target = self.path(version) / WITHDRAWN_FILE
        if not reason.strip():
            raise ParkfError(f"{target}: no reason; say what is wrong with the set")
        with self._alone(), tempfile.TemporaryDirectory(prefix=_STAGING, dir=self.folder) as staging:
            path = Path(staging) / WITHDRAWN_FILE
            write_json(path, Withdrawal(reason=reason.strip(), time=_now()).model_dump())
            _sync(path)
            try:
                os.link(path, target)
            except FileExistsError as error:
                raise ParkfError(f"{target}: {version} is withdrawn already") from error
            _sync(target.parent)

    def withdrawal(self, version: str) -> Withdrawal | None:
        """Return why a set was withdrawn, or None.

        Raises
        ------
        ParkfError
            When ``withdrawn.json`` is broken.
        """
        path = self.path(version) / WITHDRAWN_FILE
        if not path.exists():
            return None
        content = read_document(path)
        problem = first_problem(Withdrawal.model_json_schema(), content)
        if problem is not None:
            raise ParkfError(f"{path}: {problem}")
        return Withdrawal.model_validate(content)

    def _published(self, parameters: Path, manifest: Manifest, year: int) -> Manifest:
        """Return the manifest with a name that follows those before; needs the lock."""
        revision, supersedes = 0, None
        intervals = {}
        for version in self.versions():
            other = read_manifest(self.path(version) / MANIFEST_FILE)
            if other.blobs == manifest.blobs and other.constants == manifest.constants:
                raise ParkfError(f"{parameters}: the same numbers are published already, as {version}")
            found = _NAME.fullmatch(version)
            assert found is not None
            if found["detector"] != manifest.detector:
                continue
            # A set of other forms is not superseded: a fitter cannot use the set of another layout.
            if other.forms == manifest.forms and self.withdrawal(version) is None:
                supersedes = version
                intervals[version] = Interval.of(other.validity)
            if int(found["year"]) == year:
                revision = max(revision, int(found["revision"]))
        name = f"{year:04}-{manifest.detector}-r{revision + 1:03}"
        if not _NAME.fullmatch(name):
            raise ParkfError(
                f"{parameters}: year {year}, detector '{manifest.detector}', revision {revision + 1} make no "
                "version; expected a name such as 2026-run3-r001"
            )
        # Refuse limits in both units, which would leave it unclear which set to use.
        Series(intervals | {name: Interval.of(manifest.validity)}, {})
        update = {"version": name, "state": "published", "supersedes": supersedes, "created": _now()}
        return manifest.model_copy(update=update | {"environment": environment()})

    def _freeze(self, manifest: Manifest) -> None:
        """Keep the formulas of a layout with its first publication."""
        path = self.layouts / f"{manifest.layout_version}.json"
        if path.exists():
            if layout_in(read_json(path)).formulas != manifest.formulas:
                raise ParkfError(
                    f"{path}: layout {manifest.layout_version} is published, with other formulas than this "
                    "set's; give these a version of their own, and train again"
                )
            return
        for own in layout_files(manifest.forms):
            if layout_in(read_json(own)).formulas == manifest.formulas:
                copy(own, path)
                return
        raise ParkfError(
            f"parameter set: made for formulas {manifest.formulas[:12]}…, which the installed kernel lacks"
        )

    def _put(self, parameters: ParameterSet, version: str) -> None:
        staging = Path(tempfile.mkdtemp(prefix=_STAGING, dir=self.folder))
        try:
            parameters.save(staging)
            for path in sorted(staging.iterdir()):
                path.chmod(0o444)
                _sync(path)
            staging.chmod(0o755)
            _sync(staging)
            load(staging)
            self._freeze(parameters.manifest)
            try:
                staging.rename(self.folder / version)
            except OSError as error:
                raise ParkfError(f"{self.folder}: {version} was published meanwhile; try again") from error
            _sync(self.folder)
        finally:
            shutil.rmtree(staging, ignore_errors=True)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold the lock of publishers, and remove what killed ones left."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / ".lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise ParkfError(f"{self.folder}: another publisher is at work; try again") from error
            for left in self.folder.glob(f"{_STAGING}*"):
                shutil.rmtree(left, ignore_errors=True)
            yield


def readable_registry() -> Registry:
    """Return the registry to read from: ``params/`` of this folder, or else that of the installation."""
    return Registry(FOLDER if FOLDER.is_dir() else SHIPPED)


def state_of(path: Path, manifest: Manifest) -> tuple[str, str | None]:
    """Return the state of the set in a folder, and the reason where it is withdrawn."""
    published = manifest.state == "published"
    withdrawal = Registry(path.parent).withdrawal(path.name) if published else None
    return (manifest.state, None) if withdrawal is None else ("withdrawn", withdrawal.reason)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _sync(path: Path) -> None:
    """Wait until the disk has a file, or the names of the files in a folder."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
