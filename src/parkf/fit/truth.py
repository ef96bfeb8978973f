"""Fitted candidates joined with their truth, some events at a time."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from parkf.io.arrow import numbers
from parkf.io.errors import ParkfError
from parkf.io.events import particle_key, tables_by_event
from parkf.io.tables import (
    BEHIND_VELO,
    CANDIDATES,
    ELECTRON,
    FATES,
    FITTED,
    PARTICLES,
    SCORES,
    STATES,
    Table,
)

if TYPE_CHECKING:
    from parkf.detector.field import FieldMap

EVENTS_AT_ONCE = 100
# Fewest candidates in a piece, on average: where they are rare, more events make a piece.
_CANDIDATES_AT_ONCE = 4000
_FOUND = ("event", "candidate", "particle", "purity", "qop", "polarity", "velo_n")
_LISTS = ("ut_x", "scifi_x")
_STATE = ("x", "y", "tx", "ty")
_TRUTH = ("event", "particle", "pdg_id", "charge", "x", "y", "z", "px", "py", "pz", "z_end")

Columns = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Files:
    """The files of one sample, each sorted by event.

    Without fates, hard scatterings are unknown. Tracks that begin in the layer `first_plane` have the truth
    of `crossings` there.
    """

    particles: Path
    candidates: Path
    fitted: Path = Path()  # none yet
    fates: Path | None = None
    crossings: Path | None = None
    first_plane: int | None = None


def joined(files: Files, field: "FieldMap | None" = None) -> Iterator[Columns]:
    """Yield fits and truth, some events at a time; the columns are those of :class:`Sample`'s rows.

    With `field`, true states are carried through it from the origin to the fitted z, else on a straight line.
    Candidates and fits with different rows, or a file that is not sorted by event, raise a ParkfError.
    """
    events = _events_at_once(files)
    particles = _Pieces(PARTICLES, files.particles, _TRUTH, events)
    fates = _Pieces(FATES, files.fates, ("event", "particle", "hardest"), events)
    crossings = _Pieces(STATES, files.crossings, ("event", "particle", "plane", "z", *_STATE, "p"), events)
    pairs = zip_longest(
        _pieces(
            FITTED,
            files.fitted,
            (*dict(FITTED.columns), *dict(SCORES + BEHIND_VELO + ELECTRON)),
            events,
        ),
        _pieces(CANDIDATES, files.candidates, (*_FOUND, *_LISTS), events),
    )
    for fitted, found in pairs:
        if not fitted or not found or any(fitted[n] != found[n] for n in ("event", "candidate")):
            raise ParkfError(
                f"{files.fitted}: its rows are not those of {files.candidates}; fit this file of candidates"
                " again"
            )
        rows = _columns(fitted.drop_columns(["candidate"]))
        rows |= {name: _columns(found)[name] for name in ("purity", "polarity", "velo_n")}
        rows |= {"seed_qop": numbers(found["qop"])}
        rows["scifi_x"] = _first(numbers(found["scifi_x"]))
        for name in ("ut", "scifi"):
            rows[f"{name}_n"] = np.isfinite(numbers(found[f"{name}_x"])).sum(1).astype(np.int8)
        key = particle_key({name: numbers(found[name]) for name in ("event", "particle")})
        number = int(rows["event"][0]) // events
        (rows["hardest"],) = _looked_up(key, fates.of(number), ["hardest"])
        rows |= _true(rows, key, particles.of(number), field if files.first_plane is None else None)
        if files.first_plane is not None:
            rows |= _true_in_layer(rows, key, crossings.of(number), files.first_plane)
        yield rows


def _events_at_once(files: Files) -> int:
    """Return the number of events in a piece."""
    with FITTED.open(files.fitted) as file:
        groups = [file.metadata.row_group(number) for number in range(file.num_row_groups)]
        column, candidates = file.schema_arrow.get_field_index("event"), file.metadata.num_rows
    if not candidates:
        return EVENTS_AT_ONCE
    first, last = (groups[end].column(column).statistics for end in (0, -1))
    events = _CANDIDATES_AT_ONCE * (last.max - first.min + 1) / candidates
    return EVENTS_AT_ONCE * max(1, round(events / EVENTS_AT_ONCE))


def _pieces(table: Table, path: Path | None, columns: Sequence[str], events: int) -> Iterator[pa.Table]:
    return iter(()) if path is None else tables_by_event(table, path, events=events, columns=list(columns))


class _Pieces:
    """Pieces of a table, read in ascending order; some pieces may be missing."""

    def __init__(self, table: Table, path: Path | None, columns: Sequence[str], events: int) -> None:
        self._pieces = _pieces(table, path, columns, events)
        self._events = events
        self._empty = {name: np.empty(0, kind.to_pandas_dtype()) for name, kind in table.columns}
        self._next: tuple[int, Columns] | None = None

    def of(self, number: int) -> Columns:
        """Return the columns of the piece of this number, or empty ones."""
        while self._next is None or self._next[0] < number:
            piece = next(self._pieces, None)
            if piece is None:
                return self._empty
            columns = _columns(piece)
            self._next = int(columns["event"][0]) // self._events, columns
        return self._next[1] if self._next[0] == number else self._empty


def _first(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the first finite value of each row of (n, m), (n,); NaN where there is none."""
    return values[np.arange(len(values)), np.isfinite(values).argmax(1)]


