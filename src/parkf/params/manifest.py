"""The manifest of a parameter set: its contents, and checksums with which readers verify the set."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from parkf.io.documents.document import document_of
from parkf.io.documents.models import Noted, Strict, validated
from parkf.io.errors import DamagedFileError, ParkfError
from parkf.io.files import existing, replacing
from parkf.io.option_types import FormsName

# Version of the manifest file. The layout of the blobs has its own version, `layout_version`.
#
# 1: from before the registry. No set of this format was published, and it is not read any more.
# 2: describes every number, and has state, validity, gates and detector.
# 3: has what is needed to repeat the training, and the exact figure of each gate; readers of 2 ignore this.
# 4: may have a ghost score, a third file of numbers; readers of 2 ignore it.
# 5: has a checksum of its own; readers of 2 ignore it.
# 6: may have the trigger's constants for the RICH planes, a file of numbers; readers of 2 ignore it.
# 7: may have the loss of momentum in a VELO module, without which a fit is biased.
# 8: may have the steps inside the magnet, a file of numbers; readers of 2 ignore it.
# 9: may have numbers for electrons; readers of 2 ignore them.
FORMAT_VERSION = 9
# The oldest format whose readers understand today's manifests, without and with a loss in the VELO.
_MINIMUM_READER, _MINIMUM_READER_LOSS = 2, 7
# The oldest format that is read; fields that it lacks are None.
OLDEST_FORMAT = 2
# The oldest format in which the checksum is required.
CHECKED_FORMAT = 5

# Placeholder for the checksum in the text from which it is computed.
_NONE = "0" * 64

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
# Year, detector tag, revision: names sort as sets were published.
Version = Annotated[str, Field(pattern=r"^[0-9]{4}-[a-z0-9][a-z0-9-]{0,40}-r[0-9]{3}$")]
Time = Annotated[str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$")]


class Blob(Strict):
    """A file of little-endian float32 numbers."""

    numbers: int = Field(description="How many numbers the file holds.")
    sha256: Sha256 = Field(description="SHA-256 of the file's bytes.")


class Blobs(Strict):
    """The two files of numbers."""

    constant: Blob = Field(description="constant.f32: shared by all tracks.")
    table: Blob = Field(description="global.f32: the magnet table.")

    def fingerprints(self) -> dict[str, str]:
        """SHA-256 of both."""
        return {"constant": self.constant.sha256, "table": self.table.sha256}


class ScoreNetwork(Strict):
    """A network of the ghost score."""

    name: str = Field(description="Column of the fit's output with the network's result.")
    first: int = Field(
        ge=0,
        description="Position of the network's first number: for each hidden unit, the weight of each input "
        "and an offset; then the weight of each hidden unit and an offset.",
    )
    inputs: list[str] = Field(description="Inputs of the network, computed from the fit of a track.")


class GhostScore(Strict):
    """Log odds that a track is genuine, by networks with one layer of hidden units, max(0, w·f + b)."""

    version: int = Field(ge=1, description="Version of the inputs and of the file's layout.")
    blob: Blob = Field(description="ghosts.f32: the networks.")
    hidden: int = Field(ge=1, description="Hidden units of each network.")
    networks: list[ScoreNetwork]
    genuine: int = Field(description="Number of genuine candidates in the training.")
    ghosts: int = Field(description="Number of ghosts in the training.")

    @model_validator(mode="before")
    @classmethod
    def _without_flat(cls, content: Any) -> Any:
        """Leave out the cut `flat` of some published sets, which nothing reads any more."""
        known = isinstance(content, dict)
        return {key: value for key, value in content.items() if key != "flat"} if known else content


class Constants(Strict):
    """Numbers that the fitter needs besides the blobs."""

    velo_sigma: float = Field(gt=0, description="Resolution of a VELO hit in x and in y, mm.")
    beam_x: float = Field(description="x of the beam line, mm.")
    beam_y: float = Field(description="y of the beam line, mm.")
    velo_loss: float = Field(
        default=0.0,
        ge=0,
        description="Loss of momentum in each VELO module, MeV; 0 where the magnet table includes the mean.",
    )


class FitSummary(Noted):
    """How the fit of one parameter set of a step ended."""

    step: str = Field(description="Block of the constant blob.")
    set: str = Field(description="Set within the block.")
    rows: int = Field(description="Rows of the dataset that were fitted.")
    valid: Literal[True] = Field(description="Every minimum is valid; a set cannot have other fits.")
    edm: float = Field(ge=0, description="Largest estimated distance to the minimum.")
    ratio_rms: float | None = Field(
        description="Largest RMS of δ_par/σ_MS of a component; null without scattering."
    )


class NumberDescription(Strict):
    """One number of the constant blob."""

    name: str = Field(description="Name within its set.")
    text: str = Field(description="Meaning of the number.")
    unit: str = Field(description="Unit of value times scale.")
    scale: float = Field(gt=0, description="Power of ten that the formula multiplies the value with.")
    value: float = Field(description="The number in the blob.")
    error: float | None = Field(description="Error of the value; null where no fit determined it.")
    parity: Literal[1, -1] = Field(description="Factor on the value under h → −h, where h = pol·q/p.")


class SetDescription(Strict):
    """A row of a block."""

    label: str = Field(description="Gap, direction or side that the row is for.")
    numbers: list[NumberDescription]


class BlockDescription(Strict):
    """A rectangle of the constant blob."""

    name: str = Field(description="Step, or kind of layers.")
    sets: list[SetDescription]


def numbers_in(layout: Iterable[BlockDescription]) -> Iterator[tuple[str, str, int, NumberDescription]]:
    """Yield each number of a layout in its order, after its block, its set, and its index in the set."""
    for block in layout:
        for one in block.sets:
            for index, number in enumerate(one.numbers):
                yield block.name, one.label, index, number


class Rich(Strict):
    """The trigger's constants for states at the RICH planes."""

    blob: Blob = Field(description="rich.f32: the numbers.")
    layout: list[BlockDescription] = Field(description="Every number of the file, in its order.")


