"""Rows of hits, particles and tracks that cannot be: left out and counted where they are few.

A few rows of dirt are in most files. They are left out, and a finding names the first of them. More than one
row in a thousand is a fault of the whole file, which is refused.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkf.detector.geometry import Geometry
from parkf.imports.hits.entries import Entries
from parkf.imports.hits.particle_data import charges
from parkf.io.errors import ParkfError
from parkf.io.events import Columns, select
from parkf.io.findings import Finding
from parkf.training.datasets.left_out import LeftOut

FURTHEST, LARGEST_SIGMA = 2e4, 100.0  # mm
_HALF_SIZE = 5000.0  # mm; no detector is larger in x and y
_MANY = 0.1  # share of hits
_LEAN = 0.02  # of dx/dy; strips of neighbouring layers differ by 0.087
_HARDEST = 1e9  # MeV
_BENT = 10  # hits, with which a particle has crossed the magnet
_REPEATED = "event and key of an earlier row (is a file given twice?)"

Mask = NDArray[np.bool_]
Place = Callable[[int], str]
"""Text of the row of an entry."""
Shown = tuple[str, NDArray[Any]]
"""Name and values of the column that shows a fault."""


def sifted(
    entries: Entries, name: str, geometry: Geometry, *, tracks: bool, place: Place = str
) -> tuple[Entries, list[Finding]]:
    """Return the entries without rows that cannot be, and findings about these.

    A repeated particle or track is left out with its hits, and so is a track without a momentum. Hits of a
    particle that is left out have no particle (`tracks` is false). Strips lean as those of their layer in the
    `geometry`. `place` says where an entry is in the file. A ParkfError is raised if nothing is left.
    """
    count, what = len(entries.of["event"]), "tracks" if tracks else "particles"
    of_hits = LeftOut(name, what="hits", rows=len(entries.hits["x"]))
    of_entries = LeftOut(name, what=what, rows=count)
    gone, orphaned = np.zeros(count, bool), np.zeros(count, bool)
    bad_hits = np.zeros(len(entries.hits["x"]), bool)
    entry = entries.hits["entry"]
    for wrong, why, shown in _of_hits(entries.hits, geometry):
        of_hits.add(wrong & ~bad_hits, why, _said(shown, lambda row: place(int(entry[row]))))
        bad_hits |= wrong
    for wrong, why, shown in _of_entries(entries, bad_hits, tracks):
        of_entries.add(wrong & ~gone & ~orphaned, why, _said(shown, place))
        # Of a repeated one, the hits are there before.
        out = gone if tracks or why == _REPEATED else orphaned
        out |= wrong
    # Entries of p < 0 are those of hits without a particle.
    of = entries.of | {"p": np.where(orphaned, -1.0, entries.of["p"])}
    left = _without(replace(entries, of=of), gone, bad_hits)
    findings = [*of_hits.findings(), *of_entries.findings()]
    for one, column in (("particle or track", left.of["event"]), ("hit", left.hits["x"])):
        if not len(column):
            raise ParkfError("\n".join([f"{name}: no {one} in it", *map(str, findings)]))
    return left, findings


def _of_hits(hits: Columns, geometry: Geometry) -> Iterator[tuple[Mask, str, Shown]]:
    """Yield which hits cannot be, why, and the number that shows it."""
    for name in ("x", "y", "z", "dxdy", "dzdy"):
        limit = {"x": _HALF_SIZE, "y": _HALF_SIZE, "z": FURTHEST}.get(name, 1.0)
        # NaN is beyond any limit.
        yield ~(np.abs(hits[name]) <= limit), f"{name}, expected within ±{limit:g}", (name, hits[name])
    lean = np.full(len(geometry.planes()), np.nan)
    for plane, _, layer in geometry.strip_layers():
        lean[plane] = layer.dxdy
    other = np.abs(hits["dxdy"] - lean[hits["plane"]]) > _LEAN
    # Where many do, the whole file has a fault, which its physics names.
    other &= other.mean() < _MANY
    yield other, f"dx/dy, expected within {_LEAN:g} of its layer's", ("dxdy", hits["dxdy"])
    sigma = hits["sigma"]
    wrong = ~((sigma > 0) & (sigma <= LARGEST_SIGMA))
    yield wrong, f"σ, expected above 0 and at most {LARGEST_SIGMA:g} mm", ("σ", sigma)


def _of_entries(entries: Entries, bad_hits: Mask, tracks: bool) -> Iterator[tuple[Mask, str, Shown]]:
    """Yield which particles or tracks cannot be, why, and the number that shows it."""
    of = entries.of
    p = of["p"]
    nobody = np.zeros(len(p), bool) if tracks else p < 0
    yield ~nobody & ~((p > 0) & (p < _HARDEST)), "p, expected above 0", ("p", p)
    for name in ("px", "py", "pz", *"xyz"):
        yield ~nobody & ~np.isfinite(of[name]), f"{name}, expected a number", (name, of[name])
    keys = np.stack([of["event"], of["key"]], axis=1)
    rows = np.flatnonzero(~nobody)
    _, first = np.unique(keys[rows], axis=0, return_index=True)
    repeated = ~nobody
    repeated[rows[first]] = False
    yield repeated, _REPEATED, ("key", of["key"])
    if not tracks:
        hits = np.bincount(entries.hits["entry"][~bad_hits], minlength=len(p))
        # A file that does not know a particle says 0.
        bent = ~nobody & (hits >= _BENT) & (of["pid"] != 0)
        neutral = np.zeros(len(p), bool)
        neutral[bent] = charges(of["pid"][bent]) == 0
        yield neutral, "hits behind the magnet, and by pid charge 0", ("pid", of["pid"])


def _said(shown: Shown, place: Place) -> Place:
    """Return the text of a row with the number that shows its fault."""
    name, values = shown
    return lambda row: f"row {place(row)}: {name} = {values[row]:.10g}"


def _without(entries: Entries, gone: Mask, bad_hits: Mask) -> Entries:
    """Leave out entries with their hits, and other hits."""
    number = np.cumsum(~gone) - 1
    hits = select(entries.hits, ~bad_hits & ~gone[entries.hits["entry"]])
    hits["entry"] = number[hits["entry"]]
    return replace(entries, of=select(entries.of, ~gone), hits=hits)


def joined(parts: Sequence[Entries]) -> Entries:
    """Return the entries of several files as those of one."""
    begin = np.cumsum([0, *(len(part.of["event"]) for part in parts)])
    hits = [
        part.hits | {"entry": part.hits["entry"] + first}
        for part, first in zip(parts, begin[:-1], strict=True)
    ]
    of = {name: np.concatenate([part.of[name] for part in parts]) for name in parts[0].of}
    found = {name: np.concatenate([part[name] for part in hits]) for name in hits[0]}
    return replace(parts[0], of=of, hits=found)
