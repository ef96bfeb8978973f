"""Stage ``calibrate``: what data without truth say of the detector."""

from parkf.data.calibrate import calibrate_files
from parkf.stages.files import AllMade, AllRead, Read, folder_of, set_folder


def calibrate(
    *,
    set: AllRead,
    geometry: Read,
    alignment: Read,
    field: Read,
    candidates: AllRead,
    placed: Read,
    reference: AllRead,
    pairs: list[str],
    pair_files: AllRead,
    reference_pairs: list[str],
    reference_pair_files: AllRead,
    before: Read | None = None,
    survey: list[str],
    outputs: AllMade,
    threads: int = 1,
) -> None:
    """Find alignment, field, hit errors and scattering from data, as `parkf calibrate` does, and print them.

    Parameters
    ----------
    placed
        Alignment with which the candidates were made.
    reference
        Candidates of the set's own simulation.
    pairs, reference_pairs
        The decay of each file in `pair_files`, `reference_pair_files`, which have the decays' candidates.
    before
        calibration.json of the round before, whose factors this one refines.
    survey
        Freedoms that are aligned, and their errors by a survey, ``<freedom>=<error>``, in mm or rad.
    outputs
        Files of the calibration, in one folder.
    """
    errors = (one.partition("=") for one in survey)
    calibrate_files(
        set_folder(set),
        folder_of(outputs),
        candidates=candidates,
        placed=placed,
        reference=reference,
        detector=(geometry, alignment, field),
        pairs=list(zip(pairs, pair_files, strict=True)),
        reference_pairs=list(zip(reference_pairs, reference_pair_files, strict=True)),
        survey={freedom: float(error) for freedom, _, error in errors},
        before=before,
    )
