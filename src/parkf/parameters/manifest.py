"""The manifest of a parameter set: what it is made of, and how a reader knows that it is whole."""

import json
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from parkf.choices import FormsName
from parkf.errors import ParkfError
from parkf.files import read_json, write_json

# Version of the manifest file itself; what the blobs mean has a version of its own, `layout_version`.
FORMAT_VERSION = 1

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _Strict(BaseModel):
    # No type coercion, no unknown fields: a manifest says exactly what it says.
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Blob(_Strict):
    """A file of little-endian float32 numbers."""

    numbers: int = Field(description="How many numbers the file holds.")
    sha256: Sha256 = Field(description="SHA-256 of the file's bytes.")


class Blobs(_Strict):
    """The two files of numbers."""

    constant: Blob = Field(description="constant.f32: shared by all tracks.")
    table: Blob = Field(description="global.f32: the magnet table.")


class Constants(_Strict):
    """Numbers that the fitter needs besides the blobs."""

    velo_sigma: float = Field(gt=0, description="Resolution of a VELO hit in x and in y, mm.")
    beam_x: float = Field(description="x of the beam line, mm.")
    beam_y: float = Field(description="y of the beam line, mm.")


class FitSummary(_Strict):
    """How the fit of one parameter set of a step ended."""

    step: str = Field(description="Block of the constant blob.")
    set: str = Field(description="Set within the block.")
    rows: int = Field(description="Rows of the dataset that were fitted.")
    valid: Literal[True] = Field(description="Every minimum is valid; other fits make no parameter set.")
    edm: float = Field(ge=0, description="Largest estimated distance to the minimum.")
    ratio_rms: float | None = Field(
        description="Largest RMS of δ_par/σ_MS of a component; null without scattering."
    )


class Manifest(_Strict):
    """What a parameter set is made of."""

    format_version: int = Field(description="Version of this file's format.")
    forms: FormsName = Field(description="Set of forms: the formulas that the numbers are of.")
    layout_version: int = Field(description="Version of the blobs' layout and meaning.")
    code_version: str = Field(description="Version of parkf that made the set.")
    formulas: Sha256 = Field(
        description="Fingerprint of all step formulas; a kernel must be made from the same."
    )
    blobs: Blobs
    constants: Constants
    inputs: dict[str, str] = Field(
        description="Fingerprints of geometry, alignment, field, datasets and table."
    )
    seeds: dict[str, int] = Field(description="Seeds of all random draws.")
    steps: dict[str, Sha256] = Field(description="Fingerprint of each step's formulas.")
    fits: list[FitSummary] = Field(description="One entry for each fitted set.")
    supersedes: str | None = Field(description="Version of the published set that this one replaces.")
    created: str | None = Field(
        description="When it was published, ISO 8601; null before, so that equal inputs give equal bytes."
    )


def read_manifest(path: Path) -> Manifest:
    """Read and check a manifest.

    Raises
    ------
    ParkfError
        When the file is missing, of a newer format, or does not match the schema; each problem is named.
    """
    content = read_json(path)
    if not isinstance(content, dict):
        raise ParkfError(f"{path}: expected a JSON object, got {type(content).__name__}")
    version = content.get("format_version")
    if isinstance(version, int) and version != FORMAT_VERSION:
        raise ParkfError(
            f"{path}: format_version {version}, expected {FORMAT_VERSION}; "
            "read it with the version of parkf that wrote it, or a newer one"
        )
    try:
        return Manifest.model_validate(content)
    except ValidationError as error:
        problems = [f"{path}: {_place(e['loc'])}: {e['msg']}, got {e['input']!r:.80}" for e in error.errors()]
        raise ParkfError("\n".join(problems)) from error


def write_manifest(path: Path, manifest: Manifest) -> None:
    """Write a manifest; equal manifests give equal bytes."""
    write_json(path, manifest.model_dump(mode="json"))


def json_schema() -> dict[str, Any]:
    """JSON schema of the manifest, as kept in ``workflow/schemas/manifest.schema.json``."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **Manifest.model_json_schema()}


def _place(location: tuple[int | str, ...]) -> str:
    return ".".join(map(str, location))


if __name__ == "__main__":
    print(json.dumps(json_schema(), indent=1))
