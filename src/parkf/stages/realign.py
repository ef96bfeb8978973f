"""Stage ``realign``: the set of a run for another alignment."""

from typing import Any

from parkf.detector.field import load_field
from parkf.detector.geometry import load_geometry
from parkf.io.events import tables_by_event
from parkf.io.files import copy, sha256, write_sealed
from parkf.io.fingerprints.detector import detector_metadata
from parkf.io.tables import PARTICLES
from parkf.io.terminal import say
from parkf.params.parameter_set import load
from parkf.proof.comparing.effect import simulate_candidates
from parkf.proof.comparing.realigned import prove_realigned
from parkf.stages.assemble import assemble
from parkf.stages.files import AllMade, AllRead, Made, Read, folder_of, set_folder
from parkf.stages.take_closure import take_closure
from parkf.training.displaced import displaced_rows
from parkf.training.realign.parts import parts_of
from parkf.training.realign.realign import described, plan, plan_table, retrain, with_trained
from parkf.training.result import load_results
from parkf.training.rich import RichFit


def realign(
    *,
    geometry: Read,
    alignment_before: Read,
    alignment: Read,
    field: Read,
    set_before: AllRead,
    particles_before: AllRead,
    datasets: AllRead,
    fits_before: AllRead,
    rich_before: Read,
    table: Read,
    slices: Read,
    electron: Read,
    score: Read | None = None,
    closed_before: Read | None = None,
    closed_accuracy_before: Read | None = None,
    fits: AllMade,
    rich: Made,
    closed: Made | None = None,
    closed_accuracy: Made | None = None,
    closed_summary: Made | None = None,
    set: AllMade,
    particles: AllMade,
    candidates: AllMade,
    figures: Made,
    proof: Made,
    polarities: list[int],
    crossings: int,
    configuration: dict[str, Any],
    name: str,
    threads: int = 1,
) -> None:
    """Train the steps of a set whose planes have moved, keep all else, and prove the whole set.

    Parameters
    ----------
    set_before, datasets, fits_before
        Files of the run before: its set, ``<step>.parquet`` and ``<step>.json``.
    table, slices, electron, score, closed_before
        What else the run before has trained, and is kept.
    particles_before, particles, candidates
        Particles of the run's validation, for each of the `polarities`; so many `crossings` of them, and
        their candidates in the new detector.
    figures, proof
        Figures of the set and the full fit, as of a run; and the plan, with paired figures.
    configuration
        That of the run before, with the new alignment.
    name
        Name of the run before.
    """
    before, after = (load_geometry(geometry, one) for one in (alignment_before, alignment))
    magnet, base = load_field(field), load(set_folder(set_before))
    results, rich_fit = load_results(folder_of(fits_before)), RichFit.load(rich_before)
    parts = parts_of(results, rich_fit, folder_of(datasets), magnet)
    planes = before.planes(), after.planes(), magnet
    planned = plan(parts, *planes, threads=threads)
    say(plan_table(planned))
    seed, born = base.manifest.seeds["run"], None
    if any(one.is_trained and one.part.step.displaced for one in planned):
        # Their planes are those of the geometry, as in a run.
        born = displaced_rows(magnet, load_geometry(geometry), seed=seed, threads=threads)
    note = f"rows of {name}, carried to another alignment"
    trained = retrain(planned, *planes, note=note, displaced=born, threads=threads)
    new_results, new_rich = with_trained(results, rich_fit, trained)
    for path in fits:
        if new_results[path.stem] is results[path.stem]:
            copy(folder_of(fits_before) / path.name, path)
        else:
            new_results[path.stem].save(path)
    new_rich.save(rich)
    detector: dict[str, Any] = {"geometry": geometry, "alignment": alignment, "field": field}
    if closed and closed_accuracy and closed_summary and closed_before and closed_accuracy_before:
        take_closure(
            **detector,
            table=table,
            fits=fits,
            theirs=closed_before,
            their_accuracy=closed_accuracy_before,
            output=closed,
            accuracy=closed_accuracy,
            summary=closed_summary,
            seed=seed,
            configuration=configuration,
        )
    told = ", ".join(trained) or "nothing"
    inputs = base.manifest.inputs
    kept: dict[str, Any] = {one: inputs[one] for one in ("field source", "code") if one in inputs}
    assemble(
        **detector,
        table=table,
        fits=fits,
        rich=rich,
        slices=slices,
        electron=electron,
        particles=[],
        candidates=[],
        theirs=score,
        closed=closed,
        closed_accuracy=closed_accuracy,
        closed_summary=closed_summary,
        sources=[],
        outputs=set,
        seed=seed,
        seeds={one: number for one, number in base.manifest.seeds.items() if one != "run"},
        configuration=configuration,
        inputs={
            **kept,
            "realigned from": str(base.sha256),
            **{f"fits of {path.stem}": sha256(path) for path in fits},
        },
        validity={},
        source=f"realigned: trained anew on carried rows: {told}; all else is that of the set {base.sha256};"
        " proven by paired figures on simulated tracks alone",
    )

    files = []
    for source, shot, found, polarity in zip(
        particles_before, particles, candidates, polarities, strict=True
    ):
        with PARTICLES.writer(shot) as writer:
            writer.write_table(next(tables_by_event(PARTICLES, source, events=crossings)))
        made_with = detector_metadata(geometry, alignment, field, polarity)
        files.append(simulate_candidates(shot, found, polarity, (after, magnet), made_with, threads))
    proven, measured = prove_realigned(
        set_folder(set_before), set_folder(set), (after, magnet), files, name=name, threads=threads
    )
    say(proven["answer"])
    write_sealed(figures, measured)
    blobs = base.manifest.blobs.fingerprints()
    about = {"set": measured["set"], "before": {"folder": str(set_folder(set_before)), "set": blobs}}
    write_sealed(proof, {**about, "plan": described(planned), **proven})
