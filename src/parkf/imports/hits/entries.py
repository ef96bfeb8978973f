"""Particles or tracks with their hits: the common form of all formats, and the tables of this project."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, VELO_PLANES
from parkf.fit.hits import event_kind
from parkf.imports.hits.particle_data import charges, masses
from parkf.imports.hits.track_fits import Z_SCIFI, choose_ut, fit_scifi, fit_ut, grid_of
from parkf.io.arrow import table as arrow_table
from parkf.io.events import Columns, select
from parkf.io.tables import CANDIDATES, HITS, PARTICLES, VELO_SLOTS, Table

HIT_COLUMNS = ("entry", "plane", "x", "y", "z", "dxdy", "dzdy", "sigma", "y_begin", "y_end")
_STRIP = ("x", "z", "dxdy", "sigma")


@dataclass(frozen=True)
class Entries:
    """Particles or tracks with their hits; hits without a particle belong to entries of p < 0."""

    # Columns (n,): event, key, pid (PDG number, 0: unknown), p, px, py, pz (momentum in MeV), x, y, z (origin
    # of particles, or position of the file's state of tracks, in mm), matched (1 for an entry from a true
    # particle, 0 for others, -1 if this is not known). Files may also say mother, charge, mass and z_end.
    of: Columns
    # `HIT_COLUMNS` (m,): row of the entry, plane, point in mm (for UT and SciFi, x and z of the strip at
    # y = 0, and y in its middle), dx/dy, dz/dy, σ in mm, and the ends of the strip in mm, NaN if not known.
    hits: Columns


def slots(entries: Entries) -> Columns:
    """Hits of each entry in the slots of a candidate.

    Return `velo_n` (n,), and the hits' columns of CANDIDATES as (n, slots) float64, NaN in empty slots; also
    ``ut_rows`` and ``scifi_rows``, (n, layers) rows of the hits or -1.
    """
    hits, count = entries.hits, len(entries.of["event"])
    found: Columns = {}
    for name, planes in (("ut", UT_PLANES), ("scifi", SCIFI_PLANES)):
        rows = np.flatnonzero((hits["plane"] >= planes.start) & (hits["plane"] < planes.stop))
        layer = hits["plane"][rows] - planes.start
        if name == "ut":
            columns = {column: hits[column][rows] for column in _STRIP}
            chosen = choose_ut(hits["entry"][rows], layer, columns, count)
        else:
            chosen = grid_of(hits["entry"][rows], layer, count, len(planes))[:, :, 0]
        used = np.where(chosen >= 0, rows[chosen] if len(rows) else -1, -1)
        found[f"{name}_rows"] = used
        for column in _STRIP:
            found[f"{name}_{column}"] = np.where(used >= 0, hits[column][np.maximum(used, 0)], np.nan)
    rows = np.flatnonzero(hits["plane"] < VELO_PLANES.stop)
    rows = rows[np.lexsort([hits["z"][rows], hits["entry"][rows]])]
    entry = hits["entry"][rows]
    slot = np.arange(len(rows)) - np.searchsorted(entry, entry, side="left")
    fits = slot < VELO_SLOTS
    found["velo_n"] = np.bincount(entry[fits], minlength=count)
    for axis in "xyz":
        found[f"velo_{axis}"] = points = np.full((count, VELO_SLOTS), np.nan)
        points[entry[fits], slot[fits]] = hits[axis][rows[fits]]
    return found


def strips(found: Columns, detector: str) -> list[NDArray[Any]]:
    """Columns x, z, dxdy and sigma of `slots`, of "ut" or "scifi", (n, layers) each."""
    return [found[f"{detector}_{name}"] for name in _STRIP]


def write_particles(entries: Entries, hits_to: Path, particles_to: Path) -> None:
    """Write entries as particles with their hits, tables HITS and PARTICLES."""
    of, hits = entries.of, entries.hits
    true = of["p"] > 0
    columns = {
        "event": of["event"][hits["entry"]],
        "particle": np.where(true, of["key"], -1)[hits["entry"]],
        **{name: hits[name] for name in ("plane", "x", "y", "z", "dxdy", "dzdy", "sigma")},
    }
    kept = select(of, true)
    count = int(true.sum())
    particles = {
        "event": kept["event"],
        "particle": kept["key"],
        "collision": np.full(count, -1),  # unknown
        "pdg_id": kept["pid"],
        **{name: kept[name] for name in ("x", "y", "z", "px", "py", "pz")},
        "mother": kept.get("mother", np.zeros(count)),
        "charge": kept["charge"] if "charge" in kept else charges(kept["pid"]),
        "mass": kept["mass"] if "mass" in kept else masses(kept["pid"]),
        "z_end": kept.get("z_end", np.full(count, np.inf)),
    }
    for table, rows, path in zip(*_tables_of(columns, particles), (hits_to, particles_to), strict=True):
        with table.writer(path) as writer:
            writer.write_table(rows)


def write_candidates(
    entries: Entries, polarity: int, path: Path, made_with: Mapping[str, str] | None = None
) -> None:
    """Write entries as candidates: reconstructed tracks with the momentum of the file, table CANDIDATES.

    The file has no charge of tracks, so the charge is inferred from the bend between UT and SciFi in this
    polarity (+1 MagUp, -1 MagDown). Purity is 1 for tracks of a true particle, 0 for others, and NaN if this
    is not known. `made_with` is metadata for the table.
    """
    found, of = slots(entries), entries.of
    ut = fit_ut(*strips(found, "ut")).values
    scifi = fit_scifi(np.zeros_like(found["scifi_x"]), *strips(found, "scifi")).values
    # If the slope in the UT is missing, the slope from the origin to the SciFi's middle is used.
    bend = scifi[:, 1] - np.where(np.isfinite(ut[:, 1]), ut[:, 1], scifi[:, 0] / Z_SCIFI)
    # In MagDown a positive charge bends to +x.
    charge = np.where(np.isfinite(bend) & (bend != 0), -polarity * np.sign(bend), 1.0)
    columns = {
        "event": of["event"],
        "candidate": of["key"],
        "polarity": np.full(len(of["event"]), polarity),
        "qop": charge / of["p"],
        "particle": np.where(of["matched"] > 0, of["key"], -1),
        "purity": np.where(of["matched"] < 0, np.nan, of["matched"]),
        **found,
    }
    table = CANDIDATES.with_events(event_kind(of["event"]))
    with table.writer(path, made_with) as writer:
        writer.write_table(_sorted(table, columns, "event", "candidate"))


def _tables_of(hits: Columns, particles: Columns) -> tuple[tuple[Table, Table], tuple[pa.Table, pa.Table]]:
    """Return the tables `parkf.io.tables.HITS` and `PARTICLES`, and their sorted rows.

    Where event numbers need 64 bits, events are counted from 0, and their own numbers are in the additional
    column ``event_number``: what reads these tables has 32 bits for an event.
    """
    tables: tuple[Table, Table] = (HITS, PARTICLES)
    both = np.concatenate([of["event"].astype(np.int64) for of in (hits, particles)])
    numbers, event = np.unique(both, return_inverse=True)
    if event_kind(numbers) == np.int64:
        parts = (event[: len(hits["event"])], event[len(hits["event"]) :])
        own = (("event_number", np.dtype(np.int64)),)
        tables = (HITS.with_columns(own), PARTICLES.with_columns(own))
        hits, particles = (
            of | {"event": part, "event_number": numbers[part]}
            for of, part in zip((hits, particles), parts, strict=True)
        )
    in_order = _sorted(tables[0], hits, "event", "plane", "x")
    return tables, (in_order, _sorted(tables[1], particles, "event", "particle"))


def _sorted(table: Table, columns: Columns, *order: str) -> pa.Table:
    """Rows of a table from its columns (n,), sorted by the columns of `order`, by the first one first."""
    rows = np.lexsort([columns[name] for name in reversed(order)])
    return arrow_table({name: columns[name][rows] for name, _ in table.columns}, table.schema)
