"""Import of hits in all formats: read, inspected and written."""

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa

from parkf.imports.hits.detectors_tree import read_tree
from parkf.imports.hits.digitised import read_csv_folder
from parkf.imports.hits.entries import Entries, write_candidates, write_particles
from parkf.imports.hits.full_simulation import converted, write
from parkf.imports.hits.physics import Run, inspect_hits
from parkf.io.errors import ParkfError
from parkf.io.events import particle_key
from parkf.io.findings import Inspection
from parkf.io.tables import HITS, PARTICLES

# Function that receives the inspections before anything is written, and raises to prevent the writing.
Settle = Callable[[list[Inspection]], None]


def take_entries(
    source: Path,
    run: Run,
    *,
    settle: Settle,
    hits_to: Path | None = None,
    particles_to: Path | None = None,
    candidates_to: Path | None = None,
    made_with: Mapping[str, str] | None = None,
) -> None:
    """Import a `Hits_detectors` tree (.root), or a folder of CSV.

    Particles are written to `hits_to` and `particles_to`, tables HITS and PARTICLES; reconstructed tracks to
    `candidates_to`, table CANDIDATES with `made_with` in its metadata. Either the first two paths or the
    third must be given.
    """
    as_particles = hits_to is not None and particles_to is not None
    if as_particles == (candidates_to is not None) or (hits_to is None) != (particles_to is None):
        raise ParkfError("say --hits and --particles for particles, or --candidates for reconstructed tracks")
    entries = read_csv_folder(source, run.geometry) if source.is_dir() else read_tree(source, run.geometry)
    settle(inspect_hits(entries, str(source), run))
    if candidates_to is not None:
        write_candidates(entries, run.polarity, candidates_to, made_with)
    elif hits_to is not None and particles_to is not None:
        write_particles(entries, hits_to, particles_to)


def take_tables(
    hits: Path, tracks: Path, *, hits_to: Path, particles_to: Path, checks: tuple[Run, Settle] | None = None
) -> None:
    """Import two Parquet files as :func:`converted` does, after the physics `checks` if there are any."""
    found, particles = converted(hits, tracks)
    if checks is not None:
        run, settle = checks
        settle(inspect_hits(_entries(found, particles).checked(str(hits)), str(hits), run))
    write(HITS, found, hits_to)
    write(PARTICLES, particles, particles_to)


def _entries(hits: pa.Table, particles: pa.Table) -> Entries:
    """Convert tables HITS and PARTICLES; hits without a particle are left out."""
    found, of = ({name: rows[name].to_numpy() for name in rows.column_names} for rows in (hits, particles))
    # Particles are sorted by event and number.
    known, wanted = particle_key(of), particle_key(found)
    row = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    owned = known[row] == wanted
    columns = {name: found[name][owned] for name in ("plane", "x", "y", "z", "dxdy", "dzdy", "sigma")}
    columns |= {"entry": row[owned]} | dict.fromkeys(("y_begin", "y_end"), np.full(owned.sum(), np.nan))
    properties = {
        **{name: of[name] for name in ("event", "x", "y", "z", "px", "py", "pz")},
        "key": of["particle"],
        "pid": of["pdg_id"],
        "p": np.sqrt(of["px"] ** 2 + of["py"] ** 2 + of["pz"] ** 2),
        "matched": np.full(len(known), -1),
    }
    return Entries(properties, columns)
