"""Track candidates: matched segments with UT hits, in the table that a fitter reads."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from parkf.detector.field import FieldMap
from parkf.detector.geometry import Geometry
from parkf.io.arrow import table
from parkf.io.events import Columns, count_events, read_by_event, select
from parkf.io.kinds import LONG, Kind
from parkf.io.option_types import Segments
from parkf.io.planes import SCIFI_LAYERS
from parkf.io.tables import CANDIDATES, HITS, VELO_SLOTS
from parkf.io.terminal import progress_bar
from parkf.io.workers import parallel_map
from parkf.simulation.groups import best_of_each, ragged
from parkf.simulation.pattern.downstream import find_ut_hits_behind
from parkf.simulation.pattern.magnet import MagnetModel, fit_magnet_model
from parkf.simulation.pattern.matching import match_segments
from parkf.simulation.pattern.own_hits import find_own_hits
from parkf.simulation.pattern.scifi import SciFiSegments, find_scifi_segments, search_scifi
from parkf.simulation.pattern.seed import first_h
from parkf.simulation.pattern.strips import Strips
from parkf.simulation.pattern.ut import find_ut_hits, find_ut_hits_of_any_momentum
from parkf.simulation.pattern.velo import VeloSegments, find_velo_segments, search_velo
from parkf.simulation.plausible import check_hits

# Hits are read in pieces of this many events, or of more if these have fewer hits, as signals do.
EVENTS_PER_CHUNK = 10
_HITS_PER_CHUNK = 40_000

Found = TypeVar("Found", VeloSegments, SciFiSegments)


def find_candidates(
    hits_path: Path,
    path: Path,
    *,
    geometry: Geometry,
    field: FieldMap,
    polarity: int,
    workers: int | None = None,
    segments: Segments = "truth",
    matched: bool = False,
    kind: Kind = LONG,
    made_with: Mapping[str, str] | None = None,
) -> None:
    """Find track candidates in simulated hits, with any number of `workers` (all cores by default).

    Hits are a table `parkf.io.tables.HITS`, sorted by event. Candidates are a table `CANDIDATES`, sorted by
    event and candidate. With `segments` "found", segments are searched for in the hits alone. With "truth",
    the search for a segment begins with the hits that belong to one particle by truth. Candidates with hits
    of several particles are kept. Other kinds than long tracks are searched for in what these leave over.
    With `matched` there is no search: a candidate has the hits that one
    particle of a `kind` left behind, by truth. The polarity is +1 for MagUp, -1 for MagDown. Geometry and
    field are those that the pattern recognition assumes; `made_with` is metadata for the table. Hits that
    cannot be read raise a ParkfError.
    """
    search = Search(geometry, fit_magnet_model(field, geometry), polarity)

    def find(hits: Columns) -> dict[str, Columns]:
        found = search.matched(hits, kind) if matched else search.candidates(hits, segments, kind)
        return {kind.name: found}

    paths = {kind.name: path}
    write_candidates(hits_path, paths, find, geometry=geometry, workers=workers, made_with=made_with)


def write_candidates(
    hits_path: Path,
    paths: Mapping[str, Path],
    find: Callable[[Columns], Mapping[str, Columns]],
    *,
    geometry: Geometry,
    workers: int | None = None,
    made_with: Mapping[str, str] | None = None,
) -> None:
    """Write the candidates that `find` makes of the hits of some events, by the names of the `paths`.

    The other arguments are those of :func:`find_candidates`.
    """
    with ExitStack() as stack:
        writers = {
            name: stack.enter_context(CANDIDATES.writer(path, made_with)) for name, path in paths.items()
        }
        bar = stack.enter_context(progress_bar("candidates", "events"))
        for found in parallel_map(find, _pieces(hits_path, geometry, bar), workers):
            for name, columns in found.items():
                writers[name].write_table(table(columns, CANDIDATES.schema))


def _pieces(path: Path, geometry: Geometry, bar: Any) -> Iterator[Columns]:
    for piece in read_by_event(HITS, path, events=EVENTS_PER_CHUNK, rows=_HITS_PER_CHUNK):
        check_hits(piece, path, geometry)
        yield piece
        bar.update(count_events(piece))


@dataclass(frozen=True)
class Search:
    """A pattern recognition in a detector.

    Hits are columns of HITS of some whole events, sorted by event. Candidates are columns of CANDIDATES;
    lists of hits are (n, slots) float32.
    """

    geometry: Geometry
    magnet: MagnetModel
    polarity: int

    def candidates(self, hits: Columns, segments: Segments, kind: Kind = LONG) -> Columns:
        """Find candidates; see :func:`find_candidates`."""
        return self.of_kinds(hits, segments, [kind])[0]

    def of_kinds(self, hits: Columns, segments: Segments, kinds: Iterable[Kind]) -> list[Columns]:
        """Find the candidates of several kinds, each as :meth:`candidates` does, with one search."""
        geometry, magnet = self.geometry, self.magnet
        rows, number = distinct_hits(hits)
        distinct = select(hits, rows)
        if segments == "found":
            velo, scifi = search_velo(distinct, geometry), search_scifi(distinct, geometry, magnet)
            velo = replace(velo, hits=rows_or_none(rows, velo.hits))
            scifi = replace(scifi, hits=rows_or_none(rows, scifi.hits))
        else:
            velo, scifi = find_velo_segments(hits), find_scifi_segments(hits, geometry, magnet)
        i, j, h = match_segments(velo, scifi, magnet)
        ut = find_ut_hits(Strips(distinct, geometry), velo.event[i], velo.lines[i], h, magnet)
        # Without UT hits, a pair may well be segments of two particles.
        sure = (ut >= 0).any(axis=1)

        @cache
        def left_over(in_velo: bool) -> tuple[VeloSegments | SciFiSegments, np.ndarray]:
            """Return the other segments of a detector, and the UT hits of each."""
            strips = Strips(distinct, geometry, taken=ut[sure])
            if in_velo:
                alone = _without(velo, i[sure])
                return alone, find_ut_hits_of_any_momentum(strips, alone.event, alone.lines, magnet)
            behind = _without(scifi, j[sure])
            return behind, find_ut_hits_behind(strips, behind, magnet)

        def of(kind: Kind) -> Columns:
            if kind is LONG:
                own = {"velo": velo.hits[i], "ut": rows_or_none(rows, ut), "scifi": scifi.hits[j]}
                return self._columns(hits, velo.event[i], number, own, h, kind)
            left, found = left_over(kind.velo)
            wanted = (found >= 0).any(axis=1) == kind.ut
            own = {
                "velo": left.hits[wanted] if kind.velo else np.full((wanted.sum(), VELO_SLOTS), -1),
                "ut": rows_or_none(rows, found[wanted]),
                "scifi": left.hits[wanted] if kind.scifi else np.full((wanted.sum(), SCIFI_LAYERS), -1),
            }
            return self._columns(
                hits, left.event[wanted], number, own, first_h(kind, hits, own, magnet), kind
            )

        return [of(kind) for kind in kinds]

    def matched(self, hits: Columns, kind: Kind = LONG) -> Columns:
        """Make a candidate of the hits that each particle of a kind left behind, by truth.

        The momentum is still estimated as in a pattern recognition, from the segments.
        """
        own = find_own_hits(hits, kind)
        h = first_h(kind, hits, own, self.magnet)
        last = np.concatenate(list(own.values()), axis=1).max(axis=1, initial=-1)
        return self._columns(hits, hits["event"][last], distinct_hits(hits)[1], own, h, kind)

    def _columns(
        self, hits: Columns, event: np.ndarray, number: np.ndarray, taken: Columns, h: np.ndarray, kind: Kind
    ) -> Columns:
        """Make the columns of CANDIDATES.

        `event` (n,) ascends. `number` (m,) is the number of the hit that each row of `hits` belongs to, from
        :func:`distinct_hits`. `taken` has rows (n, slots) of `hits` by detector, -1 for an empty slot. `h` is
        polarity · q/p in 1/MeV. Except for long tracks, the purity is that of the detector where it is
        smallest: the UT has so few hits that all of them may be wrong among those of another segment.
        """
        particle, purity = majority(hits["particle"], np.concatenate(list(taken.values()), axis=1), number)
        if kind is not LONG:
            seen = (rows for rows in taken.values() if (rows >= 0).any())
            shares = [share_of(particle, hits["particle"], rows, number) for rows in seen]
            purity = np.minimum.reduce([purity, *shares])
        columns = {
            "event": event,
            "candidate": np.arange(len(event)) - np.searchsorted(event, event),
            "polarity": np.full(len(event), self.polarity),
            "qop": self.polarity * h,
            "velo_n": (taken["velo"] >= 0).sum(1),
            "particle": particle,
            "purity": purity,
        }
        for detector, rows in taken.items():
            for name in ("x", "y", "z") if detector == "velo" else ("x", "z", "dxdy", "sigma"):
                values = np.where(rows >= 0, hits[name][rows], np.nan)
                columns[f"{detector}_{name}"] = values.astype(np.float32)
        return columns


def _without(segments: Found, rows: np.ndarray) -> Found:
    """Return all segments but those in `rows` (m,)."""
    return type(segments)(*(np.delete(values, rows, axis=0) for values in vars(segments).values()))


def distinct_hits(hits: Columns) -> tuple[np.ndarray, np.ndarray]:
    """Find the hits that a detector reports: each occurs once, however many particles made it.

    Hits are columns (m,) of `parkf.io.tables.HITS`, sorted by event, plane and x, with a row for each
    particle of a hit. Return the first row of each hit, (k,), and the number of the hit that each row belongs
    to, (m,).
    """
    run = np.cumsum(_begins(hits["event"], hits["plane"], hits["x"]))
    # Rows of one hit have the same x. Only other hits of this x can lie between them.
    several = np.flatnonzero(np.bincount(run)[run] > 1)
    order = several[np.lexsort((hits["z"][several], hits["y"][several], run[several]))]
    new = _begins(run[order], hits["y"][order], hits["z"][order])
    # The sort is stable, so the first row of a hit after sorting is also its first row in the table.
    first = np.arange(len(run))
    first[order] = order[new][np.cumsum(new) - 1]
    is_first = first == np.arange(len(run))
    return np.flatnonzero(is_first), (np.cumsum(is_first) - 1)[first]


def _begins(*columns: np.ndarray) -> np.ndarray:
    """Mask (m,) of the first row, and of rows that differ from the row before in one of the columns."""
    new = np.arange(len(columns[0])) == 0
    for values in columns:
        new[1:] |= values[1:] != values[:-1]
    return new


def rows_or_none(rows: np.ndarray, hits: np.ndarray) -> np.ndarray:
    """Look up numbers of hits, of any shape, in `rows` (k,); -1, for no hit, stays -1."""
    return np.where(hits >= 0, rows[hits], -1)


def share_of(particle: np.ndarray, made_by: np.ndarray, hits: np.ndarray, number: np.ndarray) -> np.ndarray:
    """Return the fraction (n,) of the hits of candidates that the particle of each, (n,), made.

    `made_by`, `hits` and `number` are those of :func:`majority`.
    """
    made = made_by[hits] == particle[:, None]
    # Only a hit of several particles has other rows than this one.
    several = np.bincount(number)[number] > 1
    left = several[hits] & ~made
    many = made_by.max(initial=-1) + 2
    wanted = (number[hits] * many + particle[:, None])[left]
    made[left] = np.isin(wanted, (number * many + made_by)[several])
    return (made & (hits >= 0)).sum(axis=1) / (hits >= 0).sum(axis=1)


def majority(
    particle: np.ndarray, hits: np.ndarray, number: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Find the particle that made most hits of a candidate, and the fraction of the hits that it made.

    Return both, (n,) each; they are -1 and 0 if no particle made a hit. If two particles made equally many
    hits, the particle with the smaller number is chosen. `particle` (m,) has the particle of each row of the
    table of hits, -1 for noise. `hits` (n, slots) are rows of that table, -1 for an empty slot; a candidate
    has at least one hit. A hit of several particles has a row for each; `number` (m,) has the number of the
    hit that a row belongs to. By default each row is a hit.
    """
    number = np.arange(len(particle)) if number is None else number
    rows = np.argsort(number, kind="stable")
    first = np.concatenate([[0], np.cumsum(np.bincount(number))])
    used = hits >= 0
    owner = np.where(used, particle[hits], -1)
    most, same = owner.max(1), used.sum(1)
    # In most candidates all hits belong to one particle; hits are counted only in the others.
    mixed = np.flatnonzero((np.where(used, owner, most[:, None]) != most[:, None]).any(1) | (most < 0))
    track, slot = np.nonzero(used[mixed])
    which = number[hits[mixed][track, slot]]
    entry, place = ragged(first[which], first[which + 1])
    track, owners = track[entry], particle[rows[place]]
    real = owners >= 0
    pairs, count = np.unique(np.stack([track[real], owners[real]]), axis=1, return_counts=True)
    most[mixed], same[mixed] = -1, 0
    best = best_of_each(np.full(len(mixed), -1), pairs[0], np.arange(len(count)), -count)
    some = best >= 0
    most[mixed[some]], same[mixed[some]] = pairs[1][best[some]], count[best[some]]
    return most, same / used.sum(1)
