"""Kinds of tracks besides long ones: candidates by truth, fitted by the set and by the full fit."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES
from parkf.fit import fit_file, fit_file_full
from parkf.fit.sample import Sample, load_sample
from parkf.fit.truth import Files
from parkf.io.files import scratch_folder
from parkf.io.kinds import Kind
from parkf.params.parameter_set import load
from parkf.proof.validation.breakdown import directions
from parkf.proof.validation.core import fit_core
from parkf.proof.validation.figures import ENOUGH, binned, core_ratio
from parkf.proof.validation.search import measure_search
from parkf.proof.validation.validate import MOMENTUM_EDGES, measure_alone
from parkf.simulation.generate.decays import DECAYS
from parkf.simulation.pattern import find_candidates
from parkf.simulation.response.misalignment import misalign_scifi

if TYPE_CHECKING:
    from parkf.detector.field import FieldMap
    from parkf.detector.geometry import Geometry


_SEED = 8  # of the mats' shifts


@dataclass(frozen=True)
class Simulated:
    """Files of a sample: particles, hits, and true states in the first layers behind the VELO."""

    particles: Path
    hits: Path
    crossings: Path
    polarity: int  # +1 for MagUp, -1 for MagDown

    @classmethod
    def of(cls, results: Path, sample: str) -> Self:
        """Return the files of a run's sample, whose name ends in the polarity."""
        particles, hits, crossings = (
            results / f"{product}/{sample}.parquet" for product in ("particles", "hits", "crossings")
        )
        return cls(particles, hits, crossings, +1 if sample.endswith("_up") else -1)

    @classmethod
    def by_decay(cls, results: Path, samples: Iterable[str]) -> dict[str, list[Self]]:
        """Return the files of samples ``<decay>_<polarity>`` of a run, by the name of the decay."""
        found: dict[str, list[Self]] = {}
        for sample in samples:
            found.setdefault(sample.rpartition("_")[0], []).append(cls.of(results, sample))
        return found


def measure_kind(
    kind: Kind,
    parameters: Path,
    samples: Sequence[Simulated],
    decays: Mapping[str, Sequence[Simulated]],
    *,
    geometry: "Geometry",
    field: "FieldMap",
    threads: int | None = None,
) -> dict[str, Any]:
    """Fit candidates of a kind, by a set and by the full fit; return the figures of :func:`compared`.

    A candidate has the hits that one particle left behind. The errors of SciFi hits include how far mats may
    lie off. Without VELO hits these errors decide, and the mats are displaced by this width. The truth of
    tracks without VELO hits is the particle's true state in their first layer. `decays` are samples of
    :data:`parkf.simulation.generate.decays.DECAYS` by name; for tracks without VELO hits, ``decays`` has
    their figures (:func:`parkf.proof.validation.late_decays.measure_late_decay`), null for too few pairs.
    ``search`` has the figures of the candidates that a search finds in the same hits.
    """
    detector: Any = {"geometry": geometry, "field": field, "threads": threads}
    folder = scratch_folder()

    def as_believed(sample: Simulated) -> Simulated:
        return sample if kind.velo else _displaced(sample, Path(folder.name), geometry.scifi.alignment_error)

    def both(of: Sequence[Simulated]) -> tuple[Sample, Sample]:
        own = [partial(_candidates, kind, sample, matched=True, **detector) for sample in of]
        return fitted_by_both(kind, parameters, own, **detector)

    samples = [as_believed(sample) for sample in samples]
    ours, full = both(samples)
    figures = compared(ours, full)
    found = [partial(_candidates, kind, sample, matched=False, **detector) for sample in samples]
    by_set = partial(fit_file, parameters, kind=kind.name, threads=threads)
    (searched,) = _fitted(found, [by_set], field)
    figures["search"] = measure_search(searched, ours, [1000 * edge for edge in MOMENTUM_EDGES])
    slices = load(parameters).slices
    if decays and not kind.velo and slices is not None:
        # Most runs have no decays, and Pandas and SciPy take half a second.
        from parkf.proof.validation.late_decays import measure_late_decay

        figures["decays"] = {
            name: measure_late_decay(*both([as_believed(one) for one in of]), DECAYS[name], slices)
            for name, of in decays.items()
        }
    return figures


