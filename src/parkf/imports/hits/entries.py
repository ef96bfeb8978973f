"""Particles or tracks with their hits, as all formats of hits are read, and as tables of this project."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkf.detector.geometry import PLANES, SCIFI_PLANES, UT_PLANES, VELO_PLANES
from parkf.imports.hits.full_simulation import charges, masses, write_sorted
from parkf.imports.hits.track_fits import Z_SCIFI, choose_ut, fit_scifi, fit_ut, grid_of
from parkf.io.errors import ParkfError
from parkf.io.tables import CANDIDATES, HITS, PARTICLES, VELO_SLOTS

PROPERTIES = ("event", "key", "pid", "p", "px", "py", "pz", "x", "y", "z", "matched")
HIT_COLUMNS = ("entry", "plane", "x", "y", "z", "dxdy", "dzdy", "sigma")
_STRIP = ("x", "z", "dxdy", "sigma")
_NO_COLLISION = -1


@dataclass(frozen=True)
class Entries:
    """Particles or tracks with their hits.

    Attributes
    ----------
    of : dict of str to (n,) array
        `PROPERTIES` of each: event, key, PDG number (0: unknown), momentum in MeV, its components, origin in
        mm (of tracks, the position of the state in the file), and whether a true particle made it: 1, 0, or
        -1 where that is not known. Hits without a particle belong to entries of p < 0.
    hits : dict of str to (m,) array
        `HIT_COLUMNS`: the row of the entry, plane, point in mm (UT and SciFi: x and z of the strip at y = 0,
        y in its middle), dx/dy, dz/dy, σ in mm.
    y_range : (m, 2) float64
        Ends of the strip, mm; NaN in the VELO.
    measured : bool
        Whether hits and errors are the file's; else hits are where particles went, and errors the geometry's.
    """

    of: dict[str, NDArray[Any]]
    hits: dict[str, NDArray[Any]]
    y_range: NDArray[np.float64]
    measured: bool = True

    def checked(self, name: str) -> "Entries":
        """Return the entries if they are numbers on known planes.

        Raises
        ------
        ParkfError
            When a number is not finite, a plane unknown, an error not positive, or nothing is there.
        """
        if not len(self.of["event"]):
            raise ParkfError(f"{name}: no particle or track in it")
        if not len(self.hits["x"]):
            raise ParkfError(f"{name}: no hit in it")
        for columns, of in ((self.of, "particle"), (self.hits, "hit")):
            for column, values in columns.items():
                bad = ~np.isfinite(values.astype(np.float64))
                if bad.any():
                    raise ParkfError(
                        f"{name}: '{column}' of {of} {int(np.argmax(bad))} is not a finite number"
                    )
        unknown = (self.hits["plane"] < 0) | (self.hits["plane"] >= PLANES)
        if unknown.any():
            raise ParkfError(f"{name}: hit {int(np.argmax(unknown))} lies on no plane of the detector")
        if (self.hits["sigma"] <= 0).any():
            raise ParkfError(f"{name}: hit {int(np.argmin(self.hits['sigma']))} has no positive error")
        return self


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

    for name, planes in (("ut", UT_PLANES), ("scifi", SCIFI_PLANES)):
        rows, layer = of(planes)
        if name == "ut":
            columns = {column: hits[column][rows] for column in _STRIP}
            chosen = choose_ut(hits["entry"][rows], layer, columns, count)
        else:
            chosen = grid_of(hits["entry"][rows], layer, count, len(planes))[:, :, 0]
        used = np.where(chosen >= 0, rows[chosen] if len(rows) else -1, -1)
        found[f"{name}_rows"] = used
        for column in _STRIP:
            found[f"{name}_{column}"] = np.where(used >= 0, hits[column][np.maximum(used, 0)], np.nan)
    rows, _ = of(VELO_PLANES)
    order = rows[np.lexsort([hits["z"][rows], hits["entry"][rows]])]
    slot = np.arange(len(order)) - np.searchsorted(hits["entry"][order], hits["entry"][order], side="left")
    fits = slot < VELO_SLOTS
    found["velo_n"] = np.bincount(hits["entry"][order[fits]], minlength=count)
    for axis in "xyz":
        points = np.full((count, VELO_SLOTS), np.nan)
        points[hits["entry"][order[fits]], slot[fits]] = hits[axis][order[fits]]
        found[f"velo_{axis}"] = points
    return found


def strips(found: dict[str, NDArray[Any]], detector: str) -> list[NDArray[Any]]:
    """Columns x, z, dxdy and sigma of `slots`, of "ut" or "scifi", (n, layers) each."""
    return [found[f"{detector}_{name}"] for name in _STRIP]


def write_particles(entries: Entries, hits_to: Path, particles_to: Path) -> None:
    """Write entries as particles with their hits, tables HITS and PARTICLES.

    Entries of p < 0 are hits without a particle.
    """
    of, hits = entries.of, entries.hits
    true = of["p"] > 0
    columns = {
        "event": of["event"][hits["entry"]],
        "particle": np.where(true, of["key"], -1)[hits["entry"]],
        **{name: hits[name] for name in ("plane", "x", "y", "z", "dxdy", "dzdy", "sigma")},
    }
    write_sorted(HITS, hits_to, columns, ("event", "plane", "x"))
    kept = {name: values[true] for name, values in of.items()}
    count = int(true.sum())
    particles = {
        "event": kept["event"],
        "particle": kept["key"],
        "collision": np.full(count, _NO_COLLISION),
        "pdg_id": kept["pid"],
        "mother": np.zeros(count),
        "charge": charges(kept["pid"]),
        "mass": masses(kept["pid"]),
        **{name: kept[name] for name in ("x", "y", "z", "px", "py", "pz")},
        # The file does not contain where a particle ends.
        "z_end": np.full(count, np.inf),
    }
    write_sorted(PARTICLES, particles_to, particles, ("event", "particle"))


def write_candidates(entries: Entries, polarity: int, path: Path) -> None:
    """Write entries as candidates: reconstructed tracks with the momentum of the file, table CANDIDATES.

    Tracks have no charge in the file, so it is inferred from the bend between UT and SciFi in this polarity
    (+1 MagUp, -1 MagDown). Purity is 1 of tracks that a true particle made, 0 of others, NaN where that is
    not known.
    """
    found, of = slots(entries), entries.of
    columns = {
        "event": of["event"],
        "candidate": of["key"],
        "polarity": np.full(len(of["event"]), polarity),
        "qop": charge_by_bend(found, polarity) / of["p"],
        "particle": np.where(of["matched"] > 0, of["key"], -1),
        "purity": np.where(of["matched"] < 0, np.nan, of["matched"]),
        **found,
    }
    write_sorted(CANDIDATES, path, columns, ("event", "candidate"))


def charge_by_bend(found: dict[str, NDArray[Any]], polarity: int) -> NDArray[np.float64]:
    """Sign (n,) of the charge: in MagDown a positive one bends to +x."""
    ut = fit_ut(*strips(found, "ut"))
    scifi = fit_scifi(np.zeros_like(found["scifi_x"]), *strips(found, "scifi"))
    # Where the slope in the UT is missing, that of the line from the origin to the SciFi's middle is used.
    before = np.where(np.isfinite(ut.values[:, 1]), ut.values[:, 1], scifi.values[:, 0] / Z_SCIFI)
    bend = scifi.values[:, 1] - before
    return np.where(np.isfinite(bend) & (bend != 0), -polarity * np.sign(bend), 1.0)
