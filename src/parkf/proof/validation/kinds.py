"""Kinds of tracks besides long ones with all detectors: fits by a set and by the full fit, and a search."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES
from parkf.fit import fit_file, fit_file_full
from parkf.fit.sample import Sample, chi2_per_ndof
from parkf.fit.truth import Files
from parkf.io.events import Columns
from parkf.io.files import scratch_folder
from parkf.io.kinds import LONG, Kind
from parkf.io.track_columns import Rows
from parkf.proof.validation.core import fit_core
from parkf.proof.validation.figures import ENOUGH, binned, share
from parkf.proof.validation.fitting import fitted_samples, write_changed
from parkf.proof.validation.separation import measure_cut
from parkf.proof.validation.validate import MOMENTUM_EDGES, beside, measure_alone
from parkf.simulation.pattern.candidates import Search, write_candidates
from parkf.simulation.pattern.magnet import MagnetModel, fit_magnet_model
from parkf.simulation.response.misalignment import scifi_shifts, shifted

if TYPE_CHECKING:
    from parkf.detector.field import FieldMap
    from parkf.detector.geometry import Geometry

_SEED = 8  # of the mats' shifts
_UT = ("ut_x", "ut_z", "ut_dxdy", "ut_sigma")


class Simulated(NamedTuple):
    """Files of a sample: particles, hits, and true states in the first layers behind the VELO."""

    particles: Path
    hits: Path
    crossings: Path | None
    polarity: int  # +1 for MagUp, -1 for MagDown


def simulated_samples(
    particles: Sequence[Path], hits: Sequence[Path], crossings: Sequence[Path] = ()
) -> list[Simulated]:
    """Return samples of files ``<sample>_<polarity>.parquet``, which are in the same order."""
    known: Sequence[Path | None] = crossings or [None] * len(hits)
    of = zip(particles, hits, known, strict=True)
    return [Simulated(*files, +1 if files[0].stem.endswith("_up") else -1) for files in of]


def measure_kinds(
    kinds: Sequence[Kind],
    parameters: Path,
    samples: Sequence[Simulated],
    *,
    geometry: "Geometry",
    field: "FieldMap",
    threads: int | None = None,
) -> dict[str, dict[str, Any]]:
    """Fit candidates of kinds, by a set and by the full fit; return the figures of :func:`compared` by kind.

    A candidate has the hits that one particle left behind. The errors of SciFi hits include how far mats may
    lie off. Without VELO hits these errors decide, and the mats are displaced by this width, as they are for
    a search. The truth of tracks without VELO hits is the particle's true state in their first layer.
    ``search`` has the figures of the candidates that a search finds in the same hits.
    """
    detector: Any = {"geometry": geometry, "field": field, "threads": threads}
    with scratch_folder() as folder:
        magnet = fit_magnet_model(field, geometry)
        found = [_find(sample, kinds, Path(folder), geometry, magnet, threads) for sample in samples]

        def figures(kind: Kind) -> dict[str, Any]:
            ours, full = fitted_by_both(kind, parameters, [one[kind.name] for one in found], **detector)
            measured = compared(ours, full)
            by_set = partial(fit_file, parameters, kind=kind.name, threads=threads)
            searched = fitted_samples([one[_searched(kind)] for one in found], by_set, field)
            measured["search"] = measure_search(searched, ours, [1000 * edge for edge in MOMENTUM_EDGES])
            return measured

        return {kind.name: figures(kind) for kind in kinds}


def _searched(kind: Kind) -> str:
    return f"{kind.name}-searched"


def _find(
    sample: Simulated,
    kinds: Sequence[Kind],
    folder: Path,
    geometry: "Geometry",
    magnet: MagnetModel,
    threads: int | None,
) -> dict[str, Files]:
    """Return the candidates of each kind by truth, by its name, and by a search, by :func:`_searched`.

    The mats lie off by the same shifts in all samples of a polarity.
    """
    search = Search(geometry, magnet, sample.polarity)
    shifts = scifi_shifts(module=0.0, mat=geometry.scifi.alignment_error, seed=_SEED + sample.polarity)

    def find(hits: Columns) -> dict[str, Columns]:
        displaced = shifted(hits, shifts)
        found = {kind.name: search.matched(hits if kind.velo else displaced, kind) for kind in kinds}
        of_search = search.of_kinds(displaced, "found", kinds)
        return found | dict(zip(map(_searched, kinds), of_search, strict=True))

    names = {kind.name: kind for kind in kinds} | {_searched(kind): kind for kind in kinds}
    paths = {name: folder / f"{name}-{sample.hits.name}" for name in names}
    write_candidates(sample.hits, paths, find, geometry=geometry, workers=threads)
    return {name: _beside_truth(sample, paths[name], kind) for name, kind in names.items()}


def _beside_truth(sample: Simulated, candidates: Path, kind: Kind) -> Files:
    files = Files(sample.particles, candidates)
    if kind.velo:
        return files
    plane = (UT_PLANES if kind.ut else SCIFI_PLANES).start
    return replace(files, crossings=sample.crossings, first_plane=plane)


def fitted_by_both(
    kind: Kind,
    parameters: Path,
    samples: Sequence[Files],
    *,
    geometry: "Geometry",
    field: "FieldMap",
    threads: int | None = None,
) -> tuple[Sample, Sample]:
    """Fit the candidates of samples by a set and by the full fit, and return both beside the truth."""
    by_set = partial(fit_file, parameters, kind=kind.name, threads=threads)
    by_full = partial(fit_file_full, geometry=geometry, field=field, kind=kind, threads=threads)
    return fitted_samples(samples, by_set, field), fitted_samples(samples, by_full, field)


def compared(ours: Sample, full: Sample) -> dict[str, Any]:
    """Measure fits of the same candidates by a set and by the full fit.

    Return ``pulls`` and ``momentum`` of the set's fits as :func:`parkf.proof.validation.validate.validate`
    has them with their comparison with the full fit. ``momentum`` also has ``qop_bias``,
    the mean of the core of (q/p − truth)/truth: with an error of 10 % or more, that of δp/p is another.
    """
    measured = measure_alone(ours)
    beside(measured["momentum"], ours, full, "full")
    relative = np.asarray(ours.good["qop"]) / np.asarray(ours.good["true_qop"]) - 1
    inside = {
        low / 1000: mask for low, _, mask in binned(ours.good["p_true"], [1e3 * e for e in MOMENTUM_EDGES])
    }
    for one in measured["momentum"]:
        one |= fit_core(relative[inside[one["p_min"]]]).mean_as("qop_bias")
    return measured


def measure_search(found: Sample, true: Sample, edges: Sequence[float]) -> dict[str, Any]:
    """Measure a search by its candidates and by those of the truth, both fitted by a set.

    Return ``candidates``, ``ghosts`` (the share of ghosts among them) with its error, and ``efficiency``, the
    share of true candidates whose particle was found, with its error and their number in bins of momentum
    with `edges` in MeV. ``chi2`` is what a cut on χ²/ndof keeps
    (:func:`parkf.proof.validation.separation.measure_cut`); it is missing if there are few candidates.
    """
    genuine, ghosts = found.genuine, found.ghosts
    there = np.isin(_particles(true.genuine), _particles(genuine))
    is_ghost = np.repeat([True, False], [len(ghosts), len(genuine)])
    figures: dict[str, Any] = {"candidates": len(is_ghost), **share("ghosts", is_ghost)}
    figures["efficiency"] = [
        {"p_min": low / 1000, "p_max": high / 1000, "n": int(here.sum())} | share("efficiency", there[here])
        for low, high, here in binned(true.genuine["p_true"], edges)
    ]
    if min(len(genuine), len(ghosts)) >= ENOUGH:
        figures["chi2"] = measure_cut(found, -chi2_per_ndof(found.rows))
    return figures


def _particles(rows: Rows) -> np.ndarray:
    """Name the particles (n,): no two of an event have the same momentum."""
    return np.rec.fromarrays([np.asarray(rows[name]) for name in ("file", "event", "p_true")])


def measure_without_ut(
    parameters: Path,
    samples: Sequence[Files],
    *,
    geometry: "Geometry",
    field: "FieldMap",
    threads: int | None = None,
) -> dict[str, Any]:
    """Fit long tracks without their UT hits, by a set and by the full fit; return what :func:`compared` does.

    The steps across the UT are those of all long tracks, since a fit leaves out what was not measured.
    """
    with scratch_folder() as folder:
        stripped = []
        for number, sample in enumerate(samples):
            path = Path(folder) / f"candidates{number}.parquet"
            write_changed(sample.candidates, path, _without_ut)
            stripped.append(replace(sample, candidates=path))
        both = fitted_by_both(LONG, parameters, stripped, geometry=geometry, field=field, threads=threads)
    return compared(*both)


def _without_ut(rows: pa.Table) -> pa.Table:
    """Return candidates without their UT hits."""
    for name in _UT:
        place = rows.schema.get_field_index(name)
        field = rows.schema.field(place)
        nothing = pa.array(np.full(len(rows) * field.type.list_size, np.nan, np.float32))
        rows = rows.set_column(place, field, pa.FixedSizeListArray.from_arrays(nothing, type=field.type))
    return rows
