"""Whether a set that says that it is published is what a registry lists under its version.

Everybody can write "published" into a manifest. What counts is an index (:mod:`parkf.params.index`): that of
the registry in which the set lies, or else those of the working folder and of the installation, which must
have the same digest. A digest that the reader expects stands for an index.
"""

from pathlib import Path

import parkf._fitter as _fitter
from parkf.io.errors import ParkfError
from parkf.params.index import INDEX_FILE, VERSION, Entry, Withdrawal, listings, read_index
from parkf.params.manifest import Manifest

# The registry of a project, and that of the installation: a version is looked up in this order.
FOLDER = Path("params")
SHIPPED = Path(_fitter.__file__).parent / "params"


def place_in_registry(folder: Path) -> Path | None:
    """Return the path of a set's folder in a registry, or None if it has none; no links are followed last."""
    for path in (folder.absolute(), folder.resolve()):
        if VERSION.fullmatch(path.name) and (path.parent / INDEX_FILE).exists():
            return path
    return None


def check_claim(
    folder: Path, place: Path | None, manifest: Manifest, sha256: str, *, pinned: bool
) -> Withdrawal | None:
    """Compare a set with the registries that list its version; return its withdrawal, if there is one.

    `folder` is its path for messages, `place` that in its registry, `sha256` its digest; `pinned` says that
    the reader expected this digest. A ParkfError reports a published set that no registry lists like this.
    """
    if place is None and manifest.version is None and manifest.state != "published":
        return None
    known = [] if place is None else [_own_entry(folder, place, manifest, sha256)]
    known += [one for _, one in listings(manifest.version or "", (FOLDER, SHIPPED)) if one.sha256 == sha256]
    if not known and not pinned:
        raise ParkfError(
            f"{folder}: says that it is published as {manifest.version}, digest {sha256}, which neither an"
            f" {INDEX_FILE} beside it nor {FOLDER} nor the installation lists; read it from its registry, or"
            " pin this digest (sha256=) if you know that it is right"
        )
    return next((one.withdrawn for one in known if one.withdrawn), None)


def _own_entry(folder: Path, place: Path, manifest: Manifest, sha256: str) -> Entry:
    own = read_index(place.parent).sets.get(place.name)
    if own is None:
        raise ParkfError(
            f"{folder}: not in {INDEX_FILE}: nobody published this set here, or its publication was"
            " interrupted; publish it, or remove the folder"
        )
    if own.sha256 != sha256:
        raise ParkfError(
            f"{folder}: digest {sha256}, expected {own.sha256} of {INDEX_FILE}; it was changed after its"
            " publication: `parkf verify` names the file, get it again from another copy"
        )
    if not own.agrees(place.name, manifest):
        raise ParkfError(f"{folder}/manifest.json: other than its entry in {INDEX_FILE}; get both again")
    return own


def find_listed(version: str, folders: tuple[Path, ...]) -> Path | None:
    """Return the folder of a version in the first registry that lists it, or None.

    Registries that list other sets under this version raise a ParkfError: neither may hide the other.
    """
    found = listings(version, folders)
    for place, entry in found[1:]:
        if entry.sha256 != found[0][1].sha256:
            raise ParkfError(
                f"{version}: two sets of this name: {found[0][0]} lists digest {found[0][1].sha256}, {place}"
                f" lists {entry.sha256}; name the registry of the one that you want with --registry, or the"
                " set's folder, or remove the wrong registry"
            )
    return found[0][0] / version if found else None
