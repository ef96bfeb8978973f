"""Stage ``realign``: the set of a run for another alignment."""

from typing import Any

from parkf.detector.field import load_field
from parkf.detector.geometry import load_geometry
from parkf.io.events import tables_by_event
from parkf.io.files import sha256, write_sealed
from parkf.io.fingerprints.detector import detector_metadata
from parkf.io.tables import PARTICLES
from parkf.io.terminal import say
from parkf.params.configuration import nested
from parkf.params.parameter_set import load
from parkf.proof.comparing.effect import simulate_candidates
from parkf.proof.comparing.realigned import prove_realigned
from parkf.stages.assemble import assemble
from parkf.stages.files import AllMade, AllRead, Read, set_folder
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
    run: AllRead,
    outputs: AllMade,
    crossings: int,
    threads: int = 1,
) -> None:
    """Train the steps of a set whose planes have moved, keep all else, and prove the whole set.

    Parameters
    ----------
    run
        Files of the run before, as :func:`parkf.workflow.realign.files_of` names them.
    outputs
        The same files of the new set, as far as they are not those of the run.
    crossings
        Number of crossings of the run's validation, of each polarity, that are simulated in the new detector.
    """
    old, new = set_folder(run).parent, set_folder(outputs).parent
    before, after = (load_geometry(geometry, one) for one in (alignment_before, alignment))
    field, base = load_field(old / "field.npz"), load(old / "set")
    results, rich = load_results(old / "fits"), RichFit.load(old / "rich.json")
    planes = before.planes(), after.planes(), field
    planned = plan(parts_of(results, rich, old / "datasets", field), *planes, threads=threads)
    say(plan_table(planned))
    seeds, born = base.manifest.seeds, None
    if any(one.is_trained and one.part.step.displaced for one in planned):
        # Their planes are those of the geometry, as in a run.
        born = displaced_rows(field, load_geometry(geometry), seed=seeds["run"], threads=threads)
    note = f"rows of {old.name}, carried to another alignment"
    trained = retrain(planned, *planes, note=note, displaced=born, threads=threads)
    results, rich = with_trained(results, rich, trained)
    fits = [new / "fits" / f"{name}.json" for name in results]
    for path, result in zip(fits, results.values(), strict=True):
        result.save(path)
    rich.save(new / "rich.json")
    configuration = nested(base.manifest.configuration or {})
    configuration["detector"] |= {"geometry": str(geometry), "alignment": str(alignment)}
    common: dict[str, Any] = {
        **{"geometry": geometry, "alignment": alignment, "field": old / "field.npz"},
        **{"table": old / "table/table.npz", "fits": fits},
        **{"seed": seeds["run"], "configuration": configuration},
    }
    closed: dict[str, Any] = {}
    if (new / "closure/table.npz") in outputs:
        table, accuracy, summary = (
            new / "closure" / name for name in ("table.npz", "accuracy.json", "closure.json")
        )
        theirs: dict[str, Any] = {
            "theirs": old / "closure/table.npz",
            "their_accuracy": old / "closure/accuracy.json",
        }
        take_closure(**common, **theirs, output=table, accuracy=accuracy, summary=summary)
        closed = {"closed": table, "closed_accuracy": accuracy, "closed_summary": summary}
    told = ", ".join(trained) or "nothing"
    inputs = {name: base.manifest.inputs[name] for name in ("field source", "code")}
    inputs |= {"realigned from": str(base.sha256), **{f"fits of {one.stem}": sha256(one) for one in fits}}
    assemble(
        **common,
        **closed,
        slices=old / "slices/slices.npz",
        electron=old / "electron.json",
        rich=new / "rich.json",
        particles=[],
        candidates=[],
        theirs=old / "score.json" if old / "score.json" in run else None,
        sources=[],
        outputs=outputs,
        seeds={name: seed for name, seed in seeds.items() if name != "run"},
        inputs=inputs,
        validity={},
        source=f"realigned: trained anew on carried rows: {told}; all else is that of the set {base.sha256};"
        " proven by paired figures on simulated tracks alone",
    )
    files = []
    for polarity, name in ((+1, "validation_up.parquet"), (-1, "validation_down.parquet")):
        if (shot := new / "particles" / name) in outputs:
            with PARTICLES.writer(shot) as writer:
                writer.write_table(
                    next(tables_by_event(PARTICLES, old / "particles" / name, events=crossings))
                )
            made_with = detector_metadata(geometry, alignment, old / "field.npz", polarity)
            place = new / "candidates" / name
            files.append(simulate_candidates(shot, place, polarity, (after, field), made_with, threads))
    sets = old / "set", new / "set"
    proven, measured = prove_realigned(*sets, (after, field), files, name=old.name, threads=threads)
    say(proven["answer"])
    write_sealed(new / "validation.json", measured)
    was = {"folder": str(sets[0]), "set": base.manifest.blobs.fingerprints()}
    about = {"set": measured["set"], "before": was, "plan": described(planned)}
    write_sealed(new / "realign.json", about | proven)
