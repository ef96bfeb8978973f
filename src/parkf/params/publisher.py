"""Publishing: sets and withdrawals are written into a registry, one publisher at a time.

A set is prepared under a hidden name and renamed when it is whole; then the index is renamed, which lists it.
Readers go by the index, so they see all of a set or nothing, also when the publisher is killed. A lock lets
one publisher work at a time. On a file system that ignores the lock, the rename of the second publisher
fails, because a published folder is not empty.

If a publisher is killed between a set and its entry, the next one finds the index that it left and finishes.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from parkf.io.errors import ParkfError
from parkf.io.files import copy, read_json, sha256
from parkf.io.process_settings import environment
from parkf.model.layout.built import layout_files, layout_in
from parkf.params import claims
from parkf.params.index import (
    INDEX_FILE,
    VERSION,
    Entry,
    Index,
    Withdrawal,
    index_bytes,
    parse_index,
    read_index,
    write_index,
)
from parkf.params.manifest import Gate, Manifest, Validity
from parkf.params.parameter_set import ParameterSet, load, read_files
from parkf.params.registry import Registry
from parkf.params.set_folder import SetFolder
from parkf.params.validity import Interval

_STAGING = ".publishing-"  # how names of folders of unfinished work begin


class Publisher(Registry):
    """A registry that can be written. The first publication makes its folder."""

    def publish(
        self,
        parameters: Path,
        *,
        year: int,
        gates: Sequence[Gate],
        validity: Validity | None = None,
        supersede: Collection[str] = (),
    ) -> str:
        """Publish the set in a folder under the next free name of its year of data, and return this version.

        `gates` are the results of all gates, which must be met. `validity`, the data that the set is for, is
        that of its manifest by default. `supersede` names sets that it replaces although it has fewer
        statistics or another detector.

        A ParkfError reports a set that is not whole, misses a gate or is published already; a layout that was
        published with other formulas; a validity that is wrong, or whose limits are of another kind than
        those of the detector's other sets; a set that would be replaced and is not named; and another
        publisher at work.
        """
        loaded = load(parameters)
        missed = [f"  {one}" for one in gates if not one.met]
        if missed or not gates:
            raise ParkfError(
                "\n".join([f"{parameters}: not published, gates missed:", *(missed or ["  none measured"])])
            )
        with self._alone() as staging:
            update = {"gates": list(gates), "validity": validity or loaded.manifest.validity}
            manifest = self._published(parameters, loaded.manifest.model_copy(update=update), year)
            self._guard(parameters, manifest, supersede)
            assert manifest.version is not None
            self._put(replace(loaded, manifest=manifest), manifest.version, staging)
            return manifest.version

    def withdraw(self, version: str, reason: str) -> None:
        """Mark a set as withdrawn, for good; its files stay.

        An empty reason, an unknown version or a repetition raises a ParkfError.
        """
        if not reason.strip():
            raise ParkfError(f"{self.folder / version}: no reason; say what is wrong with the set")
        with self._alone() as staging:
            before = index_bytes(self.folder)
            index = parse_index(self.folder, before)
            if version not in index.sets:
                raise ParkfError(
                    f"{self.folder}: no version {version} in its index; list them with `parkf params list`"
                )
            withdrawal = Withdrawal(reason=reason.strip(), time=_now())
            write_index(staging, index.with_withdrawal(version, withdrawal))
            self._install(staging, before)

    def _published(self, parameters: Path, manifest: Manifest, year: int) -> Manifest:
        """Return the manifest with the next free name; the caller must hold the lock."""
        if (same := self.same_numbers(manifest)) is not None:
            raise ParkfError(f"{parameters}: the same numbers are published already, as {same}")
        # A set of the installation keeps its name, and a folder that the index does not list.
        taken = {path.name for path in self.folder.iterdir()}
        taken |= {*self.versions(), *read_index(claims.SHIPPED).sets}
        begin = f"{year:04}-{manifest.detector}-r"
        numbers = [int(one[-3:]) for one in taken if VERSION.fullmatch(one) and one[:-3] == begin]
        revision = max(numbers, default=0)
        name = f"{begin}{revision + 1:03}"
        if not VERSION.fullmatch(name):
            raise ParkfError(
                f"{parameters}: year {year}, detector '{manifest.detector}', revision {revision + 1} make no "
                "version; expected a name such as 2026-run3-r001"
            )
        # A set of other forms is not superseded: a fitter cannot use the set of another layout.
        update = {"version": name, "state": "published", "supersedes": self.newest_alike(manifest)}
        return manifest.model_copy(update=update | {"created": _now(), "environment": environment()})

    def _guard(self, parameters: Path, manifest: Manifest, named: Collection[str]) -> None:
        """Refuse a set that would replace others, on less or for another detector, unless they are named."""
        interval = Interval.of(manifest.validity)
        held = self.replaced(manifest)
        for version in sorted(set(named) - set(held)):
            raise ParkfError(
                f"--supersede {version}: the new set would not replace it; it would replace:"
                f" {', '.join(held) or 'none'}"
            )
        reasons = [
            f"{version}, with {', '.join(found)}"
            for version, found in held.items()
            if found and version not in named
        ]
        if reasons:
            lines = [
                f"{parameters}: not published: for {interval} it would replace",
                *(f"  {reason}" for reason in reasons),
                "publish it for other data (--first-run), in a registry of its own (--registry), or name"
                " what it replaces (--supersede)",
            ]
            raise ParkfError("\n".join(lines))

    def _freeze(self, manifest: Manifest) -> None:
        """Store the formulas of a layout when its first set is published."""
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

    def _put(self, parameters: ParameterSet, version: str, staging: Path) -> None:
        before, folder = index_bytes(self.folder), staging / version
        folder.mkdir()
        parameters.write(folder, parameters.manifest)
        for path in sorted(folder.iterdir()):
            path.chmod(0o444)
            _sync(path)
        _sync(folder)
        self._freeze(parameters.manifest)
        index = parse_index(self.folder, before)
        write_index(staging, index.with_set(version, *self._entry(folder)))
        try:
            folder.rename(self.folder / version)
        except OSError as error:
            raise ParkfError(f"{self.folder}: {version} was published meanwhile; try again") from error
        try:
            self._install(staging, before)
        except ParkfError:
            (self.folder / version).rename(folder)
            raise

    def _entry(self, folder: Path) -> tuple[Entry, tuple[str, str]]:
        """Describe the whole set in a folder, and its layout, for the index."""
        with SetFolder(folder, links=False) as files:
            loaded = read_files(files)
        manifest, layout = loaded.manifest, str(loaded.manifest.layout_version)
        about = {name: getattr(manifest, name) for name in ("detector", "forms", "validity", "supersedes")}
        entry = Entry(
            sha256=str(loaded.sha256),
            files={path.name: sha256(path) for path in folder.iterdir()},
            published=manifest.created or _now(),
            withdrawn=None,
            **about,
        )
        return entry, (layout, sha256(self.layouts / f"{layout}.json"))

    def _install(self, staging: Path, before: bytes | None) -> None:
        """Replace the registry's index by a staged one, unless it is not the one `before` any more."""
        path = self.folder / INDEX_FILE
        if (path.read_bytes() if path.exists() else None) != before:
            raise ParkfError(f"{path}: was written meanwhile; try again")
        (staging / INDEX_FILE).replace(path)
        _sync(self.folder)

    def _finish(self) -> None:
        """Finish the work of killed publishers, and remove what is left of it; the caller must hold the lock.

        A publisher that was killed between set and entry left its index, and the set in its place.
        """
        for left in sorted(self.folder.glob(f"{_STAGING}*")):
            with suppress(ParkfError, OSError):
                now, after = read_index(self.folder).sets, read_index(left).sets
                new = {
                    version: self._entry(self.folder / version)[0] for version in after.keys() - now.keys()
                }
                if new and now | new == after:
                    (left / INDEX_FILE).replace(self.folder / INDEX_FILE)
            shutil.rmtree(left, ignore_errors=True)

    @contextmanager
    def _alone(self) -> Iterator[Path]:
        """Hold the publishers' lock, and yield a folder for unfinished work, which is removed at the end.

        Before that, what killed publishers left behind is finished or removed.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / ".lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise ParkfError(f"{self.folder}: another publisher is at work; try again") from error
            if not index_bytes(self.folder):
                # Otherwise, a reader could find the first set without an index.
                write_index(self.folder, Index())
            self._finish()
            staging = Path(tempfile.mkdtemp(prefix=_STAGING, dir=self.folder))
            try:
                yield staging
            finally:
                shutil.rmtree(staging, ignore_errors=True)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _sync(path: Path) -> None:
    """Wait until a file, or the list of files in a folder, is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
