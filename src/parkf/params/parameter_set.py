"""The parameter set: the numbers shared by all tracks, 240,000 of the magnet table, and a manifest."""

from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from parkf.io.errors import ParkfError
from parkf.model.layout import TABLE_SHAPE, Layout, layouts_of
from parkf.params.binary_form import (
    CONSTANT_FILE,
    MANIFEST_FILE,
    RICH_FILE,
    SCORE_FILE,
    SLICES_FILE,
    TABLE_FILE,
    binary_form,
    digest,
)
from parkf.params.blobs import aligned, blob_of, read_blob, refuse_non_finite, refuse_others, write_blob
from parkf.params.claims import check_claim, place_in_registry
from parkf.params.description import describe
from parkf.params.electron import numbers_of
from parkf.params.ghost_score import Score, read_score
from parkf.params.manifest import (
    Blobs,
    BlockDescription,
    Manifest,
    numbers_in,
    parse_manifest,
    write_manifest,
)
from parkf.params.rich import RichConstants, read_rich
from parkf.params.set_folder import SetFolder
from parkf.params.slices import MagnetSlices, read_slices

F32 = NDArray[np.float32]

_UNPUBLISHED = {"state": "open", "version": None, "supersedes": None, "created": None}


@dataclass(frozen=True, eq=False)
class ParameterSet:
    """Numbers and manifest of a set, as a fitter reads them."""

    constant: F32  # (m,), blocks in the order of the set of forms; 466 numbers in production's
    table: F32  # (60, 50, 80), coefficients of the magnet table by bin in x, bin in y
    manifest: Manifest
    score: Score | None = None  # the ghost score, if the set has one that this kernel evaluates
    rich: RichConstants | None = None  # for states at the RICH planes, if the set has them
    slices: MagnetSlices | None = None  # for states inside the magnet, if the set has them
    # Of a set that was loaded: its binary form, and the reason if it was withdrawn.
    form: bytes | None = field(default=None, init=False, repr=False)
    withdrawn: str | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        """Align the bins of the table to cache lines, which lets the fit read them 5 % faster.

        Make the numbers read-only, because changed numbers would no longer match the manifest.
        """
        object.__setattr__(self, "table", aligned(self.table))
        object.__setattr__(self, "constant", self.constant.view())
        self.table.flags.writeable = self.constant.flags.writeable = False

    @property
    def layout(self) -> Layout:
        """Meaning of the numbers, by the set of forms and the version of its layout."""
        return layouts_of(self.manifest.forms)[self.manifest.layout_version]

    @property
    def sha256(self) -> str | None:
        """Digest of a set that was loaded."""
        return None if self.form is None else digest(self.form)

    @property
    def state(self) -> str:
        """State: that of the manifest, or ``withdrawn``."""
        return self.manifest.state if self.withdrawn is None else "withdrawn"

    @property
    def electron(self) -> NDArray[np.float64] | None:
        """Numbers for electrons, if the set has those of this kernel."""
        return numbers_of(self.manifest.electron)

    def block(self, name: str) -> F32:
        """Return a block of the constant numbers, (sets, columns) float32."""
        return self.constant[self.layout.block_slice(name)].reshape(self.layout.block(name).shape)

    def save(self, folder: Path) -> None:
        """Write the set as an open one, which only the registry's publisher can publish."""
        self.write(folder, self.manifest.model_copy(update=_UNPUBLISHED))

    def write(self, folder: Path, manifest: Manifest) -> None:
        """Write the files of numbers, and the manifest last: a folder with a manifest is then complete."""
        (folder / MANIFEST_FILE).unlink(missing_ok=True)
        write_blob(folder / CONSTANT_FILE, self.constant)
        write_blob(folder / TABLE_FILE, self.table)
        write_blob(folder / SCORE_FILE, self.score.numbers if self.score else None)
        write_blob(folder / RICH_FILE, self.rich.numbers if self.rich else None)
        write_blob(folder / SLICES_FILE, self.slices.numbers if self.slices else None)
        write_manifest(folder / MANIFEST_FILE, manifest)


