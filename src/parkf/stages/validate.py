"""Stage ``validate``: fitted candidates beside the truth."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from parkf.detector.field import load_field
from parkf.detector.geometry import load_geometry
from parkf.fit.fitted import common_set
from parkf.fit.sample import Sample, load_sample
from parkf.fit.truth import Files
from parkf.io.files import read_json, write_sealed
from parkf.proof.validation.control import with_stiff_tracks
from parkf.proof.validation.validate import validate as compare
from parkf.stages.files import AllRead, Made, Read


def validate(
    *,
    particles: AllRead,
    candidates: AllRead,
    fates: AllRead,
    fitted: AllRead,
    kinds: AllRead,
    more_particles: AllRead,
    more_candidates: AllRead,
    geometry: Read,
    alignment: Read,
    field: Read,
    inside: Read,
    samples: list[str],
    misaligned: list[str],
    signals: list[str],
    fits: list[str],
    output: Made,
    threads: int = 1,
) -> None:
    """Compare fitted candidates with the truth.

    Parameters
    ----------
    particles, candidates, fates
        Files ``<sample>.parquet``; those of particles are also for samples of a misaligned detector.
    fitted
        Files ``<fit>/<sample>.parquet`` of the `fits`.
    kinds, inside
        Figures of other kinds of tracks, ``<kind>.json``, and of the steps inside the magnet.
    more_particles, more_candidates
        Files of other events, of which tracks from 50 GeV control the full fit.
    samples, misaligned, signals
        Samples of collisions, of a misaligned detector, and of mass peaks, ``<signal>_<polarity>``.
    """
    magnet = load_field(field)
    by_name, found, known = ({path.stem: path for path in files} for files in (particles, candidates, fates))

    def fit_of(fit: str, sample: str) -> Path:
        return next(path for path in fitted if (path.parent.name, path.stem) == (fit, sample))

    def files(fit: str, names: Sequence[str]) -> list[Files]:
        # The misaligned sample has the same particles as the validation sample.
        true = [name.replace("misaligned", "validation") for name in names]
        return [
            Files(by_name[one], found[name], fit_of(fit, name), known.get(name))
            for one, name in zip(true, names, strict=True)
        ]

    def load(names: Sequence[str]) -> dict[str, Sample]:
        return {fit: load_sample(files(fit, names), magnet) for fit in fits if names}

    peaks: dict[str, list[str]] = {}
    for name in signals:
        peaks.setdefault(name.rpartition("_")[0], []).append(name)
    control = None
    if "full" in fits:
        more = list(map(Files, more_particles, more_candidates))
        detector: Any = {"geometry": load_geometry(geometry, alignment), "field": magnet}
        control = with_stiff_tracks(files("full", samples), more, **detector, threads=threads)
    measured = compare(
        load(samples),
        load(misaligned),
        {signal: load(names) for signal, names in peaks.items()},
        threads,
        control,
    )
    measured["kinds"] = {path.stem: read_json(path) for path in kinds}
    # States inside the magnet are those of SciFi tracks; the fit of these tracks has figures of its own.
    measured["kinds"]["scifi"] = read_json(inside) | {"fit": measured["kinds"].get("scifi")}
    # Add the set's fingerprints, because gates accept figures only for the set from which they were made.
    every = (*samples, *misaligned, *signals)
    measured["set"] = common_set(fit_of(fit, sample) for fit in fits for sample in every)
    write_sealed(output, measured)
