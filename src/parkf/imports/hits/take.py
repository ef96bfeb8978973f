"""Import of hits in all formats: read, inspected and written."""

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from parkf.imports.hits.detectors_tree import read_trees
from parkf.imports.hits.entries import Entries, write_candidates, write_particles
from parkf.imports.hits.full_simulation import read_tables
from parkf.imports.hits.physics import Run, inspect_hits
from parkf.imports.hits.sift import joined, sifted
from parkf.io.errors import ParkfError
from parkf.io.files import matching
from parkf.io.findings import Figure, Finding, Inspection

# Function that receives the inspections before anything is written, and raises to prevent the writing.
Settle = Callable[[list[Inspection]], None]


def take_entries(
    source: str | Path,
    run: Run,
    *,
    settle: Settle,
    hits_to: Path | None = None,
    particles_to: Path | None = None,
    candidates_to: Path | None = None,
    made_with: Mapping[str, str] | None = None,
    tree: str | None = None,
) -> None:
    """Import `Hits_detectors` trees (.root), a path or a pattern for many files.

    Particles are written to `hits_to` and `particles_to`, tables HITS and PARTICLES; reconstructed tracks to
    `candidates_to`, table CANDIDATES with `made_with` in its metadata. Either the first two paths or the
    third must be given. Trees have the name `tree`, if they have another one. Rows that cannot be are left
    out; see :func:`parkf.imports.hits.sift.sifted`.
    """
    as_particles = hits_to is not None and particles_to is not None
    if as_particles == (candidates_to is not None) or (hits_to is None) != (particles_to is None):
        raise ParkfError("say --hits and --particles for particles, or --candidates for reconstructed tracks")
    entries, rows = _read(source, run, tree, tracks=candidates_to is not None)
    settle([*rows, *inspect_hits(entries, str(source), run)])
    if candidates_to is not None:
        write_candidates(entries, run.polarity, candidates_to, made_with)
    elif hits_to is not None and particles_to is not None:
        write_particles(entries, hits_to, particles_to)


def _read(
    source: str | Path, run: Run, tree: str | None, *, tracks: bool
) -> tuple[Entries, list[Inspection]]:
    """Return the entries of a source without rows that cannot be, and what there is to say about its rows."""
    paths = matching(source)
    read = read_trees(paths, run.geometry, tree)
    begin = np.cumsum([0, *(len(one.of["event"]) for one in read.values())])

    def place(row: int) -> str:
        number = int(np.searchsorted(begin, row, side="right")) - 1
        return f"{row - begin[number]}" + (f" of {[*read][number].name}" if len(read) > 1 else "")

    entries, findings = sifted(
        joined([*read.values()]), str(source), run.geometry, tracks=tracks, place=place
    )
    empty = [Figure("files without entries", float(len(paths) - len(read)))] if len(read) < len(paths) else []
    told: list[Figure | Finding] = [*empty, *findings]
    return entries, [Inspection.of(f"{source}: rows", told)] if told else []


def take_tables(
    hits: Path, tracks: Path, *, hits_to: Path, particles_to: Path, checks: tuple[Run, Settle] | None = None
) -> None:
    """Import two Parquet files; with physics `checks`, rows that cannot be are left out, as of trees."""
    entries = read_tables(hits, tracks)
    if checks is not None:
        run, settle = checks
        entries, findings = sifted(entries, str(hits), run.geometry, tracks=False)
        rows = [Inspection.of(f"{tracks}: rows", findings)] if findings else []
        settle([*rows, *inspect_hits(entries, str(hits), run)])
    write_particles(entries, hits_to, particles_to)
