"""Figures of another set on a run's own candidates, as if that set stayed in production."""

from pathlib import Path

from parkf.io.files import scratch_folder, write_sealed
from parkf.params.parameter_set import load
from parkf.proof.comparing.subject import BESIDE_FILE

_SAMPLES = "validation_*.parquet"


def measure_beside(run: Path, published: Path | None) -> None:
    """Fit a run's validation candidates with another set, and write its figures to ``beside.json``.

    The file has ``version``, ``set`` (checksums), and ``fit`` of
    :func:`parkf.proof.validation.validate.measure_alone`. All are None without another set, or where the
    run's candidates and particles were deleted.

    Raises
    ------
    ParkfError
        When a file is broken.
    """
    from parkf.fit import fit_file
    from parkf.fit.sample import load_sample
    from parkf.fit.truth import Files
    from parkf.proof.validation.validate import measure_alone

    candidates = sorted((run / "candidates").glob(_SAMPLES))
    particles = [run / "particles" / path.name for path in candidates]
    if published is None or not candidates or not all(path.is_file() for path in particles):
        write_sealed(run / BESIDE_FILE, dict.fromkeys(("version", "set", "fit")))
        return
    manifest = load(published).manifest
    with scratch_folder() as folder:
        files = []
        for found, truth in zip(candidates, particles, strict=True):
            fitted = Path(folder) / found.name
            fit_file(published, found, fitted)
            files.append(Files([truth], [found], [fitted]))
        fit = measure_alone(load_sample(files))
    about = {"version": manifest.version, "set": manifest.blobs.fingerprints()}
    write_sealed(run / BESIDE_FILE, {**about, "fit": fit})