class Scatterer(Strict):
    """A thin layer of material in the magnet."""

    z: float = Field(description="Its z, mm.")
    angle: float = Field(ge=0, description="Width of the scattering angle times momentum, MeV.")
    opening: float = Field(ge=0, description="Half of the size of its opening around the beam pipe, mm.")


class Slices(Strict):
    """The steps inside the magnet: maps on a grid in x/z and y/z, slice by slice."""

    version: int = Field(ge=1, description="Version of the formulas and of the file's layout.")
    blob: Blob = Field(
        description="slices.f32: the maps, by slice, node in x, node in y; eight numbers for each node, of "
        "which those behind the maps are zero."
    )
    z_first: float = Field(description="z where the first slice begins, mm.")
    z_last: float = Field(description="z where the last slice ends, mm; all have the same length.")
    edge_x: float = Field(gt=0, description="Edge of the grid in x/z, with z in the middle of the slice.")
    edge_y: float = Field(gt=0, description="Edge of the grid in y/z.")
    nodes_x: int = Field(ge=3, description="Nodes in x.")
    nodes_y: int = Field(ge=3, description="Nodes in y.")
    maps: list[str] = Field(description="Names of the maps, MeV/mm.")
    centre: list[float] = Field(description="Bend in the centre of each slice, MeV/mm.")
    scatterers: list[Scatterer]
    loss_before_ut: float = Field(
        ge=0, description="Median loss of momentum of a pion before the first UT layer, MeV."
    )
    loss_before_scifi: float = Field(ge=0, description="The same before the first SciFi layer, MeV.")


class Electron(Strict):
    """Numbers with which electrons are fitted: what they radiate in front of the magnet."""

    version: int = Field(ge=1, description="Version of the formulas and of the numbers' order.")
    tracks: int = Field(ge=1, description="Number of electrons in the training.")
    layout: list[BlockDescription] = Field(description="Every number, in its order.")


class Validity(Strict):
    """Data that the set is for; a null means that this limit does not exist."""

    first_run: int | None = Field(ge=0, description="First run.")
    last_run: int | None = Field(ge=0, description="Last run, included.")
    first_time: Time | None = Field(description="First second, UTC.")
    last_time: Time | None = Field(description="Last second (included), UTC.")


class Gate(Strict):
    """A requirement for publication."""

    what: str = Field(description="What was measured.")
    measured: str = Field(description="The figure.")
    bar: str = Field(description="Bounds that the figure is compared with.")
    met: bool = Field(description="Whether the figure meets the bar.")
    figure: str | None = Field(default=None, description="File of the run, and path of the figure in it.")
    value: float | None = Field(default=None, description="The figure; null when it was not measured.")
    at_least: float | None = Field(default=None, description="Lower bound of the figure.")
    at_most: float | None = Field(default=None, description="Upper bound of the figure.")
    reason: str | None = Field(default=None, description="Reason for the bar.")

    def __str__(self) -> str:
        return f"{self.what}: {self.measured} (bar {self.bar})"


