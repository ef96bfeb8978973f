"""The registry: a folder with one folder for each published set, which is never changed again.

A set is prepared under a hidden name and renamed when it is whole, so that readers see all of it or nothing,
also when the publisher is killed. A lock lets one publisher work at a time. On a file system that ignores the
lock, the rename of the second publisher fails, because a published folder is not empty.

States: *open* (just made), *validated* (meets its gates), *published* (in a registry), *withdrawn*
(published, with the reason in the log or in a file ``withdrawn.json``; readable, so that old results can be
repeated).

A signed registry has a log (:mod:`parkf.params.log`). Whoever publishes or withdraws signs a new entry of it.
If a publisher is killed between a set and its entry, the next one finds the signed entry and finishes it.
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

from pydantic import Field

import parkf._fitter as _fitter
from parkf.io.errors import ParkfError
from parkf.io.files import copy, existing, read_json, write_json
from parkf.io.option_types import FormsName
from parkf.io.process_settings import environment
from parkf.model.layout.built import layout_files, layout_in
from parkf.params.crate import write_crate
from parkf.params.log import LOG, VERSION, Log, is_signed, read_interrupted, read_log
from parkf.params.manifest import Gate, Manifest, Strict, Validity, read_manifest
from parkf.params.parameter_set import MANIFEST_FILE, ParameterSet, load
from parkf.params.schema import first_problem, read_document
from parkf.params.signing import handed_over, install, key_name, published, sign_again, stage, withdrawn
from parkf.params.superseding import differences
from parkf.params.validity import Interval, Moment, Series

WITHDRAWN_FILE = "withdrawn.json"
# The registry of a project, and that of the installation.
FOLDER = Path("params")
SHIPPED = Path(_fitter.__file__).parent / "params"
_STAGING = ".publishing-"


class Withdrawal(Strict):
    """Why a published set must not be used any more."""

    reason: str = Field(description="What is wrong with the set.")
    time: str = Field(description="When it was withdrawn, UTC.")


class Registry:
    """Published sets in a folder. The first publication makes the folder."""

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

    def withdrawal(self, version: str) -> Withdrawal | None:
        """Return why a set was withdrawn, or None; a broken log or ``withdrawn.json`` raises a ParkfError."""
        if (log := self.log()) is not None:
            entry = log.withdrawn.get(version)
            return None if entry is None else Withdrawal(reason=str(entry.reason), time=entry.time)
        path = self.path(version) / WITHDRAWN_FILE
        if not path.exists():
            return None
        content = read_document(path)
        if problem := first_problem(Withdrawal.model_json_schema(), content):
            raise ParkfError(f"{path}: {problem}")
        return Withdrawal.model_validate(content)

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
            left = []
            for version in self.versions():
                manifest, withdrawal = self.load(version).manifest, self.withdrawal(version)
                if withdrawal is not None:
                    left.append(self.path(version) / WITHDRAWN_FILE)
                    events.append(withdrawn(version, withdrawal.reason, withdrawal.time))
                place, layout = self.path(version), manifest.layout_version
                events.append(published(self.folder, version, place, layout, manifest.created or _now()))
            if not events:
                raise ParkfError(f"{self.folder}: no published sets; publish the first one with the key")
            # Publications come first, because a withdrawal needs its publication, whatever the clocks were.
            events.sort(key=lambda event: (event["kind"], event["time"], event["set"]))
            stage(Log(self.folder, (), ()), events, key, Path(staging))
            install(Path(staging), self.folder)
            # From here on, withdrawals are in the log alone.
            for path in left:
                path.unlink()

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

    def replaced(self, manifest: Manifest) -> dict[str, list[str]]:
        """Return the sets that a new one would replace, each with what the new one has less or other."""
        series = self.series(detector=manifest.detector, forms=manifest.forms)
        kind = manifest.detector, manifest.forms
        held = series[kind].holding(Interval.of(manifest.validity)) if kind in series else []
        return {
            version: differences(manifest, read_manifest(self.path(version) / MANIFEST_FILE))
            for version in held
        }

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
            for left in self.folder.glob(f"{_STAGING}*"):
                shutil.rmtree(left, ignore_errors=True)
            yield finished


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


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _sync(path: Path) -> None:
    """Wait until a file, or the list of files in a folder, is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
