"""Entries as the columns of this project's tables: hits and particles, or candidates."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, VELO_PLANES
from parkf.imports.hits.entries import Entries
from parkf.imports.hits.full_simulation import masses
from parkf.imports.hits.track_fits import Z_SCIFI, choose_ut, fit_scifi, fit_ut, grid_of
from parkf.io.tables import CANDIDATES, HITS, PARTICLES, SCIFI_LAYERS, VELO_SLOTS, Table

_NO_COLLISION = -1


def slots(entries: Entries) -> dict[str, NDArray[Any]]:
    """Hits of each entry in the slots of a candidate.

    Returns
    -------
    dict
        `velo_n` (n,), and the hits' columns of CANDIDATES as (n, slots) float64 with NaN; also ``ut_rows``
        and ``scifi_rows``, (n, layers) rows of the hits or -1.
    """
    hits, count = entries.hits, len(entries.of["event"])
    found: dict[str, NDArray[Any]] = {}

    def of(planes: range) -> tuple[NDArray[Any], NDArray[Any]]:
        rows = np.flatnonzero((hits["plane"] >= planes.start) & (hits["plane"] < planes.stop))
        return rows, hits["plane"][rows] - planes.start

    rows, layer = of(UT_PLANES)
    columns = {name: hits[name][rows] for name in ("x", "z", "dxdy", "sigma")}
    chosen = choose_ut(hits["entry"][rows], layer, columns, count)
    found["ut_rows"] = np.where(chosen >= 0, rows[chosen] if len(rows) else -1, -1)
    rows, layer = of(SCIFI_PLANES)
    chosen = grid_of(hits["entry"][rows], layer, count, SCIFI_LAYERS)[:, :, 0]
    found["scifi_rows"] = np.where(chosen >= 0, rows[chosen] if len(rows) else -1, -1)
    for name in ("ut", "scifi"):
        taken = found[f"{name}_rows"]
        for column in ("x", "z", "dxdy", "sigma"):
            values = hits[column][np.maximum(taken, 0)]
            found[f"{name}_{column}"] = np.where(taken >= 0, values, np.nan)
    rows, _ = of(VELO_PLANES)
    order = rows[np.lexsort([hits["z"][rows], hits["entry"][rows]])]
    place = np.arange(len(order)) - np.searchsorted(hits["entry"][order], hits["entry"][order], side="left")
    fits = place < VELO_SLOTS
    found["velo_n"] = np.bincount(hits["entry"][order[fits]], minlength=count)
    for axis in "xyz":
        places = np.full((count, VELO_SLOTS), np.nan)
        places[hits["entry"][order[fits]], place[fits]] = hits[axis][order[fits]]
        found[f"velo_{axis}"] = places
    return found


def write_particles(entries: Entries, hits_to: Path, particles_to: Path) -> None:
    """Write entries as particles with their hits; those of p < 0 are hits without a particle.

    Parameters
    ----------
    entries : Entries
    hits_to, particles_to : Path
        Tables HITS and PARTICLES.
    """
    of, hits = entries.of, entries.hits
    true = of["p"] > 0
    owner = np.where(true, of["key"], -1)
    columns = {
        "event": of["event"][hits["entry"]],
        "particle": owner[hits["entry"]],
        **{name: hits[name] for name in ("plane", "x", "y", "z", "dxdy", "dzdy", "sigma")},
    }
    _write(HITS, hits_to, columns, ("event", "plane", "x"))
    kept = {name: values[true] for name, values in of.items()}
    particles = {
        "event": kept["event"],
        "particle": kept["key"],
        "collision": np.full(int(true.sum()), _NO_COLLISION),
        "pdg_id": kept["pid"],
        "mother": np.zeros(int(true.sum())),
        "charge": charges(kept["pid"]),
        "mass": masses(kept["pid"]),
        **{name: kept[name] for name in ("x", "y", "z", "px", "py", "pz")},
        # The file does not say where a particle ends.
        "z_end": np.full(int(true.sum()), np.inf),
    }
    _write(PARTICLES, particles_to, particles, ("event", "particle"))


def write_candidates(entries: Entries, polarity: int, path: Path) -> None:
    """Write entries as candidates: reconstructed tracks with the momentum that they say.

    The charge is that which the bend between UT and SciFi has in this polarity: tracks do not say it.

    Parameters
    ----------
    entries : Entries
    polarity : int
        +1 MagUp, -1 MagDown.
    path : Path
        Table CANDIDATES; purity is 1 of tracks that a true particle made, 0 of others, NaN where that is not
        said.
    """
    taken = slots(entries)
    of = entries.of
    columns = {
        "event": of["event"],
        "candidate": of["key"],
        "polarity": np.full(len(of["event"]), polarity),
        "qop": charge_by_bend(taken, polarity) / of["p"],
        "particle": np.where(of["matched"] > 0, of["key"], -1),
        "purity": np.where(of["matched"] < 0, np.nan, of["matched"]),
        **taken,
    }
    order = np.lexsort([columns["candidate"], columns["event"]])
    arrays = []
    for name, kind in CANDIDATES.columns:
        values = columns[name][order]
        if pa.types.is_fixed_size_list(kind):
            values = values.astype(np.float32)
            arrays.append(pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), kind.list_size))
        else:
            arrays.append(pa.array(values.astype(kind.to_pandas_dtype())))
    with CANDIDATES.writer(path) as writer:
        writer.write_table(pa.Table.from_arrays(arrays, schema=CANDIDATES.schema))


def charge_by_bend(taken: dict[str, NDArray[Any]], polarity: int) -> NDArray[np.float64]:
    """Sign (n,) of the charge: in MagDown a positive one bends to +x."""
    ut = fit_ut(*(taken[f"ut_{name}"] for name in ("x", "z", "dxdy", "sigma")))
    lean = np.zeros_like(taken["scifi_x"])
    fibres = [taken[f"scifi_{name}"] for name in ("x", "z", "dxdy")]
    scifi = fit_scifi(fibres[0], fibres[1], fibres[2], lean, taken["scifi_sigma"])
    # Where the slope in the UT is missing, that of the line from the origin to the SciFi's middle is used.
    before = np.where(np.isfinite(ut.values[:, 1]), ut.values[:, 1], scifi.values[:, 0] / Z_SCIFI)
    bend = scifi.values[:, 1] - before
    return np.where(np.isfinite(bend) & (bend != 0), -polarity * np.sign(bend), 1.0)


def charges(pid: NDArray[Any]) -> NDArray[np.float64]:
    """Charges (n,) in elementary charges, by PDG number."""
    import pythia8mc

    data = pythia8mc.Pythia("", False).particleData
    kinds, kind = np.unique(pid, return_inverse=True)
    return np.array([data.charge(int(each)) for each in kinds])[kind]


def _write(table: Table, path: Path, columns: dict[str, NDArray[Any]], order: tuple[str, ...]) -> None:
    rows = np.lexsort([columns[name] for name in reversed(order)])
    arrays = [pa.array(columns[name][rows].astype(kind.to_pandas_dtype())) for name, kind in table.columns]
    with table.writer(path) as writer:
        writer.write_table(pa.Table.from_arrays(arrays, schema=table.schema))
