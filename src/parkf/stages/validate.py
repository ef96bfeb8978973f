"""Stage ``validate``: fitted candidates beside the truth."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parkf.detector.field import FieldMap, load_field
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
    given = _Given(particles, candidates, fates, fitted, load_field(field))
    peaks: dict[str, list[str]] = {}
    for name in signals:
        peaks.setdefault(name.rpartition("_")[0], []).append(name)
    control = None
    if "full" in fits:
        more = list(zip(more_particles, more_candidates, strict=True))
        detector: Any = {"geometry": load_geometry(geometry, alignment), "field": given.field}
        control = with_stiff_tracks(given.files("full", samples), more, **detector, threads=threads)
    measured = compare(
        given.load(samples, fits),
        given.load(misaligned, fits),
        {signal: given.load(names, fits) for signal, names in peaks.items()},
        threads,
        control,
    )
    measured["kinds"] = {path.stem: read_json(path) for path in kinds}
    # States inside the magnet are those of SciFi tracks; the fit of these tracks has figures of its own.
    measured["kinds"]["scifi"] = read_json(inside) | {"fit": measured["kinds"].get("scifi")}
    # Add the set's fingerprints, because gates accept figures only for the set from which they were made.
    every = (*samples, *misaligned, *signals)
    measured["set"] = common_set(given.fitted(fit, sample) for fit in fits for sample in every)
    write_sealed(output, measured)


@dataclass(frozen=True)
class _Given:
    """The files that a stage was given, which it finds by fit and sample."""

    particles: Sequence[Path]
    candidates: Sequence[Path]
    fates: Sequence[Path]
    fits: Sequence[Path]
    field: FieldMap

    def fitted(self, fit: str, sample: str) -> Path:
        return next(path for path in self.fits if (path.parent.name, path.stem) == (fit, sample))

    def load(self, samples: Sequence[str], fits: Iterable[str]) -> dict[str, Sample]:
        """Load some samples, as one, with each fit; nothing if there are none."""
        return {fit: load_sample(self.files(fit, samples), self.field) for fit in fits if samples}

    def files(self, fit: str, samples: Sequence[str]) -> list[Files]:
        # The misaligned sample has the same particles as the validation sample.
        return [
            Files(
                _named(sample.replace("misaligned", "validation"), self.particles),
                _named(sample, self.candidates),
                self.fitted(fit, sample),
                next((path for path in self.fates if path.stem == sample), None),
            )
            for sample in samples
        ]


def _named(sample: str, files: Sequence[Path]) -> Path:
    return next(path for path in files if path.stem == sample)
