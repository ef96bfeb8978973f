"""A run's set for another detector: the moved steps alone, or, where that is not enough, a run of its own."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from parkf.detector.description import Description
from parkf.detector.field import load_field, make_field_map
from parkf.detector.geometry import load_geometry
from parkf.io.documents.models import load_document
from parkf.io.errors import ParkfError
from parkf.io.files import replacing
from parkf.io.fingerprints.meaning import is_file_of
from parkf.io.fingerprints.sources import sources_state
from parkf.io.ledger import RESULTS, Ledger
from parkf.params.configuration import nested
from parkf.params.manifest import Manifest
from parkf.params.parameter_set import load
from parkf.proof.comparing.documents import find_document
from parkf.stages.call import code_of, read_call
from parkf.stages.run import run_stage
from parkf.training.realign.parts import parts_of
from parkf.training.realign.realign import plan, plan_table
from parkf.training.result import load_results
from parkf.workflow.config import CONFIGS
from parkf.workflow.held import hold, release

KINDS = ("geometry", "alignment", "field source")
_PROOF = "realign.json"
# Motions of a plane, mm and rad, for which rows were compared with simulated ones: 1 mm, 1 mrad.
_FARTHEST, _STEEPEST = 1.001, 1.001e-3


def realign(
    run: str, name: str, changed: Mapping[str, Path], *, crossings: int, threads: int
) -> tuple[list[str], str]:
    """Make ``results/<name>`` from ``results/<run>``, for a detector that differs by files, of :data:`KINDS`.

    Without a reason against it, the set is made and proven with at most `crossings` of each polarity. With
    reasons, the configuration of a run is written that trains the whole set. Return the reasons, and with
    these a table of how far the numbers of steps move. A ParkfError reports a run that lacks what is needed,
    and a name that is taken.
    """
    before, folder = RESULTS / run, RESULTS / name
    if any(entry.stage != "realign" for entry in Ledger(folder).entries()):
        raise ParkfError(
            f"{folder}: a run of its own, expected no such folder, or a realigned set; say another name"
        )
    manifest = load(before / "set").manifest
    files = {kind: _own_file(kind, manifest, before) for kind in KINDS[:2]}
    if reasons := list(_reasons(manifest, files, changed)):
        table = _estimate(before, manifest, files, changed, threads)
        _configure(run, name, changed)
        return reasons, table
    now = {**files, **changed}
    state = sources_state()
    hold(folder)
    try:
        read, made = files_of(before)
        arguments: dict[str, list[Any]] = {
            **{"geometry": [now["geometry"]], "alignment": [now["alignment"]]},
            **{"alignment_before": [files["alignment"]], "run": read},
            **{"outputs": [folder / name for name in made], "crossings": [crossings], "threads": [threads]},
        }
        words = [word for name, values in arguments.items() for word in (f"--{name}", *map(str, values))]
        call = read_call("realign", words)
        run_stage(call, code_of("realign"), state)
    finally:
        release()
    return [], ""


def _own_file(kind: str, manifest: Manifest, run: Path) -> Path:
    path = find_document(kind, manifest, run)
    if path is None:
        raise ParkfError(f"{run}: the {kind} that its set was trained with is not at hand; put it back")
    return path


def _reasons(manifest: Manifest, before: Mapping[str, Path], changed: Mapping[str, Path]) -> Iterator[str]:
    """Yield the reasons why carried rows would not do."""
    configuration = nested(manifest.configuration or {})
    if configuration.get("training", {}).get("datasets") != "simulate":
        raise ParkfError(
            "the rows of this run are your own: make them for the new detector, and run with these"
        )
    source = changed.get("field source")
    if source is not None and not is_file_of(source, manifest.inputs["field source"]):
        yield "the field is another one: the magnet table and every step see it"
    files = [before, {**before, **changed}]
    one, two = (load_document(of["geometry"], Description).model_dump(exclude={"tag"}) for of in files)
    if parts := [part for part in one if one[part] != two[part]]:
        yield f"the geometry is another one ({', '.join(parts)}), and with it material or planes of rows"
        return
    frames = zip(*(load_geometry(of["geometry"], of["alignment"]).frames for of in files), strict=True)
    for plane, (old, new) in enumerate(frames):
        shift = np.abs(new.origin - old.origin).max()
        angle = np.abs([new.axis_u - old.axis_u, new.axis_v - old.axis_v]).max()
        if shift > _FARTHEST or angle > _STEEPEST:
            yield f"plane {plane} moves by {shift:g} mm and {1e3 * angle:g} mrad, so that other tracks hit it"
            return


def _estimate(
    run: Path, manifest: Manifest, before: Mapping[str, Path], changed: Mapping[str, Path], threads: int
) -> str:
    """Estimate how far the numbers of the steps would move, as a table."""
    field = load_field(run / "field.npz")
    source = changed.get("field source")
    if source is not None:
        settings = nested(manifest.configuration or {})["field"]
        field = make_field_map(
            source, **{one: settings[one] for one in ("spacing", "interpolation", "outside")}
        )
    now = {**before, **changed}
    old, new = (load_geometry(one["geometry"], one["alignment"]).planes() for one in (before, now))
    parts = parts_of(load_results(run / "fits"), None, run / "datasets", field)
    return plan_table(
        plan(parts, old, new, field, other_field=source is not None, threads=threads), everything=True
    )


def _configure(run: str, name: str, changed: Mapping[str, Path]) -> None:
    """Write the configuration of a run that trains the whole set."""
    if not (CONFIGS / f"{run}.yaml").is_file():
        raise ParkfError(f"{CONFIGS / run}.yaml: no such configuration, which the new run extends")
    content: dict[str, Any] = {"extends": run, "run": name}
    for kind, path in changed.items():
        section, key = ("field", "source") if kind == "field source" else ("detector", kind)
        content.setdefault(section, {})[key] = str(path)
    path, text = CONFIGS / f"{name}.yaml", yaml.safe_dump(content, sort_keys=False)
    if path.exists() and path.read_text("utf-8") != text:
        raise ParkfError(f"{path}: is there, and is another configuration; say another name")
    with replacing(path) as temporary:
        temporary.write_text(text, "utf-8")


def files_of(run: Path) -> tuple[list[Path], list[str]]:
    """Return the files of a run that a realigned set is made of, and the names of those that it has anew."""
    anew = ["set/*", "fits/*.json", "closure/*.json", "closure/*.npz", "particles/validation_*.parquet"]
    kept = [
        "field.npz",
        "table/table.npz",
        "slices/slices.npz",
        "electron.json",
        "score.json",
        "datasets/*.parquet",
    ]
    names = [str(path.relative_to(run)) for one in anew for path in sorted(run.glob(one))]
    both = [
        *names,
        "rich.json",
        *(str(path.relative_to(run)) for one in kept for path in sorted(run.glob(one))),
    ]
    if not any(name.startswith("particles") for name in names):
        raise ParkfError(f"{run}: no particles of its validation; name a run that has ended and kept them")
    candidates = [name.replace("particles", "candidates") for name in names if name.startswith("particles")]
    return [run / name for name in both], [*names, "rich.json", *candidates, "validation.json", _PROOF]
