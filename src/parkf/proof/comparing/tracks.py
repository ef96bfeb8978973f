"""Sets on the validation tracks of a run: the same candidates, fitted with each of them."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from parkf.detector.field import FieldMap
from parkf.fit import fit_file
from parkf.fit.sample import Sample
from parkf.io.errors import ParkfError
from parkf.io.files import write_sealed
from parkf.params.parameter_set import load
from parkf.proof.comparing.replacement import judge_replacement
from parkf.proof.comparing.subject import BESIDE_FILE, Subject
from parkf.proof.validation.fitting import fitted_samples, validation_files
from parkf.proof.validation.pairing import compare_fits
from parkf.proof.validation.validate import measure_alone


def fit_on(run: Path, sets: Sequence[Path]) -> list[Sample]:
    """Fit the validation candidates of a run with the sets in folders; rows of the samples are the same.

    A run without its candidates or particles raises a ParkfError.
    """
    files, field = validation_files(run), FieldMap.load(run / "field.npz")
    fits = [partial(fit_file, path, trust=True, withdrawn=True) for path in sets]
    return [fitted_samples(files, fit, field) for fit in fits]


def _has_tracks(run: Path) -> bool:
    try:
        return bool(validation_files(run))
    except ParkfError:
        return False


def compare_on(run: Path, published: Subject, own: Subject) -> dict[str, Any]:
    """Answer whether to replace a set by another one, from both on the validation tracks of a run.

    The result has ``on``, ``published``, ``own`` (names), ``verdict`` and ``answer`` (the sentence) of
    :mod:`parkf.proof.comparing.replacement`, and ``paired``, the figures of
    :func:`parkf.proof.validation.pairing.compare_fits`.
    """
    found = compare_fits(*fit_on(run, [own.folder, published.folder]))
    said = judge_replacement(found, published.name, own.gates, own=own.name)
    names = {"on": run.absolute().name, "published": published.name, "own": own.name}
    return {**names, "verdict": said.verdict, "answer": said.sentence, "paired": found}


def measure_beside(run: Path, published: Path | None) -> None:
    """Measure a published set on a run's validation tracks, beside the run's own set: ``beside.json``.

    The file has ``version``, ``set`` (checksums), ``fit``, the figures of
    :func:`parkf.proof.validation.validate.measure_alone`, and ``paired``, those of
    :func:`parkf.proof.validation.pairing.compare_fits`, for which the run's set fits in the same way. All are
    None without another set, or if the run's candidates and particles were deleted.
    """
    content: dict[str, Any] = dict.fromkeys(("version", "set", "fit", "paired"))
    if published is not None and _has_tracks(run):
        manifest = load(published).manifest
        own, other = fit_on(run, [run / "set", published])
        content = {"version": manifest.version, "set": manifest.blobs.fingerprints()}
        content |= {"fit": measure_alone(other), "paired": compare_fits(own, other)}
    write_sealed(run / BESIDE_FILE, content)


def exchange_sets(runs: Sequence[Path]) -> list[list[dict[str, Any] | None]]:
    """Measure the set of each run on the tracks of each run, beside the set of the latter.

    There is a row for each set, with :func:`parkf.proof.validation.pairing.compare_fits` on the tracks of
    each run; None on those of its own. The list is empty if a run's candidates or particles were deleted.
    """
    if not all(map(_has_tracks, runs)):
        return []
    columns: list[list[dict[str, Any] | None]] = []
    for number, run in enumerate(runs):
        fits = fit_on(run, [one / "set" for one in runs])
        columns.append(
            [None if n == number else compare_fits(fits[number], fit) for n, fit in enumerate(fits)]
        )
    return [list(row) for row in zip(*columns, strict=True)]
