"""The log of a signed registry: what was published and withdrawn, in entries that are never changed again.

Entry 7 is ``log/0007/entry.json``, with an SSH signature beside it. Every entry holds the SHA-256 of the one
before, so the signature of the newest is that of the whole log. Sets of a signed registry are read only if
they are what the log lists.

The keys, ``allowed_signers``, can be replaced together with everything else. A reader can keep a copy of the
registry's log and keys, and name its folder in ``PARKF_TRUST``: then replaced keys and an older log are
refused, too.
"""

import os
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from parkf.io.documents.models import Strict, load_document
from parkf.io.errors import ParkfError
from parkf.io.files import sha256
from parkf.io.ssh_signatures import check, keys_in, signers
from parkf.params.manifest import Sha256, Time, Version

LOG, ENTRY_FILE, SIGNERS_FILE = "log", "entry.json", "allowed_signers"
PURPOSE = "parkf-registry"
TRUST = "PARKF_TRUST"
"""Environment variable: a folder with a copy of a registry's log and keys, which readers trust."""
VERSION = re.compile(r"(?P<year>[0-9]{4})-(?P<detector>[a-z0-9][a-z0-9-]{0,40})-r(?P<revision>[0-9]{3})")
NONE = "0" * 64
_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,40}")
# The folder of a set appears just before its entry. A reader in between looks again after this time.
_PAUSE = 0.2


class Entry(Strict):
    """One event of a registry."""

    number: int = Field(ge=1, description="Position in the log.")
    previous: Sha256 = Field(description="SHA-256 of the entry before this one; zeros in the first.")
    time: Time = Field(description="When it happened, UTC.")
    kind: Literal["published", "withdrawn", "handover"] = Field(description="What happened.")
    set: Version | None = Field(description="Version of the set; null in a handover.")
    files: dict[str, Sha256] = Field(
        description="Of a publication: SHA-256 of the set's files, and of its layout in `layouts/`."
    )
    reason: str | None = Field(description="Of a withdrawal: what is wrong with the set.")
    keys: list[str] | None = Field(
        default=None,
        description="Of a handover: lines of `allowed_signers`. Only these keys sign what follows.",
    )

    def content(self) -> dict[str, Any]:
        """Return the fields as the file has them: only a handover has keys."""
        return self.model_dump(exclude_defaults=True)


@dataclass(frozen=True)
class Log:
    """The log of the registry in a folder."""

    folder: Path
    entries: tuple[Entry, ...]
    hashes: tuple[str, ...]  # SHA-256 of each entry's file
    signer: str = ""  # name of the key that signed the newest entry
    keys: Mapping[bytes, str] = field(default_factory=dict)  # names of the keys that sign the next entry
    newest_keys: Mapping[bytes, str] = field(default_factory=dict)  # of those that may sign the newest one

    @property
    def head(self) -> str:
        """SHA-256 of the newest entry; zeros of an empty log."""
        return self.hashes[-1] if self.hashes else NONE

    @property
    def published(self) -> dict[str, Entry]:
        """The entry of each published set, withdrawn or not, by version."""
        return self._by_version("published")

    @property
    def withdrawn(self) -> dict[str, Entry]:
        """The entry of each withdrawal, by version."""
        return self._by_version("withdrawn")

    def _by_version(self, kind: str) -> dict[str, Entry]:
        return {entry.set: entry for entry in self.entries if entry.kind == kind and entry.set is not None}

    def check_set(self, version: str) -> None:
        """Compare the files of a set with the log; a ParkfError names the first that differs."""
        if version not in self.published:
            raise ParkfError(_not_listed(self.folder / version))
        files = self.published[version].files
        for path in sorted((self.folder / version).iterdir()):
            if f"{version}/{path.name}" not in files:
                raise ParkfError(f"{path}: not in the log; the set was published without it: remove it")
        for name, expected in sorted(files.items()):
            if (got := sha256(self.folder / name)) != expected:
                raise ParkfError(
                    f"{self.folder / name}: sha256 {got}, expected {expected} of {LOG}/; it was changed after"
                    " its publication: get it again from another copy"
                )


def is_signed(folder: Path) -> bool:
    """Whether the sets in a folder are read only if they are what a signed log lists."""
    if any((folder / name).exists() for name in (SIGNERS_FILE, LOG)):
        return True
    names = [path.name for path in folder.iterdir()] if os.environ.get(TRUST) and folder.is_dir() else []
    return any(name == "layouts" or VERSION.fullmatch(name) for name in names)


def entry_path(folder: Path, number: int) -> Path:
    """Return the file of an entry."""
    return folder / LOG / f"{number:04}" / ENTRY_FILE


def read_log(folder: Path, trust: Path | None = None) -> Log:
    """Read the log of a signed registry; check its chain and its signature, and that all sets are there.

    `trust` is a folder with a copy of the log and the keys, by default that in ``PARKF_TRUST``. Its keys
    count instead of the registry's, and the log must begin with its log.

    A ParkfError names what is missing, was changed or added, or is older than it was.
    """
    if trust is None and (named := os.environ.get(TRUST)):
        trust = Path(named)
    keys = signers((trust or folder) / SIGNERS_FILE, PURPOSE)
    for last_look in (False, True):
        log = _signed(_chain(folder), folder, keys)
        there = {path.name for path in folder.iterdir() if VERSION.fullmatch(path.name)}
        if last_look or there <= log.published.keys():
            break
        time.sleep(_PAUSE)
    if trust is not None and (trust / LOG).is_dir():
        _check_begin(log, _chain(trust))
    for version in sorted(log.published.keys() - there):
        raise ParkfError(f"{folder / version}: missing; the log lists it: get it again from another copy")
    for version in sorted(there - log.published.keys()):
        raise ParkfError(_not_listed(folder / version))
    return log


