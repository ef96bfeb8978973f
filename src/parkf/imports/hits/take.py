"""Hits of others, in whichever format they come, looked at and written."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from parkf.detector.field import FieldMap
from parkf.detector.geometry import Geometry
from parkf.imports.hits.columns import write_candidates, write_particles
from parkf.imports.hits.detectors_tree import read_tree
from parkf.imports.hits.digitised import read_csv_folder
from parkf.imports.hits.entries import Entries
from parkf.imports.hits.full_simulation import import_hits
from parkf.imports.hits.physics import inspect_hits
from parkf.imports.inspection import Inspection
from parkf.io.errors import ParkfError
from parkf.io.files import UNFINISHED
from parkf.io.tables import HITS, PARTICLES

Settle = Callable[[list[Inspection]], None]


@dataclass(frozen=True)
class Run:
    """What hits are held against.

    Attributes
    ----------
    field : FieldMap
    polarity : int
        +1 MagUp, -1 MagDown.
    geometry : Geometry
    threads : int
    """

    field: FieldMap
    polarity: int
    geometry: Geometry
    threads: int = 1

    def inspect(self, entries: Entries, subject: str) -> list[Inspection]:
        """Ask physics."""
        return inspect_hits(
            entries,
            subject,
            field=self.field,
            polarity=self.polarity,
            geometry=self.geometry,
            threads=self.threads,
        )


def take_entries(
    source: Path,
    run: Run,
    *,
    settle: Settle,
    hits_to: Path | None = None,
    particles_to: Path | None = None,
    candidates_to: Path | None = None,
) -> None:
    """Take over a `Hits_detectors` tree (.root), or a folder of CSV.

    Parameters
    ----------
    source : Path
    run : Run
    settle : callable
        Takes the inspections before anything is written, and raises where it must not be.
    hits_to, particles_to : Path, optional
        Tables HITS and PARTICLES, where entries are particles.
    candidates_to : Path, optional
        Table CANDIDATES, where entries are reconstructed tracks.

    Raises
    ------
    ParkfError
        When the source cannot be read, `settle` says no, or not just one of both is asked for.
    """
    as_particles = hits_to is not None and particles_to is not None
    if as_particles == (candidates_to is not None) or (hits_to is None) != (particles_to is None):
        raise ParkfError("say --hits and --particles for particles, or --candidates for reconstructed tracks")
    entries = read_csv_folder(source, run.geometry) if source.is_dir() else read_tree(source, run.geometry)
    settle(run.inspect(entries, str(source)))
    if candidates_to is not None:
        write_candidates(entries, run.polarity, candidates_to)
    elif hits_to is not None and particles_to is not None:
        write_particles(entries, hits_to, particles_to)


def take_tables(
    hits: Path, tracks: Path, run: Run | None, *, settle: Settle, hits_to: Path, particles_to: Path
) -> None:
    """Take over two Parquet files, as :func:`parkf.imports.hits.full_simulation.import_hits` reads them.

    Without a `run` nothing is known that they could be held against.
    """
    hits_to.parent.mkdir(parents=True, exist_ok=True)
    particles_to.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=".import-", suffix=UNFINISHED, dir=hits_to.parent) as scratch:
        staged = {name: Path(scratch) / f"{name}.parquet" for name in ("hits", "particles")}
        import_hits(hits, tracks, hits_to=staged["hits"], particles_to=staged["particles"])
        if run is not None:
            settle(run.inspect(_entries(staged["hits"], staged["particles"]), str(hits)))
    import_hits(hits, tracks, hits_to=hits_to, particles_to=particles_to)


def _entries(hits: Path, particles: Path) -> Entries:
    """Read this project's tables; hits without a particle are left out."""
    of = {name: PARTICLES.open(particles).read()[name].to_numpy() for name, _ in PARTICLES.columns}
    found = {name: HITS.open(hits).read()[name].to_numpy() for name, _ in HITS.columns}
    # Tables are sorted by event and particle.
    known, wanted = (
        columns["event"].astype(np.int64) * (1 << 32) + columns["particle"] for columns in (of, found)
    )
    place = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    owned = known[place] == wanted
    columns = {name: found[name][owned] for name in ("plane", "x", "y", "z", "dxdy", "dzdy", "sigma")}
    return Entries(
        {
            **{name: of[name] for name in ("event", "x", "y", "z", "px", "py", "pz")},
            "key": of["particle"],
            "pid": of["pdg_id"],
            "p": np.sqrt(of["px"] ** 2 + of["py"] ** 2 + of["pz"] ** 2),
            "matched": np.full(len(known), -1),
        },
        columns | {"entry": place[owned]},
        np.full((int(owned.sum()), 2), np.nan),
    ).checked(str(hits))
