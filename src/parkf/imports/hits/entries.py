"""Particles or tracks with their hits: the common form of all formats, and the tables of this project."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, VELO_PLANES
from parkf.fit.hits import event_kind
from parkf.imports.hits.full_simulation import charges, masses, sorted_rows, tables_of, write
from parkf.imports.hits.track_fits import Z_SCIFI, choose_ut, fit_scifi, fit_ut, grid_of
from parkf.io.events import Columns, select
from parkf.io.tables import CANDIDATES, VELO_SLOTS

HIT_COLUMNS = ("entry", "plane", "x", "y", "z", "dxdy", "dzdy", "sigma", "y_begin", "y_end")
_STRIP = ("x", "z", "dxdy", "sigma")


@dataclass(frozen=True)
class Entries:
    """Particles or tracks with their hits; hits without a particle belong to entries of p < 0."""

    # Columns (n,): event, key, pid (PDG number, 0: unknown), p, px, py, pz (momentum in MeV), x, y, z (origin
    # of particles, or position of the file's state of tracks, in mm), matched (1 for an entry from a true
    # particle, 0 for others, -1 if this is not known).
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
        "mother": np.zeros(count),
        "charge": charges(kept["pid"]),
        "mass": masses(kept["pid"]),
        **{name: kept[name] for name in ("x", "y", "z", "px", "py", "pz")},
        # The file does not contain the end points of particles.
        "z_end": np.full(count, np.inf),
    }
    for table, rows, path in zip(*tables_of(columns, particles), (hits_to, particles_to), strict=True):
        write(table, rows, path)


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
        writer.write_table(sorted_rows(table, columns, "event", "candidate"))
