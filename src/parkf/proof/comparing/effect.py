"""What a published set loses on another detector, without training: the same particles, simulated in both."""

from collections.abc import Mapping, Sequence
from functools import partial
from math import hypot
from pathlib import Path
from typing import Any

from parkf.detector.field import FieldMap, make_field_map
from parkf.detector.geometry import Geometry, load_geometry
from parkf.fit import fit_file, fit_file_full
from parkf.fit.truth import Files
from parkf.io.errors import ParkfError
from parkf.io.files import scratch_folder
from parkf.params.configuration import nested, only_polarity
from parkf.params.manifest import Manifest
from parkf.params.parameter_set import load
from parkf.proof.comparing.documents import FILES, find_document
from parkf.proof.comparing.replacement import (
    Figure,
    difference,
    least_known,
    size_of,
    sure,
    surest,
    value,
    what_is,
)
from parkf.proof.validation.fitting import fitted_samples
from parkf.proof.validation.pairing import compare_fits
from parkf.simulation.generate.collisions import generate
from parkf.simulation.pattern import find_candidates
from parkf.simulation.response.simulate import simulate

CROSSINGS = 250  # of each polarity: 29,000 tracks
_SEED = 20_261_130
_PILE_UP = 5.5

Detector = tuple[Geometry, FieldMap]


def measure_effect(
    parameters: Path, changed: Mapping[str, Path], crossings: int = CROSSINGS
) -> dict[str, Any]:
    """Measure what a set loses on a detector that differs from its own by files.

    `changed` has the files of the other detector by kind: ``geometry``, ``alignment`` and ``field source``.
    `crossings` of each polarity are simulated in both detectors, with the same particles and seeds. In each,
    the set is compared with a full fit through this detector's field and material, of the same candidates:
    what the detector costs every fit is no loss of the set. If a file of the set's own detector is not at
    hand, a ParkfError is raised.

    The result has ``version``, ``crossings``, the sentence ``answer``, and ``figures``, as those of
    :func:`parkf.proof.validation.pairing.compare_fits`. There ``own`` is in the set's own detector, and
    ``published`` in the other one: biases and pulls with those of the full fit subtracted, and cores and
    ghosts over those of the full fit.
    """
    manifest = load(parameters, withdrawn=True).manifest
    files = {kind: _own_file(kind, manifest) for kind in FILES}
    own, other = (_detector(one, manifest) for one in (files, {**files, **changed}))
    only = only_polarity(manifest.configuration)
    particles: dict[int, Path] = {}
    with scratch_folder() as folder:
        for polarity in (1, -1) if only is None else (only,):
            particles[polarity] = Path(folder, f"particles{polarity}.parquet")
            seed = _SEED + polarity
            # The beam of the other detector; a set does not know where vertices are along the beam.
            beam = other[0].beam
            generate(particles[polarity], beam=beam, events=crossings, seed=seed, pile_up=_PILE_UP)
        here, there = (_over_full(parameters, one, particles) for one in (own, other))
    found = {"crossings": there["crossings"], "figures": _losses(here["figures"], there["figures"])}
    version = manifest.version or str(parameters)
    return {"version": version, "answer": _sentence(found, version), **found}


def _own_file(kind: str, manifest: Manifest) -> Path:
    path = find_document(kind, manifest)
    if path is None:
        raise ParkfError(
            f"{manifest.version}: the {kind} that it was trained with is not at hand; work in the project, or"
            " in a folder of `parkf init`, that has the file"
        )
    return path


def _detector(files: Mapping[str, Path], manifest: Manifest) -> Detector:
    settings = nested(manifest.configuration or {})["field"]
    how = {name: settings[name] for name in ("spacing", "interpolation", "outside")}
    return load_geometry(files["geometry"], files["alignment"]), make_field_map(files["field source"], **how)


def simulate_candidates(
    particles: Path,
    candidates: Path,
    polarity: int,
    detector: Detector,
    made_with: Mapping[str, str] | None = None,
    threads: int | None = None,
) -> Files:
    """Simulate particles in a detector, and write candidates, with the metadata `made_with`."""
    geometry, field = detector
    with scratch_folder() as folder:
        hits = Path(folder, "hits.parquet")
        place: dict[str, Any] = {"geometry": geometry, "field": field, "polarity": polarity}
        simulate(particles, None, hits, **place, seed=_SEED, threads=threads)
        find_candidates(hits, candidates, **place, made_with=made_with, workers=threads)
    return Files(particles, candidates)


def _over_full(parameters: Path, detector: Detector, particles: Mapping[int, Path]) -> dict[str, Any]:
    """Simulate particles, by polarity, in a detector, and measure the set against the full fit."""
    geometry, field = detector
    with scratch_folder() as folder:
        files = [
            simulate_candidates(shot, Path(folder, f"{polarity}.parquet"), polarity, detector)
            for polarity, shot in particles.items()
        ]
        full = partial(fit_file_full, geometry=geometry, field=field)
        by_set = partial(fit_file, parameters, trust=True, withdrawn=True)
        return compare_fits(*(fitted_samples(files, fit, field) for fit in (full, by_set)))


def _losses(here: Sequence[Figure], there: Sequence[Figure]) -> list[dict[str, Any]]:
    """Subtract the figures in the set's own detector from those in another one, place by place."""
    known = {(one["figure"], *_place(one).values()): one for one in here}
    found = []
    for two in there:
        if (one := known.get((two["figure"], *_place(two).values()))) is None:
            continue
        absolute = two["figure"] in ("bias", "pull")
        own, published = (
            x["published"] - x["own"] if absolute else x["published"] / x["own"] for x in (one, two)
        )
        errors = [x["error"] if absolute else x["worse_error"] for x in (one, two)]
        worse = abs(published) - abs(own) if absolute else published - own
        ideal = 1.0 if two["figure"] == "pull" else 0.0
        numbers = {"own": ideal + own, "published": ideal + published, "worse": worse}
        numbers |= dict.fromkeys(("error", "worse_error"), hypot(*errors))
        found.append({"figure": two["figure"], **_place(two), "n": two["n"], **numbers})
    return found


def _place(one: Figure) -> dict[str, Any]:
    return {name: one[name] for name in ("p_min", "p_max", "tx", "bend", "component") if name in one}


def _sentence(found: Mapping[str, Any], version: str) -> str:
    def told(one: Figure) -> str:
        if one["figure"] in ("bias", "pull"):
            there, here = value(one, "published"), value(one, "own")
        else:
            there, here = f"{one['published']:.3f} times the full fit's", f"{one['own']:.3f} times"
        worse = "worse" if one["worse"] > 0 else "better"
        beside = f"{there} there, {here} in its own detector"
        return f"its {what_is(one)} {beside}; it is {worse} by {difference(one)}"

    figures = found["figures"]
    if lost := [one for one in figures if sure(one) and one["worse"] > 0]:
        return f"{version} loses on this detector: {told(surest(lost))}."
    last, more = least_known(found)
    said = (
        f"{version} shows no loss on this detector; the largest difference: {told(max(figures, key=size_of))}"
    )
    if not more:
        return f"{said}."
    return f"{said}. Least known: {told(last)}; {more:,.0f} more crossings would tell."
