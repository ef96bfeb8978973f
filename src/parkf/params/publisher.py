"""Publishing: sets, withdrawals and signatures are written into a registry, one publisher at a time.

A set is prepared under a hidden name and renamed when it is whole, so that readers see all of it or nothing,
also when the publisher is killed. A lock lets one publisher work at a time. On a file system that ignores the
lock, the rename of the second publisher fails, because a published folder is not empty.

Whoever publishes in a signed registry, or withdraws from it, signs a new entry of its log
(:mod:`parkf.params.log`). If a publisher is killed between a set and its entry, the next one finds the signed
entry and finishes it.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from parkf.io.errors import ParkfError
from parkf.io.files import copy, read_json, write_json
from parkf.io.process_settings import environment
from parkf.model.layout.built import layout_files, layout_in
from parkf.params.crate import write_crate
from parkf.params.log import LOG, VERSION, Log, read_interrupted
from parkf.params.manifest import Gate, Manifest, Validity, read_manifest
from parkf.params.parameter_set import MANIFEST_FILE, ParameterSet, load
from parkf.params.registry import WITHDRAWN_FILE, Registry, Withdrawal
from parkf.params.signing import handed_over, install, key_name, published, sign_again, stage, withdrawn
from parkf.params.validity import Interval, Series

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
        key: Path | None = None,
    ) -> str:
        """Publish the set in a folder under the next free name of its year of data, and return this version.

        `gates` are the results of all gates, which must be met. `validity`, the data that the set is for, is
        that of its manifest by default. `supersede` names sets that it replaces although it has fewer
        statistics or another detector. `key` signs the log; a registry without sets then gets a log.

        A ParkfError reports a set that is not whole, misses a gate or is published already; a layout that was
        published with other formulas; a validity that is wrong, or whose limits are of another kind than
        those of the detector's other sets; a set that would be replaced and is not named; a missing or wrong
        key; and another publisher at work.
        """
        loaded = load(parameters)
        missed = [f"{g.what}: {g.measured} (bar {g.bar})" for g in gates if not g.met]
        if missed or not gates:
            which = "; ".join(missed) or "none measured"
            raise ParkfError(f"{parameters}: not published, gates missed: {which}")
        with self._alone():
            log = self._log_for(key)
            update = {"gates": list(gates), "validity": validity or loaded.manifest.validity}
            manifest = self._published(parameters, loaded.manifest.model_copy(update=update), year)
            self._guard(parameters, manifest, supersede)
            assert manifest.version is not None
            self._put(replace(loaded, manifest=manifest), manifest.version, log, key)
            return manifest.version

    def withdraw(self, version: str, reason: str, key: Path | None = None) -> None:
        """Mark a set as withdrawn; its files stay.

        An empty reason, a repetition, or a missing or wrong key of a signed registry raises a ParkfError.
        """
        target = self.path(version) / WITHDRAWN_FILE
        if not reason.strip():
            raise ParkfError(f"{target}: no reason; say what is wrong with the set")
        with self._alone(), tempfile.TemporaryDirectory(prefix=_STAGING, dir=self.folder) as staging:
            if (log := self._log_for(key)) is not None and key is not None:
                if version in log.withdrawn:
                    raise ParkfError(f"{target.parent}: {version} is withdrawn already")
                stage(log, [withdrawn(version, reason.strip(), _now())], key, Path(staging))
                install(Path(staging), self.folder)
                return
            path = Path(staging) / WITHDRAWN_FILE
            write_json(path, Withdrawal(reason=reason.strip(), time=_now()).model_dump())
            _sync(path)
            try:
                os.link(path, target)
            except FileExistsError as error:
                raise ParkfError(f"{target}: {version} is withdrawn already") from error
            _sync(target.parent)

    def sign(self, key: Path) -> None:
        """Sign the newest entry of the log anew, with another key that the registry names.

        Without a log, make one with all publications and withdrawals. A set that is not whole, and a key that
        cannot be used, raise a ParkfError.
        """
        with self._alone(), tempfile.TemporaryDirectory(prefix=_STAGING, dir=self.folder) as staging:
            if (log := self.log()) is not None:
                sign_again(log, key, Path(staging))
                return
            events: list[dict[str, Any]] = []
            for version in self.versions():
                manifest, withdrawal = self.load(version).manifest, self.withdrawal(version)
                if withdrawal is not None:
                    events.append(withdrawn(version, withdrawal.reason, withdrawal.time))
                place, layout = self.path(version), manifest.layout_version
                events.append(published(self.folder, version, place, layout, manifest.created or _now()))
            if not events:
                raise ParkfError(f"{self.folder}: no published sets; publish the first one with the key")
            # Publications come first, because a withdrawal needs its publication, whatever the clocks were.
            events.sort(key=lambda event: (event["kind"], event["time"], event["set"]))
            stage(Log(self.folder, (), ()), events, key, Path(staging))
            install(Path(staging), self.folder)
            self._forget()

    def hand_over(self, keys: Sequence[Path], key: Path) -> None:
        """Let only other keys sign from now on; `key`, which signs today, signs this.

        A registry that is not signed, and a key that is missing or wrong, raise a ParkfError.
        """
        with self._alone(), tempfile.TemporaryDirectory(prefix=_STAGING, dir=self.folder) as staging:
            if (log := self.log()) is None:
                raise ParkfError(
                    f"{self.folder}: the registry is not signed; `parkf params sign` makes its log"
                )
            stage(log, [handed_over(keys, _now())], key, Path(staging))
            install(Path(staging), self.folder)

    def is_interrupted(self) -> bool:
        """Whether a publisher left signed entries behind, or is at work."""
        return any(self.folder.glob(f"{_STAGING}*/{LOG}"))

    def repair(self) -> list[str]:
        """Finish what killed publishers left unfinished, and return the versions of the sets.

        A set is finished only if the publisher left a signed entry for it, with the checksums of its files.
        """
        with self._alone() as finished:
            return finished

    def _finish(self) -> list[str]:
        """Move the signed entries of killed publishers into the log; the caller must hold the lock."""
        finished: list[str] = []
        for left in sorted(self.folder.glob(f"{_STAGING}*/{LOG}")):
            if (log := read_interrupted(self.folder, left.parent)) is not None:
                there = {path.name for path in (self.folder / LOG).glob("*")}
                install(left.parent, self.folder)
                new = [entry for entry in log.entries if f"{entry.number:04}" not in there]
                finished += [entry.set for entry in new if entry.kind == "published" and entry.set]
        return finished

    def _forget(self) -> None:
        """Remove the files of withdrawals that the log has; the caller must hold the lock."""
        left = list(self.folder.glob(f"*/{WITHDRAWN_FILE}"))
        if left and (log := self.log()) is not None:
            for path in left:
                if path.parent.name in log.withdrawn:
                    path.unlink()

    def _log_for(self, key: Path | None) -> Log | None:
        """Return the log to extend, or None; refuse a key where none is needed, and none where one is."""
        log = self.log()
        if log is not None and key is None:
            raise ParkfError(f"{self.folder}: the registry is signed; name a key with --key")
        if log is None and key is not None:
            if self.versions():
                raise ParkfError(
                    f"{self.folder}: the registry is not signed; `parkf params sign` makes its log"
                )
            return Log(self.folder, (), ())
        return log

    def _published(self, parameters: Path, manifest: Manifest, year: int) -> Manifest:
        """Return the manifest with the next free name; the caller must hold the lock."""
        revision, intervals = 0, {}
        for version in self.versions():
            other = read_manifest(self.path(version) / MANIFEST_FILE)
            if other.blobs == manifest.blobs and other.constants == manifest.constants:
                raise ParkfError(f"{parameters}: the same numbers are published already, as {version}")
            found = VERSION.fullmatch(version)
            assert found is not None
            if found["detector"] != manifest.detector:
                continue
            # A set of other forms is not superseded: a fitter cannot use the set of another layout.
            if other.forms == manifest.forms and self.withdrawal(version) is None:
                intervals[version] = Interval.of(other.validity)
            if int(found["year"]) == year:
                revision = max(revision, int(found["revision"]))
        name = f"{year:04}-{manifest.detector}-r{revision + 1:03}"
        if not VERSION.fullmatch(name):
            raise ParkfError(
                f"{parameters}: year {year}, detector '{manifest.detector}', revision {revision + 1} make no "
                "version; expected a name such as 2026-run3-r001"
            )
        # Refuse limits in both units, which would leave it unclear which set to use.
        Series(intervals | {name: Interval.of(manifest.validity)}, {})
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
            raise ParkfError(
                f"{parameters}: not published: for {interval} it would replace {'; and '.join(reasons)}."
                " Publish it for other data (--first-run), in a registry of its own (--registry), or name"
                " what it replaces (--supersede)"
            )

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

    def _put(self, parameters: ParameterSet, version: str, log: Log | None, key: Path | None) -> None:
        staging, entries = (Path(tempfile.mkdtemp(prefix=_STAGING, dir=self.folder)) for _ in range(2))
        try:
            parameters.save(staging)
            load(staging)
            write_crate(staging, parameters.manifest, None if key is None else key_name(key))
            for path in sorted(staging.iterdir()):
                path.chmod(0o444)
                _sync(path)
            staging.chmod(0o755)
            _sync(staging)
            self._freeze(parameters.manifest)
            if log is not None and key is not None:
                layout = parameters.manifest.layout_version
                stage(log, [published(self.folder, version, staging, layout, _now())], key, entries)
            try:
                staging.rename(self.folder / version)
            except OSError as error:
                raise ParkfError(f"{self.folder}: {version} was published meanwhile; try again") from error
            if log is not None:
                install(entries, self.folder)
            _sync(self.folder)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
            shutil.rmtree(entries, ignore_errors=True)

    @contextmanager
    def _alone(self) -> Iterator[list[str]]:
        """Hold the publishers' lock; finish or remove what killed publishers left behind.

        Yields the versions of the sets that were finished.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / ".lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise ParkfError(f"{self.folder}: another publisher is at work; try again") from error
            finished = self._finish()
            self._forget()
            for left in self.folder.glob(f"{_STAGING}*"):
                shutil.rmtree(left, ignore_errors=True)
            yield finished


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _sync(path: Path) -> None:
    """Wait until a file, or the list of files in a folder, is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