def _displaced(sample: Simulated, folder: Path, width: float) -> Simulated:
    """Displace SciFi mats, each by a shift of this width in mm, the same in all samples of a polarity."""
    hits = folder / sample.hits.name
    misalign_scifi(sample.hits, hits, module=0.0, mat=width, seed=_SEED + sample.polarity)
    return replace(sample, hits=hits)


def _candidates(
    kind: Kind,
    sample: Simulated,
    candidates: Path,
    *,
    matched: bool,
    geometry: "Geometry",
    field: "FieldMap",
    threads: int | None = None,
) -> Files:
    find_candidates(
        sample.hits,
        candidates,
        geometry=geometry,
        field=field,
        polarity=sample.polarity,
        workers=threads,
        segments="found",
        matched=matched,
        kind=kind,
    )
    files = Files([sample.particles], [candidates], [])
    if kind.velo:
        return files
    plane = (UT_PLANES if kind.ut else SCIFI_PLANES).start
    return replace(files, crossings=[sample.crossings], first_plane=plane)


def fitted_by_both(
    kind: Kind,
    parameters: Path,
    samples: Iterable[Callable[[Path], Files]],
    *,
    geometry: "Geometry",
    field: "FieldMap",
    threads: int | None = None,
) -> tuple[Sample, Sample]:
    """Fit candidates by a set and by the full fit, and return both beside the truth.

    Each of the `samples` writes candidates to a path, and returns the files of their truth.
    """
    by_set = partial(fit_file, parameters, kind=kind.name, threads=threads)
    by_full = partial(fit_file_full, geometry=geometry, field=field, kind=kind, threads=threads)
    ours, full = _fitted(samples, [by_set, by_full], field)
    return ours, full


def _fitted(
    samples: Iterable[Callable[[Path], Files]], fits: Sequence[Callable[[Path, Path], Any]], field: "FieldMap"
) -> list[Sample]:
    """Fit candidates by each of the fits, functions of the paths of candidates and of fitted tracks."""
    files: list[list[Files]] = [[] for _ in fits]
    with scratch_folder() as folder:
        for number, write in enumerate(samples):
            candidates = Path(folder) / f"candidates{number}.parquet"
            truth = write(candidates)
            for place, (fit, of_fit) in enumerate(zip(fits, files, strict=True)):
                fitted = Path(folder) / f"fitted{number}-{place}.parquet"
                fit(candidates, fitted)
                of_fit.append(replace(truth, fitted=[fitted]))
        return [load_sample(of_fit, field) for of_fit in files]


def compared(ours: Sample, full: Sample) -> dict[str, Any]:
    """Measure fits of the same candidates by a set and by the full fit.

    Return ``pulls`` and ``momentum`` of the set's fits as :func:`parkf.proof.validation.validate.validate`
    has them, and ``directions``. ``momentum`` also has ``core_over_full`` with its error, the core of δp/p
    over that of the full fit of the same tracks, ``full_pulls``, the pulls of the full fit, and
    ``qop_bias``, the mean of the core of (q/p − truth)/truth: with an error of 10 % or more, that of δp/p is
    another number.
    """
    measured, reference = (measure_alone(sample) for sample in (ours, full))
    measured["directions"] = directions(ours.good)
    edges = [1000 * edge for edge in MOMENTUM_EDGES]
    pairs = zip(binned(ours.good["p_true"], edges), binned(full.good["p_true"], edges), strict=True)
    of_full = {one["p_min"]: one for one in reference["momentum"]}
    for (low, _, inside), (_, _, others) in pairs:
        own, other = ours.good[inside], full.good[others]
        if min(len(own), len(other)) >= ENOUGH:
            (one,) = (one for one in measured["momentum"] if one["p_min"] == low / 1000)
            one["core_over_full"], one["core_over_full_error"] = core_ratio(own, other)
            one["full_pulls"] = of_full[low / 1000]["pulls"]
            one |= fit_core(np.asarray(own["qop"]) / np.asarray(own["true_qop"]) - 1).mean_as("qop_bias")
    return measured