def read_interrupted(folder: Path, staging: Path, trust: Path | None = None) -> Log | None:
    """Read the log with the entries that a killed publisher left in the folder `staging`.

    Their sets are in the registry, with the right files. Returns None if there are no entries, if they do not
    follow the log, or if the log's keys did not sign them.
    """
    if trust is None and (named := os.environ.get(TRUST)):
        trust = Path(named)
    own = next((one for one in (trust, folder) if one and (one / SIGNERS_FILE).is_file()), staging)
    try:
        log = Log(folder, (), ())
        keys: Mapping[bytes, str] = signers(own / SIGNERS_FILE, PURPOSE)
        if (folder / LOG).is_dir():
            log = _signed(_chain(folder), folder, keys)
            keys = log.keys
        longer = _signed(_chain(staging, log), staging, keys)
        for entry in longer.entries[len(log.entries) :]:
            if entry.kind == "published" and entry.set is not None:
                longer.check_set(entry.set)
    except (ParkfError, FileNotFoundError):
        return None
    return longer


def _signed(log: Log, folder: Path, keys: Mapping[bytes, str]) -> Log:
    """Check the signatures of the handovers and of the newest entry among those in a folder.

    `keys` sign the first of them. After a handover only the keys count that it names.
    """
    signer, before = "", keys
    numbers = [entry.number for entry in log.entries if entry_path(folder, entry.number).is_file()]
    newest = max(numbers, default=1)
    for number in numbers or [1]:
        entry, path = (log.entries[number - 1] if numbers else None), entry_path(folder, number)
        handed_over = None if entry is None else entry.keys
        if number == newest or handed_over is not None:
            content = path.read_bytes() if entry is not None else b""
            signer, before = check(path.with_name(f"{ENTRY_FILE}.sig"), content, keys, PURPOSE), keys
        if handed_over is not None:
            keys = keys_in(handed_over, path, PURPOSE)
    return replace(log, signer=signer, keys=keys, newest_keys=before)


def _not_listed(path: Path) -> str:
    return (
        f"{path}: not in the log: nobody published this set, its publication was interrupted, or the log is"
        " older; finish a publication with `parkf params repair`, or else compare with another copy of the"
        " registry, or remove the folder"
    )


def _chain(folder: Path, before: Log | None = None) -> Log:
    """Read the entries in the log of a folder, which follow those of another log.

    A broken chain, or an entry that cannot be, raises a ParkfError.
    """
    if not (folder / LOG).is_dir():
        raise ParkfError(
            f"{folder / LOG}: no such folder; the registry is signed: get its log from another copy"
        )
    names = sorted(path.name for path in (folder / LOG).iterdir())
    entries = [] if before is None else list(before.entries)
    hashes = [NONE] if before is None else [NONE, *before.hashes]
    for number, name in enumerate(names, len(hashes)):
        path = entry_path(folder, number)
        if name != path.parent.name:
            raise ParkfError(f"{path.parent}: missing, got {name}; get the log again from another copy")
        entry = load_document(path, Entry)
        if problem := _problem(entry, entries, hashes[-1]):
            raise ParkfError(f"{path}: {problem}; the log was changed: get it again from another copy")
        entries.append(entry)
        hashes.append(sha256(path))
    return Log(folder if before is None else before.folder, tuple(entries), tuple(hashes[1:]))


def _problem(entry: Entry, before: Sequence[Entry], previous: str) -> str | None:
    """Return why an entry cannot follow those before it, or None."""
    if entry.number != len(before) + 1:
        return f"number: got {entry.number}, expected {len(before) + 1}"
    if entry.previous != previous:
        return f"previous: got {entry.previous}, expected {previous} of the entry before"
    if entry.kind == "handover":
        only_keys = entry.keys and entry.set is None and entry.reason is None and not entry.files
        return None if only_keys else "expected a handover with keys, and without a set"
    if entry.set is None or entry.keys is not None:
        return f"{entry.set}: expected a set, and no keys"
    published = [one.set for one in before if one.kind == "published"]
    if entry.kind == "withdrawn":
        again = any((one.kind, one.set) == ("withdrawn", entry.set) for one in before)
        good = entry.set in published and not again and entry.reason and not entry.files
        return None if good else f"{entry.set}: expected a set that is published, and a reason"
    parts = [name.split("/") for name in entry.files]
    inside = all(
        len(one) == 2 and one[0] in (entry.set, "layouts") and _FILE.fullmatch(one[1]) for one in parts
    )
    good = entry.set not in published and inside and [entry.set, "manifest.json"] in parts
    return None if good and entry.reason is None else f"{entry.set}: expected a new set, and its files"


def _check_begin(log: Log, trusted: Log) -> None:
    """Refuse a log that does not begin with a trusted one."""
    for number, (old, known) in enumerate(zip(trusted.entries, trusted.hashes, strict=True), 1):
        path, what = entry_path(log.folder, number), " ".join(filter(None, (old.kind, old.set)))
        if number > len(log.entries):
            raise ParkfError(
                f"{path}: missing, expected {what} as in {trusted.folder}; the log was rolled back: get it"
                " again from another copy"
            )
        if log.hashes[number - 1] != known:
            raise ParkfError(
                f"{path}: another entry, expected {what} as in {trusted.folder}; the log was rewritten"
            )