def with_blobs(
    manifest: Manifest,
    constant: F32,
    table: F32,
    score: Score | None = None,
    rich: RichConstants | None = None,
    slices: MagnetSlices | None = None,
) -> ParameterSet:
    """Make a set of these numbers; a wrong shape, or a number that is not finite, raises a ParkfError."""
    constant, table = np.asarray(constant, dtype="<f4"), np.asarray(table, dtype="<f4")
    known = layouts_of(manifest.forms)[manifest.layout_version]
    expected = (("constant", constant, (known.constant_count,)), ("table", table, TABLE_SHAPE))
    for name, numbers, shape in expected:
        if numbers.shape != shape:
            raise ParkfError(f"parameter set: {name} has shape {numbers.shape}, expected {shape}")
    refuse_non_finite("parameter set", constant)
    refuse_non_finite("parameter set: magnet table", table)
    errors = {(block, label, i): number.error for block, label, i, number in numbers_in(manifest.layout)}
    more = {
        "blobs": Blobs(constant=blob_of(constant), table=blob_of(table)),
        "layout": describe(known, constant, errors),
        "ghost_score": score and score.description(),
        "rich": rich and rich.description(),
        "slices": slices and slices.described,
    }
    return ParameterSet(constant, table, manifest.model_copy(update=more), score, rich, slices)


def load(folder: Path, *, sha256: str | None = None, withdrawn: bool = False) -> ParameterSet:
    """Read a parameter set; `sha256` is the digest that it must have, if the reader knows it.

    A set that is not whole raises a ParkfError: a file is missing, truncated, does not match its checksum or
    holds a number that is not finite, or the manifest has unknown fields or is of another format or layout.
    So does a published set that is not what its registry lists (:mod:`parkf.params.claims`), and one that
    was withdrawn, which is read only with `withdrawn`, to repeat old results.
    """
    place = place_in_registry(folder)
    with SetFolder(folder, links=place is None, place=place) as files:
        loaded = read_files(files)
    got = str(loaded.sha256)
    if sha256 is not None and got != sha256:
        raise ParkfError(f"{folder}: digest {got}, expected {sha256}; it is not the set that you want")
    withdrawal = check_claim(folder, place, loaded.manifest, got, pinned=sha256 is not None)
    if withdrawal is not None:
        if not withdrawn:
            raise ParkfError(
                f"{folder}: was withdrawn at {withdrawal.time}: {withdrawal.reason}; use another set, or"
                " repeat old results with withdrawn=True (--withdrawn)"
            )
        object.__setattr__(loaded, "withdrawn", withdrawal.reason)
    return loaded


def read_files(files: SetFolder) -> ParameterSet:
    """Read a whole set, whatever a registry says about it."""
    path = files.path / MANIFEST_FILE
    manifest = parse_manifest(path, files.read(MANIFEST_FILE))
    layouts = layouts_of(manifest.forms)
    known = layouts.get(manifest.layout_version)
    if known is None:
        known_versions = " or ".join(map(str, layouts))
        raise ParkfError(
            f"{path}: layout_version: got {manifest.layout_version}, expected {known_versions} of forms "
            f"'{manifest.forms}'; train the set again, or read it with the version of parkf that made it"
        )
    constant = read_blob(files, CONSTANT_FILE, manifest.blobs.constant, known.constant_count)
    table = read_blob(files, TABLE_FILE, manifest.blobs.table, int(np.prod(TABLE_SHAPE)))
    table = table.reshape(TABLE_SHAPE)
    _compare(path, known, manifest.layout, constant)
    score, rich = read_score(files, manifest.ghost_score), read_rich(files, manifest.rich)
    slices = read_slices(files, manifest.slices)
    loaded = ParameterSet(constant, table, manifest, score, rich, slices)
    object.__setattr__(loaded, "form", binary_form(manifest, files.read))
    return loaded


def _compare(path: Path, known: Layout, layout: list[BlockDescription], constant: F32) -> None:
    """Refuse a manifest that describes other numbers than the blob holds."""
    told = [tuple(place) for *place, _ in numbers_in(layout)]
    expected = [
        (one.name, label, j) for one in known.blocks for label in one.sets for j in range(one.shape[1])
    ]
    for got, ours in zip_longest(told, expected):
        if got != ours:
            raise ParkfError(f"{path}: layout: got block, set and index {got}, expected {ours}")
    refuse_others(path, layout, constant, CONSTANT_FILE)