class Manifest(Strict):
    """What a parameter set is made of."""

    format_version: int = Field(ge=1, description="Version of this file's format.")
    minimum_reader: int = Field(ge=1, description="Oldest format whose readers may read this file.")
    version: Version | None = Field(description="Name in the registry; null before publication.")
    state: Literal["open", "validated", "published"] = Field(
        description="A withdrawn set is a published one whose withdrawal is in the registry's index."
    )
    source: str = Field(description="Origin of the numbers: trained, or imported from named files.")
    detector: str = Field(description="Tag of the geometry.")
    validity: Validity
    forms: FormsName = Field(description="Set of forms: the formulas that use the numbers.")
    layout_version: int = Field(description="Version of the blobs' layout and meaning.")
    code_version: str = Field(description="Version of parkf that made the set.")
    formulas: Sha256 = Field(
        description="Fingerprint of all step formulas; a kernel must be made from the same formulas."
    )
    blobs: Blobs
    constants: Constants
    layout: list[BlockDescription] = Field(description="Every number of the constant blob, in its order.")
    inputs: dict[str, str] = Field(
        description="Fingerprints of geometry, alignment, field, datasets and table."
    )
    seeds: dict[str, int] = Field(description="Seeds of all random draws.")
    configuration: dict[str, str] | None = Field(
        default=None,
        description="Keys of the run's configuration that decide the training, each with its value as JSON; "
        "null where the numbers were not trained by a run.",
    )
    steps: dict[str, Sha256] = Field(description="Fingerprint of each step's formulas.")
    fits: list[FitSummary] = Field(description="One entry for each fitted set.")
    gates: list[Gate] = Field(description="Gates that the set was compared with; empty while it is open.")
    environment: dict[str, str] = Field(
        description="Python and packages at publication; empty before, so that equal inputs give equal bytes."
    )
    supersedes: Version | None = Field(description="Version of the published set that this set replaces.")
    created: Time | None = Field(description="Time of publication, UTC; null before it.")
    ghost_score: GhostScore | None = Field(
        default=None, description="Null where a set has none, as in all formats before 4."
    )
    rich: Rich | None = Field(
        default=None, description="Null where a set has none, as in all formats before 6."
    )
    slices: Slices | None = Field(
        default=None, description="Null where a set has none, as in all formats before 8."
    )
    electron: Electron | None = Field(
        default=None, description="Null where a set has none, as in all formats before 9."
    )
    # The checksum belongs to the file and not to its content: manifests of the same content are equal.
    checksum: Sha256 | None = Field(
        default=None,
        exclude=True,
        description="SHA-256 of this file's bytes with 64 zeros for this text; from format 5.",
    )


def read_manifest(path: Path) -> Manifest:
    """Read and check a manifest.

    A ParkfError reports a file that is missing, or is of a format that this reader does not understand, and
    each place where it is no manifest. A DamagedFileError reports one that cannot be read, or whose bytes do
    not have its checksum.
    """
    return parse_manifest(path, existing(path).read_bytes())


@lru_cache(maxsize=64)
def parse_manifest(path: Path, written: bytes) -> Manifest:
    """Check the bytes of the manifest at `path`, as :func:`read_manifest` does; equal ones only once."""
    try:
        document = document_of(path, written)
    except ParkfError as error:
        raise DamagedFileError.said(path, str(error)) from error
    fields = document.content if isinstance(document.content, dict) else {}
    versions = [fields.get(name) for name in ("format_version", "minimum_reader")]
    format_version, minimum = (one if type(one) is int else 0 for one in versions)
    if minimum > FORMAT_VERSION:
        raise ParkfError(
            f"{path}: minimum_reader: got {minimum}, expected at most {FORMAT_VERSION}; "
            "read it with a newer version of parkf"
        )
    if 0 < format_version < OLDEST_FORMAT:
        raise ParkfError(
            f"{path}: format_version: got {format_version}, expected {OLDEST_FORMAT} or newer; "
            "make the set again"
        )
    _check_checksum(path, written, fields.pop("checksum", None), format_version)
    return validated(
        document.content,
        Manifest,
        document.where,
        remedy="get the set again",
        unknown_keys="ignore" if format_version > FORMAT_VERSION else None,
    )


def minimum_reader(constants: Constants) -> int:
    """Return the oldest format whose readers fit correctly with a set that has these constants."""
    return _MINIMUM_READER_LOSS if constants.velo_loss else _MINIMUM_READER


def write_manifest(path: Path, manifest: Manifest) -> None:
    """Write a manifest in today's format; equal manifests give equal bytes."""
    today = {
        "format_version": FORMAT_VERSION,
        "minimum_reader": minimum_reader(manifest.constants),
        "checksum": _NONE,
    }
    content = manifest.model_dump(mode="json") | today
    text = json.dumps(content, indent=1, sort_keys=True, allow_nan=False) + "\n"
    digest = hashlib.sha256(text.encode()).hexdigest()
    with replacing(path) as temporary:
        temporary.write_text(text.replace(f'"checksum": "{_NONE}', f'"checksum": "{digest}', 1), "utf-8")


def _check_checksum(path: Path, written: bytes, checksum: object, format_version: int) -> None:
    """Refuse a manifest whose bytes, with zeros for the checksum, do not have this checksum."""
    if checksum is None and format_version >= CHECKED_FORMAT:
        raise ParkfError(f"{path}: checksum: missing; expected that of the file: get the set again")
    if checksum is not None:
        text = written.replace(str(checksum).encode(), _NONE.encode(), 1)
        if hashlib.sha256(text).hexdigest() != checksum:
            raise DamagedFileError(path, "a manifest", "the content does not have the checksum that it says")
