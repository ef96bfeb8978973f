"""Ten prepared changes of a detector or a set, and whether the answer about the published set is right.

``python -m benchmarks.replace RESULTS [--json benchmarks/results/replace.json]``

RESULTS has three runs that extend ``improved``: ``st_base``, ``st_field`` with 1.002 times the charges of
data/field/lhcb.json as its field, and ``st_seed`` with ``seed: 7``. Sets are compared on the tracks of a run,
as in the head of its report and by ``parkf compare --on``; gates of these runs are left out, since 1,000
crossings do not measure all of them. The set of older forms is also of the field before this one. Of other
detectors, no set is trained: ``parkf compare --effect``. What is right is known from the change: `RIGHT` has
the beginning of each answer.
"""

import json
import re
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import yaml
from benchmarks.command import parser, write

from parkf.detector.field import FieldMap
from parkf.fit import fit_file
from parkf.io.project import PROJECT
from parkf.io.terminal import aligned
from parkf.proof.comparing.effect import measure_effect
from parkf.proof.comparing.replacement import judge_replacement
from parkf.proof.comparing.tracks import fit_on
from parkf.proof.validation.fitting import fitted_samples, validation_files, write_changed
from parkf.proof.validation.pairing import compare_fits

PUBLISHED, OLDER = (f"2026-run3-like-2-{name}" for name in ("r017", "r008"))
PARAMS, DATA = PROJECT / "params", PROJECT / "data"

# Hits of a layer that is known to have shifted in x are where they were measured: no number of a set depends
# on it.
RIGHT = {
    "field +0.2 %": r"Replace .*: its momenta at .* low, .* worse by 0\.(19|20)",
    "field −0.05 %": r".* loses on this detector: its momenta at .* high there",
    "layer +100 µm": ".* shows no loss on this detector",
    "half by 50 µm": ".* shows no loss on this detector",
    "material × 1.1": r".* loses on this detector: its (momenta at 2–3 GeV are .* low|width)",
    "hit errors × 1.1": r".* loses on this detector: its width of the [xy] pull is 1\.",
    "wrong polarity": "Replace .*: its width of the q/p pull",
    "nothing": "Keep .*: both sets fit all tracks alike",
    "other seed": "Keep .*: no difference that matters is seen",
    # No set of older forms has today's field: momenta are told, and cores below 3 GeV are worse, too.
    "older forms": "Replace .*: its momenta",
}


def scaled(node: Any, keys: set[str], factor: float) -> Any:
    """Multiply the numbers under some keys of a document."""
    if isinstance(node, list):
        return [scaled(one, keys, factor) for one in node]
    if not isinstance(node, dict):
        return node
    found = {}
    for key, value in node.items():
        if key in keys:
            found[key] = [factor * one for one in value] if isinstance(value, list) else factor * value
        else:
            found[key] = scaled(value, keys, factor)
    return found


def detectors(folder: Path) -> Iterator[tuple[str, str, Path]]:
    """Write the files of other detectors; yield the change, the kind of file, and its path."""
    field = json.loads((DATA / "field/lhcb.json").read_text())
    for charge in field["charges"]:
        charge[3] *= 0.9995
    (folder / "field.json").write_text(json.dumps(field))
    yield "field −0.05 %", "field source", folder / "field.json"
    geometry = yaml.safe_load((DATA / "geometry/run3.yaml").read_text())
    hits = {"resolution", "pitch", "cluster_errors"}
    nominal = yaml.safe_load((DATA / "geometry/alignment_nominal.yaml").read_text())
    documents = {
        "layer +100 µm": ("alignment", nominal | {"scifi_layers": {4: {"x": 0.1}}}),
        "half by 50 µm": ("alignment", nominal | {"velo_halves": {"left": {"x": 0.05}}}),
        "material × 1.1": ("geometry", scaled(geometry, {"thickness"}, 1.1)),
        "hit errors × 1.1": ("geometry", scaled(geometry, hits, 1.1)),
    }
    for number, (change, (kind, document)) in enumerate(documents.items()):
        path = folder / f"{number}.yaml"
        path.write_text(yaml.safe_dump(document, sort_keys=False))
        yield change, kind, path


def turned(table: pa.Table) -> pa.Table:
    """Turn the polarity of candidates."""
    column = table.schema.get_field_index("polarity")
    kind = table.schema.field(column)
    return table.set_column(column, kind, pc.negate(table["polarity"]).cast(kind.type))


def of_wrong_polarity(run: Path, folder: Path) -> dict[str, Any]:
    """Compare the published set, given the wrong polarity, with itself on a run's tracks."""
    field, files = FieldMap.load(run / "field.npz"), validation_files(run)
    fit = partial(fit_file, PARAMS / PUBLISHED, trust=True)

    def fit_turned(candidates: Path, fitted: Path) -> None:
        write_changed(candidates, folder / "turned.parquet", turned)
        fit(folder / "turned.parquet", fitted)

    own = fitted_samples(files, fit, field)
    wrong = fitted_samples(files, fit_turned, field)
    return compare_fits(own, wrong)


def pairs(results: Path, folder: Path) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield a change, the name of the older set, and figures of two sets on the tracks of a run."""

    def on(run: str, own: Path, published: Path) -> dict[str, Any]:
        return compare_fits(*fit_on(results / run, [own, published]))

    base = results / "st_base/set"
    yield "field +0.2 %", PUBLISHED, on("st_field", results / "st_field/set", PARAMS / PUBLISHED)
    yield "wrong polarity", PUBLISHED, of_wrong_polarity(results / "st_base", folder)
    yield "nothing", "st_base", on("st_base", base, base)
    yield "other seed", "st_base", on("st_base", results / "st_seed/set", base)
    yield "older forms", OLDER, on("st_base", base, PARAMS / OLDER)


def main() -> None:
    """Print the answers, and write them if asked."""
    options = parser(__doc__, results="results").parse_args()
    rows: list[dict[str, Any]] = []

    def told(change: str, by: str, said: str, figures: Any, seconds: float) -> None:
        right = re.match(RIGHT[change], said) is not None
        rows.append(
            {"change": change, "by": by, "answer": said, "right": right, "seconds": round(seconds, 1)}
        )
        rows[-1]["figures"] = figures
        print(f"{change}: {'right' if right else 'WRONG'}, {seconds:.0f} s\n  {said}", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        start = time.monotonic()
        for change, older, found in pairs(options.results, Path(folder)):
            said = judge_replacement(found, older).sentence
            told(change, "tracks of a run", said, found["figures"], time.monotonic() - start)
            start = time.monotonic()
        for change, kind, path in detectors(Path(folder)):
            start = time.process_time()
            effect = measure_effect(PARAMS / PUBLISHED, {kind: path})
            told(change, "--effect", effect["answer"], effect["figures"], time.process_time() - start)
    right = sum(one["right"] for one in rows)
    print(aligned(("change", "by", "right"), [(one["change"], one["by"], one["right"]) for one in rows]))
    print(f"{right} of {len(rows)} answers are right")
    write(options.json, {"published": PUBLISHED, "older": OLDER, "right": right, "changes": rows})


if __name__ == "__main__":
    main()
