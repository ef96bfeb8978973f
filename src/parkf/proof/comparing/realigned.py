"""The proof of a realigned set: it, the set before, and the full fit on the same tracks of a detector."""

from collections.abc import Sequence
from functools import partial
from operator import call
from pathlib import Path
from typing import Any

from parkf.fit import fit_file, fit_file_full
from parkf.fit.truth import Files
from parkf.io.workers import parallel_map
from parkf.params.parameter_set import load
from parkf.proof.comparing.effect import Detector
from parkf.proof.comparing.replacement import judge_replacement, sure
from parkf.proof.validation.fitting import fitted_samples
from parkf.proof.validation.pairing import compare_fits
from parkf.proof.validation.validate import validate


def prove_realigned(
    before: Path, realigned: Path, detector: Detector, files: Sequence[Files], *, name: str, threads: int
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Compare fits of the same candidates of a new detector: with two sets, and the full fit.

    `before` and `realigned` are folders of sets; `name` is that of the former. Return the paired figures, and
    those of :func:`parkf.proof.validation.validate.validate` for the realigned set and the full fit. The
    paired ones are ``{crossings, verdict, answer, is_worse, paired, over_full}``: ``paired`` is
    :func:`parkf.proof.validation.pairing.compare_fits` of the realigned set with the one before, and
    ``over_full`` of the full fit with the realigned set; ``is_worse`` is whether the realigned set is surely
    worse somewhere than the one before. Nothing depends on `threads`.
    """
    geometry, field = detector
    by_set = [partial(fit_file, path, trust=True, withdrawn=True) for path in (before, realigned)]
    fits = [*by_set, partial(fit_file_full, geometry=geometry, field=field)]
    old, new, full = (fitted_samples(files, fit, field) for fit in fits)
    measurements = (
        partial(compare_fits, new, old),
        partial(validate, {"parkf": new, "full": full}),
        partial(compare_fits, full, new),
    )
    paired, figures, over_full = parallel_map(call, measurements, threads)
    said = judge_replacement(paired, name, own="the realigned set")
    proof = {"crossings": paired["crossings"], "verdict": said.verdict, "answer": said.sentence}
    is_worse = any(sure(one) and one["worse"] < 0 for one in paired["figures"])
    figures["set"] = load(realigned).manifest.blobs.fingerprints()
    return {**proof, "is_worse": is_worse, "paired": paired, "over_full": over_full}, figures
