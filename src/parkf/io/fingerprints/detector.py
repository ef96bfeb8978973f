"""What a table of candidates records about its detector: geometry, alignment, field and polarity."""

from collections.abc import Mapping
from pathlib import Path

from parkf.io.files import sha256
from parkf.io.fingerprints.meaning import meaning_of

PREFIX = "parkf.detector."
"""Prefix of the keys in a Parquet file's metadata."""
FILES = ("geometry", "alignment", "field")
POLARITY = "polarity"
NOMINAL = "none"
"""Stands for the alignment where every element is at its nominal position, and no file says so."""


def detector_metadata(geometry: Path, alignment: Path | None, field: Path, polarity: int) -> dict[str, str]:
    """Return a table's metadata: fingerprints of three files, and the polarity (+1 MagUp, -1 MagDown).

    Raises a ParkfError if a file is missing.
    """
    prints = {
        "geometry": meaning_of(geometry),
        "alignment": NOMINAL if alignment is None else meaning_of(alignment),
        "field": sha256(field),
        POLARITY: f"{polarity:+d}",
    }
    return {PREFIX + name: value for name, value in prints.items()}


def detector_keys(metadata: Mapping[bytes, bytes] | None) -> dict[str, str]:
    """Return the part of a table's metadata that is about the detector, for tables made from this one."""
    found = {key.decode(errors="replace"): value for key, value in (metadata or {}).items()}
    return {key: value.decode(errors="replace") for key, value in found.items() if key.startswith(PREFIX)}


def recorded_detector(metadata: Mapping[bytes, bytes] | None) -> dict[str, str]:
    """Return what the metadata of a table record about the detector, by name; empty if nothing."""
    return {key.removeprefix(PREFIX): value for key, value in detector_keys(metadata).items()}