def _columns(piece: pa.Table) -> Columns:
    flat = [name for name in piece.column_names if name not in _LISTS]
    return {name: numbers(piece.column(name)) for name in flat}


def _looked_up(
    key: NDArray[np.int64], table: Mapping[str, NDArray[Any]], names: Sequence[str]
) -> list[NDArray[np.floating]]:
    """Return columns (n,) of a table by event and particle; NaN where the table has none."""
    known = particle_key(table)
    if not len(known):
        return [np.full(len(key), np.nan, np.result_type(table[name].dtype, np.float32)) for name in names]
    order = np.argsort(known, kind="stable")
    row = order[np.minimum(np.searchsorted(known[order], key), len(known) - 1)]
    return [np.where(known[row] == key, table[name][row], np.float32(np.nan)) for name in names]


def _true_in_layer(rows: Columns, key: NDArray[np.int64], states: Columns, plane: int) -> Columns:
    """Return the truth at the fitted z; NaN where the particle did not cross the layer."""
    here = {name: values[states["plane"] == plane] for name, values in states.items()}
    z, x, y, tx, ty, p = _looked_up(key, here, ["z", *_STATE, "p"])
    # A particle that comes back has its last crossing here; a hit lies millimetres off the layer.
    way = rows["z"] - z
    return {
        "p_true": p,
        "true_x": x + tx * way,
        "true_y": y + ty * way,
        "true_tx": tx,
        "true_ty": ty,
        "true_qop": np.sign(rows["true_qop"]) / p,
    }


def _true(rows: Columns, key: NDArray[np.int64], particles: Columns, field: "FieldMap | None") -> Columns:
    """Return the particle of each candidate; NaN where no particle is known."""
    pdg_id, charge, x, y, z, px, py, pz, z_end = _looked_up(key, particles, _TRUTH[2:])
    p, tx, ty = np.sqrt(px**2 + py**2 + pz**2), px / pz, py / pz
    true = {
        "pdg_id": np.nan_to_num(pdg_id).astype(np.int32),
        "p_true": p,
        "true_tx": tx,
        "true_ty": ty,
        "true_x": x + tx * (rows["z"] - z),
        "true_y": y + ty * (rows["z"] - z),
        "true_qop": charge / p,
        "true_z": z,
        "born": np.hypot(x, y).astype(np.float32),
        "z_end": z_end,
    }
    if field is not None:
        origin = np.column_stack([x, y, tx, ty, charge / p]).astype(np.float64)
        _bend(field, np.asarray(rows["polarity"]), origin, z, rows["z"], true)
    return true


def _bend(
    field: "FieldMap",
    polarity: NDArray[Any],
    origin: NDArray[np.float64],
    z: NDArray[Any],
    to: NDArray[Any],
    true: Columns,
) -> None:
    """Replace true states at `to` (n,) by those of origins (n, 5) at `z` (n,), mm, carried through the field.

    Outside the map there is no field, and the straight line stays.
    """
    from parkf.detector.transport import propagate

    known = np.isfinite(origin).all(axis=1) & np.isfinite(to)
    for one in (-1, 1):
        own = np.flatnonzero(known & (polarity == one))
        moved = propagate(field, one, origin[own], z[own], (to[own], 0.0, 0.0), threads=1)
        own, states = own[moved.ok], moved.states[moved.ok]
        for number, name in enumerate(("true_x", "true_y", "true_tx", "true_ty")):
            true[name][own] = states[:, number]
