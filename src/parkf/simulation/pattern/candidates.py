"""Track candidates: matched segments with UT hits, in the table that a fitter takes."""

from pathlib import Path

import numpy as np

from parkf.detector.field import FieldMap
from parkf.detector.geometry import Geometry
from parkf.io.arrow import table
from parkf.io.events import read_by_event
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
    segment search follows. Candidates whose hits come from several particles occur, and are kept.

    Parameters
    ----------
    hits_path : Path
        Table `parkf.io.tables.HITS`, sorted by event.
    path : Path
        Table `parkf.io.tables.CANDIDATES`, sorted by event and candidate.
    geometry, field
        What the pattern recognition believes in.
    polarity : int
        +1 MagUp, -1 MagDown.
    workers : int, optional
        Parallel children, all cores by default.
    windows : Windows, optional
        Search windows.
    segments : "found" or "truth"
        Found from hits alone, or those of particles.
    matched : bool
        Leave out the search: a candidate is what one particle left behind, by truth.

    Raises
    ------
    ParkfError
        When the hits cannot be read.
    """
    windows = windows or Windows()
    magnet = fit_magnet_model(field, geometry)

    def chunk(hits: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        if matched:
            return matched_candidates_of(hits, magnet=magnet, polarity=polarity, windows=windows)
        return candidates_of(
            hits, geometry=geometry, magnet=magnet, polarity=polarity, windows=windows, segments=segments
        )

    with CANDIDATES.writer(path) as writer, progress_bar("candidates", "events") as bar:
        pieces = read_by_event(HITS, hits_path, events=EVENTS_PER_CHUNK)
        for columns in parallel_map(chunk, pieces, workers):
            writer.write_table(table(columns, CANDIDATES.schema))
            bar.update(EVENTS_PER_CHUNK)


def candidates_of(
    hits: dict[str, np.ndarray],
    *,
    geometry: Geometry,
    magnet: MagnetModel,
    polarity: int,
    windows: Windows,
    segments: Segments,
) -> dict[str, np.ndarray]:
    """Candidates of some whole events.

    Parameters
    ----------
    hits : dict of (m,) arrays
        Columns of HITS, sorted by event.
    geometry, magnet, polarity, windows, segments
        See `find_candidates`.

    Returns
    -------
    dict
        Columns of CANDIDATES; the lists of hits as (n, slots) float32.
    """
    distinct = distinct_hits(hits)
    if segments == "found":
        velo = search_velo(distinct.hits, geometry, windows)
        scifi = search_scifi(distinct.hits, geometry=geometry, magnet=magnet, windows=windows)
        velo_hits, scifi_hits = (distinct.in_table(segment.hits) for segment in (velo, scifi))
    else:
        velo = find_velo_segments(hits, windows.velo_hits)
        scifi = find_scifi_segments(
            hits,
            geometry=geometry,
            z_reference=magnet.z_scifi,
            cubic_ratio=magnet.cubic_ratio,
            fewest=windows.scifi_layers,
            window=windows.scifi,
        )
        velo_hits, scifi_hits = velo.hits, scifi.hits
    matches = match_segments(velo, scifi, magnet, windows)
    event = velo.event[matches.velo]
    ut = find_ut_hits(
        distinct.hits,
        event,
        velo.lines[matches.velo],
        matches.h,
        geometry=geometry,
        magnet=magnet,
        window=windows.ut,
    )
    return candidate_columns(
        hits,
        event,
        number=distinct.number,
        velo=velo_hits[matches.velo],
        ut=distinct.in_table(ut),
        scifi=scifi_hits[matches.scifi],
        h=matches.h,
        polarity=polarity,
    )


def matched_candidates_of(
    hits: dict[str, np.ndarray], *, magnet: MagnetModel, polarity: int, windows: Windows
) -> dict[str, np.ndarray]:
    """Candidates of some whole events by truth; parameters and result as of :func:`candidates_of`.

    The momentum is still what a pattern recognition would find.
    """
    own = find_own_hits(hits, windows.velo_hits)
    h = own.h(hits, magnet)
    number = distinct_hits(hits).number
    return candidate_columns(
        hits, own.event, number=number, velo=own.velo, ut=own.ut, scifi=own.scifi, h=h, polarity=polarity
    )


def candidate_columns(
    hits: dict[str, np.ndarray],
    event: np.ndarray,
    *,
    number: np.ndarray,
    velo: np.ndarray,
    ut: np.ndarray,
    scifi: np.ndarray,
    h: np.ndarray,
    polarity: int,
) -> dict[str, np.ndarray]:
    """Columns of CANDIDATES for chosen hits.

    Parameters
    ----------
    hits : dict of (m,) arrays
        Columns of HITS.
    event : (n,) int
        Ascending.
    number : (m,) int
        Of each row of `hits`, its hit, as :func:`distinct_hits` counts them.
    velo, ut, scifi : (n, slots) int
        Rows of `hits`, -1 for an empty slot.
    h : (n,) float64
        polarity · q/p in 1/MeV.
    polarity : int
        +1 MagUp, -1 MagDown.
    """
    taken = np.concatenate([velo, ut, scifi], axis=1)
    particle, purity = majority(hits["particle"], taken, number)
    columns = {
        "event": event,
        "candidate": np.arange(len(event)) - np.searchsorted(event, event),
        "polarity": np.full(len(event), polarity),
        "qop": polarity * h,
        "velo_n": (velo >= 0).sum(1),
        "particle": particle,
        "purity": purity,
    }
    for detector, taken, names in (
        ("velo", velo, ("x", "y", "z")),
        ("ut", ut, ("x", "z", "dxdy", "sigma")),
        ("scifi", scifi, ("x", "z", "dxdy", "sigma")),
    ):
        for name in names:
            columns[f"{detector}_{name}"] = np.where(taken >= 0, hits[name][taken], np.nan).astype(np.float32)
    return columns


def majority(
    particle: np.ndarray, hits: np.ndarray, number: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Find the particle with most of the hits, and its share of them.

    Parameters
    ----------
    particle : (m,) int
        Particle of each row of the table of hits, -1 for noise.
    hits : (n, slots) int
        Rows of `particle`, -1 for an empty slot; at least one a candidate is filled.
    number : (m,) int, optional
        Which hit a row is of, where one of several particles has a row for each; all differ by default.

    Returns
    -------
    particle : (n,) int
        -1 when no hit is of a particle; the smaller number of two that have as many.
    share : (n,) float64
        0 then.
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
