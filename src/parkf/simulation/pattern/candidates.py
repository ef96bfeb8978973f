"""Track candidates: matched segments with UT hits, in the table that a fitter reads."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from parkf.detector.field import FieldMap
from parkf.detector.geometry import Geometry
from parkf.io.arrow import table
from parkf.io.events import Columns, read_by_event
from parkf.io.option_types import Segments
from parkf.io.tables import CANDIDATES, HITS
from parkf.io.terminal import progress_bar
from parkf.io.workers import parallel_map
from parkf.simulation.groups import best_of_each, ragged
from parkf.simulation.pattern.distinct import distinct_hits
from parkf.simulation.pattern.found import search_scifi, search_velo
from parkf.simulation.pattern.magnet import MagnetModel, fit_magnet_model
from parkf.simulation.pattern.matching import match_segments
from parkf.simulation.pattern.own_hits import find_own_hits
from parkf.simulation.pattern.scifi import find_scifi_segments
from parkf.simulation.pattern.ut import find_ut_hits
from parkf.simulation.pattern.velo import find_velo_segments
from parkf.simulation.pattern.windows import Windows

EVENTS_PER_CHUNK = 10


def find_candidates(
    hits_path: Path,
    path: Path,
    *,
    geometry: Geometry,
    field: FieldMap,
    polarity: int,
    workers: int | None = None,
    windows: Windows | None = None,
    segments: Segments = "truth",
    matched: bool = False,
) -> None:
    """Find track candidates in simulated hits.

    Only measured hits are used, with one exception: for segments by truth, the truth decides which hits a
    segment search follows. Candidates with hits of several particles are kept.

    Parameters
    ----------
    hits_path : Path
        Table `parkf.io.tables.HITS`, sorted by event.
    path : Path
        Table `parkf.io.tables.CANDIDATES`, sorted by event and candidate.
    geometry, field
        The detector that the pattern recognition assumes.
    polarity : int
        +1 MagUp, -1 MagDown.
    workers : int, optional
        Parallel children, all cores by default.
    windows : Windows, optional
        Search windows.
    segments : {'found', 'truth'}
        Found from hits alone, or those of particles.
    matched : bool
        Leave out the search: a candidate is what one particle left behind, by truth.

    Raises
    ------
    ParkfError
        When the hits cannot be read.
    """
    search = Search(geometry, fit_magnet_model(field, geometry), polarity, windows or Windows())

    def chunk(hits: Columns) -> Columns:
        return search.matched(hits) if matched else search.candidates(hits, segments)

    with CANDIDATES.writer(path) as writer, progress_bar("candidates", "events") as bar:
        pieces = read_by_event(HITS, hits_path, events=EVENTS_PER_CHUNK)
        for columns in parallel_map(chunk, pieces, workers):
            writer.write_table(table(columns, CANDIDATES.schema))
            bar.update(EVENTS_PER_CHUNK)


@dataclass(frozen=True)
class Search:
    """What a pattern recognition knows of the detector, and what it requires of tracks.

    Hits are columns of HITS of some whole events, sorted by event; candidates are columns of CANDIDATES, the
    lists of hits as (n, slots) float32.
    """

    geometry: Geometry
    magnet: MagnetModel
    polarity: int
    windows: Windows

    def candidates(self, hits: Columns, segments: Segments) -> Columns:
        """Find candidates; see :func:`find_candidates`."""
        distinct = distinct_hits(hits)
        if segments == "found":
            velo = search_velo(distinct.hits, self.geometry, self.windows)
            scifi = search_scifi(
                distinct.hits, geometry=self.geometry, magnet=self.magnet, windows=self.windows
            )
            velo_hits, scifi_hits = (distinct.in_table(segment.hits) for segment in (velo, scifi))
        else:
            velo = find_velo_segments(hits, self.windows.velo_hits)
            scifi = find_scifi_segments(
                hits, geometry=self.geometry, magnet=self.magnet, windows=self.windows
            )
            velo_hits, scifi_hits = velo.hits, scifi.hits
        matches = match_segments(velo, scifi, self.magnet, self.windows)
        event = velo.event[matches.velo]
        lines = velo.lines[matches.velo]
        ut = find_ut_hits(
            distinct.hits,
            event,
            lines,
            matches.h,
            geometry=self.geometry,
            magnet=self.magnet,
            window=self.windows.ut,
        )
        taken = {
            "velo": velo_hits[matches.velo],
            "ut": distinct.in_table(ut),
            "scifi": scifi_hits[matches.scifi],
        }
        return self._columns(hits, event, distinct.number, taken, matches.h)

    def matched(self, hits: Columns) -> Columns:
        """Collect what each particle left behind, by truth.

        The momentum is still what a pattern recognition would find.
        """
        own = find_own_hits(hits, self.windows.velo_hits)
        taken = {"velo": own.velo, "ut": own.ut, "scifi": own.scifi}
        return self._columns(hits, own.event, distinct_hits(hits).number, taken, own.h(hits, self.magnet))

    def _columns(
        self, hits: Columns, event: np.ndarray, number: np.ndarray, taken: Columns, h: np.ndarray
    ) -> Columns:
        """Columns of CANDIDATES.

        `event` (n,) ascends. `number` (m,) is the hit of each row of `hits`, as in :func:`distinct_hits`.
        `taken` has rows (n, slots) by detector, -1 for an empty slot. `h` is polarity · q/p in 1/MeV.
        """
        particle, purity = majority(hits["particle"], np.concatenate(list(taken.values()), axis=1), number)
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


def majority(
    particle: np.ndarray, hits: np.ndarray, number: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Find the particle with most of the hits, and the fraction of them that it made, (n,) each.

    Where no hit is of a particle, these are -1 and 0; of two particles with as many hits, it is the
    smaller number.

    Parameters
    ----------
    particle : (m,) int
        Particle of each row of the table of hits, -1 for noise.
    hits : (n, slots) int
        Rows of `particle`, -1 for an empty slot; at least one of a candidate is filled.
    number : (m,) int, optional
        Which hit a row is of, where one of several particles has a row for each; all differ by default.
    """
    number = np.arange(len(particle)) if number is None else number
    rows = np.argsort(number, kind="stable")
    first = np.searchsorted(number[rows], np.arange(number.max(initial=-1) + 2))
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
