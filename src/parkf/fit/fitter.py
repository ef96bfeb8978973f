"""Fit candidates with a parameter set: batches in memory, and whole files."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import NDArray

from parkf.fit import cpu, gpu
from parkf.fit.candidates import Candidates
from parkf.fit.detector_check import DetectorCheck
from parkf.fit.electron import as_electrons, needed
from parkf.fit.fitted import FAR, INTEGERS, NUMBERS, Fitted, is_good, set_metadata
from parkf.fit.hits import as_candidates
from parkf.fit.source import kernel_of
from parkf.fit.summary import Summary, note_on_seeds
from parkf.io.errors import ParkfError
from parkf.io.fingerprints.detector import detector_keys, recorded_detector
from parkf.io.kinds import KINDS, LONG, Kind
from parkf.io.option_types import Backend, Origin, Precision, Scheme
from parkf.io.tables import (
    BEHIND_VELO,
    ELECTRON,
    FITTED,
    MEASURED,
    RICH_STATES,
    ROBUST,
    SCORES,
    Table,
)
from parkf.io.terminal import progress_bar
from parkf.params.parameter_set import ParameterSet, load

if TYPE_CHECKING:
    import pyarrow as pa

    from parkf.detector.field import FieldMap
    from parkf.detector.geometry import Geometry

# Number of candidates read, fitted and written at a time: 5 MB of float32. This is one row group, so that
# only one group has to be decoded for a batch.
BATCH = MEASURED.rows_in_group

# Fitted tracks, and the additional columns that were requested, by name.
Batch = tuple[Fitted, dict[str, NDArray[Any]]]


@dataclass(frozen=True)
class FitOptions:
    """How candidates are fitted: the keyword arguments of :func:`fit`."""

    scheme: Scheme = "smoother"
    precision: Precision = "float32"
    backend: Backend = "cpu"
    threads: int | None = None
    robust: bool = False
    score: bool = False
    origin: Origin = "vertex"
    kind: str = "long"
    electrons: bool = False
    rich_states: bool = False  # of files, and in Python

    def check(self, parameters: ParameterSet) -> None:
        """Raise a ParkfError if options are wrong, exclude each other, or do not go with the set."""
        for name, allowed in _ALLOWED.items():
            if (given := getattr(self, name)) not in allowed:
                raise ParkfError(f"{name} '{given}': expected one of {', '.join(allowed)}")
        if self.threads is not None and (self.threads < 1 or self.threads != int(self.threads)):
            raise ParkfError(
                f"threads: got {self.threads}, expected a whole number of at least 1, or None for all cores"
            )
        asked = {one.name for one in fields(self) if getattr(self, one.name) != one.default}
        for name, (excluded, why) in _EXCLUDES.items():
            if name in asked and (both := sorted(excluded & asked)):
                value = getattr(self, name)
                label = name if value is True else f"{name} '{value}'"
                raise ParkfError(f"{label}: {why}; leave out {' and '.join(both)}")
        if self.kind != LONG.name and parameters.slices is None:
            raise ParkfError(
                f"kind '{self.kind}': the parameter set has no steps inside the magnet; train it with this"
                " version of parkf"
            )
        if self.electrons:
            needed(parameters)
        if self.score and parameters.score is None:
            raise ParkfError("parameter set: it has no ghost score that this kernel evaluates")
        if self.rich_states and parameters.rich is None:
            raise ParkfError(
                "states at the RICH planes: the parameter set has no constants for them (rich.f32), which"
                " sets have since manifest format 6; train one, or take a newer one of `parkf params list`"
            )
        kernel_of(parameters.manifest)
        if self.scheme == "trigger" and parameters.manifest.forms != "production":
            raise ParkfError(
                f"scheme 'trigger': it fits with production's forms, got a set of forms"
                f" '{parameters.manifest.forms}', expected 'production'; use a set that was trained with"
                " `forms: production`"
            )


_ALLOWED: Mapping[str, Collection[str]] = {
    "scheme": get_args(Scheme),
    "precision": get_args(Precision),
    "backend": get_args(Backend),
    "origin": get_args(Origin),
    "kind": KINDS,
}
# Options that exclude others, if they are not the default: the others, and why.
_EXCLUDES = {
    "kind": ({"scheme", "robust", "score", "origin", "rich_states"}, "it is fitted by the plain smoother"),
    "electrons": (
        {"kind", "scheme", "robust", "backend", "rich_states"},
        "they are long tracks that the plain smoother fits on processor cores",
    ),
    "scheme": (
        {"robust", "score", "origin", "rich_states"},
        "robust fits, ghost scores, states at the RICH planes, and tracks that are born at their first hit,"
        " come with the smoother alone",
    ),
    "robust": ({"rich_states"}, "they would be of another fit"),
}


def fit(
    parameters: ParameterSet, candidates: "pa.Table | pa.RecordBatch | Candidates", **options: Any
) -> Fitted:
    """Fit a batch of candidates.

    The `options` are the fields of :class:`FitOptions`.

    Candidates are rows of the table ``candidates``, or a batch in the kernel's layout, which is fitted in the
    precision of its arrays. The result has one track for each candidate. Its arrays are NumPy arrays, or CuPy
    arrays if those of the candidates are. A wrong option or column, a set with other formulas than the
    kernel's, or a missing GPU raise a ParkfError.

    The scheme ``smoother`` is a single forward filter. It smooths the state at the first VELO hit, and
    evaluates the bend at the q/p of the first SciFi hit. ``trigger`` is the arithmetic of LHCb's trigger, for
    sets with production's forms. The back end ``gpu`` is the current GPU through CuPy
    (:func:`parkf.fit.gpu.fit`). `threads`, on the processor, is by default the number of cores.

    With `robust`, the smoother treats tracks that cause the tails of q/p. A track with χ²/ndof above 2 in the
    UT is fitted again without UT hits. This fit is kept if χ² falls by more than 12 plus one for each removed
    hit. All other measurements may show that a step behind the VELO scattered by k² = k_x² + k_y² > 14. Then
    its noise is multiplied by 1 + k²/(I·Q_tt), with the information I on its kick, and the track is fitted
    again. The treatment and the χ² before it are in ``more`` of the result. Cut on the χ² before it: after
    the treatment, 75 % of the ghosts pass a cut that keeps 91 % of the genuine tracks.

    With `score`, the smoother on processor cores computes the ghost scores of the set, from the plain fit.

    The covariance includes the scattering in the material around the beam. Daughters of a K⁰s or Λ that are
    born behind this material have not crossed it; the `origin` ``first-hit`` leaves it out.

    All candidates are of one `kind` (:data:`parkf.io.kinds.KINDS`), and hits of other detectors are not used.
    Other kinds than long tracks are fitted by the smoother, with a set that has steps inside the magnet.
    Without VELO hits, the state is at the first layer of the UT or of the SciFi, with q/p there and its whole
    covariance.

    With `electrons`, all candidates are taken for electrons: q/p is the one where they were produced, before
    they radiated (:func:`parkf.fit.electron.as_electrons`). Scores and everything else are those of the plain
    fit. This needs a set with numbers for electrons, long tracks, and processor cores.
    """
    how = FitOptions(**options)
    how.check(parameters)
    tracks = as_candidates(candidates, how.precision)
    if how.kind != LONG.name:
        if how.backend == "gpu":
            fitted = gpu.fit_kind(parameters, tracks, KINDS[how.kind])
        else:
            fitted = cpu.fit_kind(parameters, tracks, KINDS[how.kind], threads=how.threads)
        return fitted.flagged(tracks.nulls, "null_number")
    more: dict[str, Any] = {"smoother": how.scheme == "smoother", "robust": how.robust, "origin": how.origin}
    if how.backend == "gpu" and not how.score:
        fitted = gpu.fit(parameters, tracks, **more)
    else:
        fitted = cpu.fit(parameters, tracks, threads=how.threads, score=how.score, **more)
    if how.electrons:
        fitted = as_electrons(parameters, tracks, fitted, threads=how.threads)
    return fitted.flagged(tracks.nulls, "null_number")


def fit_columns(parameters: ParameterSet, tracks: Candidates, how: FitOptions) -> Batch:
    """Fit a batch; return the tracks of a plain fit, and columns of everything else that was asked for."""
    more: dict[str, NDArray[Any]] = {}
    if how.score or not how.rich_states:
        fitted, more = fit(parameters, tracks, **vars(how)).for_output()
    if how.rich_states:
        fitted, states = cpu.fit_with_rich(parameters, tracks, threads=how.threads, origin=how.origin)
        fitted, more = fitted.flagged(tracks.nulls, "null_number"), more | states
    if how.kind == LONG.name and not how.electrons:
        off = np.abs(fitted.qop - tracks.qop)
        fitted = fitted.flagged(is_good(fitted.status) & (off > FAR * np.abs(tracks.qop)), "far_seed")
    return fitted, more


def fit_file(
    parameters: Path,
    candidates: Path,
    fitted: Path,
    *,
    trust: bool = False,
    withdrawn: bool = False,
    **options: Any,
) -> Summary:
    """Fit a file of candidates with the set in a folder, batch by batch, and count good and failed fits.

    `candidates` is a file that :func:`parkf.fit.candidate_files.open_candidates` reads; `fitted` is the table
    ``fitted`` to write, in the format of its ending (.parquet, .root or .csv).
    `rich_states` adds ``RICH_STATES`` (:func:`parkf.fit.cpu.fit_with_rich`), on processor cores.
    Candidates of another detector than the set's raise a ParkfError (:mod:`parkf.fit.detector_check`); with
    `trust`, they are fitted, and the summary names what disagrees. A set that was withdrawn is used only with
    `withdrawn`.
    The `options` are those of :func:`fit`; `robust` adds the columns ``ROBUST``, and `score` adds ``SCORES``.
    `electrons` adds ``ELECTRON``. A `kind` without VELO hits adds ``BEHIND_VELO``; the hits of kinds other
    than long tracks are not compared with the set's detector.
    """
    from parkf.fit.candidate_files import open_candidates
    from parkf.io.checksums import is_sealed

    numbers = load(parameters, withdrawn=withdrawn)
    how = FitOptions(**options)
    how.check(numbers)
    kind = KINDS[how.kind]
    table = FITTED.with_columns(
        (RICH_STATES if how.rich_states else ())
        + (ROBUST if how.robust else ())
        + (() if kind.velo else BEHIND_VELO)
        + (SCORES if how.score else ())
        + (ELECTRON if how.electrons else ())
    )
    with open_candidates(candidates) as file:
        recorded = recorded_detector(file.metadata)
    sealed = candidates.suffix != ".root" and is_sealed(candidates)
    check = DetectorCheck(numbers, f"{candidates} and {parameters}", recorded, trust=trust, sealed=sealed)

    def batch(tracks: Candidates) -> Batch:
        if kind is LONG:
            check.add(tracks)
        return fit_columns(numbers, tracks, how)

    summary = _fit_batches(
        batch,
        candidates,
        fitted,
        table,
        precision=how.precision,
        made_with=set_metadata(numbers.manifest.blobs),
        finish=check.finish,
    )
    summary.notes += check.notes + note_on_seeds(summary.failed["far_seed"], summary.good)
    return summary


def fit_file_full(
    candidates: Path,
    fitted: Path,
    *,
    geometry: "Geometry",
    field: "FieldMap",
    kind: Kind = LONG,
    threads: int | None = None,
) -> Summary:
    """Fit a file by :func:`parkf.fit.reference.full.fit_full`, and count good and failed fits."""
    # Imported here only, because a fit with a parameter set needs neither field nor layers.
    from parkf.fit.reference.full import fit_full

    def batch(candidates: Candidates) -> Batch:
        tracks = fit_full(geometry, field, candidates, kind=kind, threads=threads)
        return tracks, dict(tracks.more)

    table = FITTED.with_columns(() if kind.velo else BEHIND_VELO)
    return _fit_batches(batch, candidates, fitted, table, precision="float64")


def _fit_batches(
    fit_rows: Callable[[Candidates], Batch],
    candidates: Path,
    fitted: Path,
    table: Table,
    *,
    precision: Precision,
    made_with: Mapping[str, str] | None = None,
    finish: Callable[[], None] = lambda: None,
) -> Summary:
    import pyarrow as pa

    from parkf.fit.candidate_files import open_candidates
    from parkf.io.arrow import column
    from parkf.io.repeats import Repeats, hashes
    from parkf.io.tree_export import written_by_ending

    summary = Summary()
    with open_candidates(candidates) as file, written_by_ending(fitted, table) as path:
        table = table.with_events(file.event_kind())
        with (
            table.writer(path, {**(made_with or {}), **detector_keys(file.metadata)}) as writer,
            Repeats() as repeats,
            progress_bar("fit", "tracks", total=file.count) as bar,
        ):
            for hits in file.batches(BATCH):
                tracks, more = fit_rows(hits.candidates(precision))
                columns = {name: hits.arrays[name] for name in ("event", "candidate")} | more
                columns |= {name: getattr(tracks, name) for name in (*NUMBERS, *INTEGERS)}
                arrays = [column(columns[name], kind) for name, kind in table.columns]
                writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=table.schema))
                summary.add(tracks)
                repeats.add(hashes(columns, ("event", "candidate")))
                bar.update(len(hits.arrays["qop"]))
                # Free this batch before the next one is read, so that memory never holds two.
                del hits, tracks, more, columns, arrays
            # Whatever it raises, the file of fits does not appear.
            finish()
            if several := len(repeats.several()):
                summary.notes.append(
                    f"doubtful: {several} pairs of event and candidate are there more than once: was a file"
                    " added twice?"
                )
    return summary
