"""The index of a registry, ``index.json``: the versions that are published, their digests and their state.

A set is published if the index lists it, and not by what its folder says. The index only grows: an entry
stays for good, with its digest, and a withdrawal stays in it for good.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field

from parkf.io.documents.document import document_of
from parkf.io.documents.models import Strict, validated
from parkf.io.errors import ParkfError
from parkf.io.files import write_json
from parkf.io.option_types import FormsName
from parkf.params.manifest import Manifest, Sha256, Time, Validity, Version
from parkf.params.set_folder import SetFolder

INDEX_FILE = "index.json"
VERSION = re.compile(r"(?P<year>[0-9]{4})-(?P<detector>[a-z0-9][a-z0-9-]{0,40})-r(?P<revision>[0-9]{3})")
FileName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,40}$")]


class Withdrawal(Strict):
    """Why a published set must not be used any more."""

    reason: str = Field(min_length=1, description="What is wrong with the set.")
    time: Time = Field(description="When it was withdrawn, UTC.")


class Entry(Strict):
    """A published set."""

    sha256: Sha256 = Field(description="Digest of the set: SHA-256 of its binary form.")
    files: dict[FileName, Sha256] = Field(description="SHA-256 of each file in its folder.")
    published: Time = Field(description="When it was published, UTC.")
    withdrawn: Withdrawal | None = Field(description="Null unless the set must not be used any more.")
    detector: str = Field(description="Tag of the geometry.")
    forms: FormsName = Field(description="Set of forms.")
    validity: Validity
    supersedes: Version | None = Field(description="Version of the published set that this set replaces.")

    def agrees(self, version: str, manifest: Manifest) -> bool:
        """Whether the manifest of the published set says the same."""
        ours = ("published", version, self.detector, self.forms, self.validity, self.supersedes)
        names = ("state", "version", "detector", "forms", "validity", "supersedes")
        return ours == tuple(getattr(manifest, name) for name in names)


class Index(Strict):
    """All that was published in a registry."""

    format: Literal[1] = 1
    layouts: dict[Annotated[str, Field(pattern=r"^[0-9]{1,6}$")], Sha256] = Field(
        default={}, description="SHA-256 of each file in `layouts/`, by the version of the layout."
    )
    sets: dict[Version, Entry] = Field(default={}, description="Published sets by version.")

    def with_set(self, version: str, entry: Entry, layout: tuple[str, str]) -> Self:
        """Return the index with one more set; `layout` is the version of its layout and its SHA-256."""
        if version in self.sets or self.layouts.get(layout[0], layout[1]) != layout[1]:
            raise ParkfError(f"{version} or layout {layout[0]}: published already; neither is ever changed")
        update = {"sets": self.sets | {version: entry}, "layouts": self.layouts | dict([layout])}
        return self.model_copy(update=update)

    def with_withdrawal(self, version: str, withdrawal: Withdrawal) -> Self:
        """Return the index with a set withdrawn; one that is withdrawn already raises a ParkfError."""
        if self.sets[version].withdrawn is not None:
            raise ParkfError(f"{version} is withdrawn already")
        entry = self.sets[version].model_copy(update={"withdrawn": withdrawal})
        return self.model_copy(update={"sets": self.sets | {version: entry}})


def read_index(folder: Path) -> Index:
    """Read the index of a registry; that of a missing or empty folder is empty.

    A ParkfError reports an index that is broken, a link, or missing beside folders of sets.
    """
    return parse_index(folder, index_bytes(folder))


def index_bytes(folder: Path) -> bytes | None:
    """Return the bytes of a registry's index, or None where there is neither an index nor a set."""
    path = folder / INDEX_FILE
    if path.exists() or path.is_symlink():
        with SetFolder(folder, links=False, place=folder.resolve()) as files:
            return files.read(INDEX_FILE)
    if folder.is_dir() and (sets := [one.name for one in folder.iterdir() if VERSION.fullmatch(one.name)]):
        raise ParkfError(
            f"{path}: no such file, beside {min(sets)}; expected the index that lists what is published: get"
            " it from another copy of the registry; if this is the installation's, install parkf again"
        )
    return None


@lru_cache(maxsize=8)
def parse_index(folder: Path, content: bytes | None) -> Index:
    """Check the bytes of a registry's index, as :func:`index_bytes` returns them."""
    if content is None:
        return Index()
    document = document_of(folder / INDEX_FILE, content)
    return validated(document.content, Index, document.where, remedy="get it again from another copy")


def write_index(folder: Path, index: Index) -> None:
    """Write an index; equal ones have equal bytes."""
    write_json(folder / INDEX_FILE, index.model_dump(mode="json"))


def listings(version: str, folders: Sequence[Path]) -> list[tuple[Path, Entry]]:
    """Return the registries that list a version, in the order of their folders, and how they list it."""
    indexes = ((folder, read_index(folder)) for folder in folders)
    return [(folder, index.sets[version]) for folder, index in indexes if version in index.sets]
