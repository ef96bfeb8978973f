"""A simulated detector that is calibrated by data without truth, and how good the calibrated set is.

Run, in a working folder:
    python -m benchmarks.calibrate detector     # files of the detector, and configurations
    parkf run calibration_truth                 # its data, and the set that is trained with the truth
    python -m benchmarks.calibrate data         # its data, as the nominal alignment shows them
    parkf run calibration --family              # the loop
    python -m benchmarks.calibrate figures [--json FILE]

Each VELO module, UT layer and SciFi layer of the detector is displaced by 50 µm at random in x, y and z; the
field is stronger by 2‰, errors of UT hits are larger by 15 %, and all layers scatter 10 % more. The loop gets
candidates of 500 crossings a polarity, J/ψ and D⁰ of 12,000 collisions each, the nominal detector, and a
survey of 50 µm. Its own simulation has other seeds. Candidates are found in the displaced detector, and their
hits are then moved to where the nominal alignment has them: the search is not repeated.

The calibrated set fits the validation candidates of the detector as the found alignment and errors show them,
the set trained with the truth as they are.
"""

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from benchmarks.command import write
from scipy.stats import theilslopes

from parkf.data.elements import SECTIONS, Elements
from parkf.data.moving import Moving, move_file
from parkf.data.quantities import REGIONS
from parkf.data.state import errors_by_layer, read_factors
from parkf.data.worse import measuring_worse, scattering_more
from parkf.detector.alignment import Alignment, Displacement, load_alignment
from parkf.detector.description import Description
from parkf.detector.field import make_field_map
from parkf.detector.geometry import Geometry, load_geometry
from parkf.detector.writing import write_alignment, write_geometry
from parkf.fit import fit_file
from parkf.fit.sample import VARIANCES, load_sample, momentum_residual
from parkf.fit.truth import Files
from parkf.io.documents.models import load_document
from parkf.io.files import read_json, scratch_folder
from parkf.io.planes import SCIFI_LAYERS, UT_LAYERS
from parkf.io.project import PROJECT
from parkf.io.track_columns import Rows
from parkf.proof.validation.core import fit_core

SHIFT, FIELD, UT_ERRORS, NOISE = 0.05, 1.002, 1.15, 1.1
TRUTH = Path("calibration-truth")
NOMINAL = PROJECT / "data/geometry/alignment_nominal.yaml"
PLAIN = PROJECT / "data/geometry/run3.yaml"
DATA = [f"{kind}_{side}" for kind in ("training", "jpsi", "d0") for side in ("up", "down")]
VALIDATION = [f"validation_{side}" for side in ("up", "down")]
_SMALLER: dict[str, Any] = {
    "signals": {"collisions": 12000},
    "misalignment": {"scifi_module": 0, "scifi_mat": 0},
    "fits": {"of": ["parkf", "full"]},
}
CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "calibration_truth": {
        "extends": "improved",
        "run": "calibration_truth",
        "detector": {"geometry": f"{TRUTH}/geometry.yaml", "alignment": f"{TRUTH}/alignment.yaml"},
        "field": {"source": f"{TRUTH}/field.npz"},
        **_SMALLER,
    },
    "calibration": {
        "extends": "improved",
        "run": "calibration",
        "seed": 2027,
        **_SMALLER,
        "calibration": {
            "candidates": [f"{TRUTH}/data/{one}.parquet" for one in DATA if one.startswith("training")],
            "placed": "data/geometry/alignment_nominal.yaml",
            "pairs": {
                decay: [f"{TRUTH}/data/{one}.parquet" for one in DATA if one.startswith(decay)]
                for decay in ("jpsi", "d0")
            },
            "survey": dict.fromkeys("xyz", SHIFT),
        },
    },
    "families/calibration": {
        "family": "calibration",
        "base": "workflow/config/calibration.yaml",
        "rounds": 4,
    },
}


def make_detector(folder: Path = TRUTH, seed: int = 7) -> None:
    """Write the files of the detector, and the configurations of its run and of the loop."""
    folder.mkdir(exist_ok=True)
    plain = load_document(PLAIN, Description)
    more = measuring_worse(scattering_more(plain, dict.fromkeys(REGIONS, NOISE)), 1.0, UT_ERRORS, 1.0)
    write_geometry(folder / "geometry.yaml", more, "The detector of benchmarks/calibrate.py.")
    random = np.random.default_rng(seed)
    places: dict[str, dict[int, Displacement]] = {section: {} for section in SECTIONS}
    for section, key in Elements.of(load_geometry(PLAIN)).names:
        x, y, z = (SHIFT * random.standard_normal(3)).round(6).tolist()
        places[section][key] = Displacement(x=x, y=y, z=z)
    alignment = Alignment(tag="shifted", velo_halves={}, **places)
    write_alignment(folder / "alignment.yaml", alignment.model_dump(exclude_defaults=True), "At random.")
    field = make_field_map(
        PROJECT / "data/field/lhcb.json", spacing=100, interpolation="linear", outside="error"
    )
    replace(field, values=(FIELD * field.values).astype(np.float32)).save(folder / "field.npz")
    for name, content in CONFIGURATIONS.items():
        Path(f"workflow/config/{name}.yaml").write_text(yaml.safe_dump(content, sort_keys=False), "utf-8")


def placed(geometry: Path, alignment: Path) -> Geometry:
    """Load a geometry in its alignment."""
    return load_geometry(geometry, alignment)


def make_data(run: Path) -> None:
    """Write the candidates of the truth's run as the nominal alignment and errors show them."""
    errors = np.repeat([1 / UT_ERRORS, 1.0], [UT_LAYERS, SCIFI_LAYERS])
    truth = placed(TRUTH / "geometry.yaml", TRUTH / "alignment.yaml")
    seen = Moving(truth, placed(PLAIN, NOMINAL), errors)
    (TRUTH / "data").mkdir(exist_ok=True)
    for sample in (*DATA, *VALIDATION):
        move_file(run / f"candidates/{sample}.parquet", TRUTH / f"data/{sample}.parquet", seen)


def fits_of(parameters: Path, candidates: dict[str, Path], particles: Path, folder: Path) -> Rows:
    """Fit candidates by sample, and return the genuine ones with good fits beside the truth."""
    files = []
    for sample, path in candidates.items():
        fitted = folder / f"{parameters.parent.name}-{sample}.parquet"
        fit_file(parameters, path, fitted, trust=True)
        files.append(Files(particles / f"{sample}.parquet", path, fitted))
    return load_sample(files).good


def quality(rows: Rows) -> dict[str, dict[str, float]]:
    """Return widths of the cores of δp/p and of the pulls, with errors.

    Positions and slopes are compared beside their median difference, as no track shows where the coordinates
    are; this is 0 for the set of the truth.
    """
    values = {"δp/p": momentum_residual(rows)}
    for name, variance in VARIANCES.items():
        off = np.asarray(rows[name], np.float64) - np.asarray(rows[f"true_{name}"], np.float64)
        if name != "qop":
            off = off - np.median(off[np.isfinite(off)])
        values[f"pull of {name}"] = off / np.sqrt(np.asarray(rows[variance], np.float64))
    found = {}
    for name, of in values.items():
        core = fit_core(of[np.isfinite(of)])
        found[name] = {**core.mean_as("mean"), **core.width_as("width"), "n": core.n}
    return found


def rounds(family: str) -> Iterator[Path]:
    """Yield the folders of the rounds that have run."""
    number = 1
    while (run := Path(f"results/{family}.round{number}")).is_dir():
        yield run
        number += 1


def alignment_figures(found: dict[str, Any]) -> dict[str, Any]:
    """Compare the displacements with the truth, by what they belong to.

    `beside_um` is the distance from the truth (68 %) without a common shift and turn, which no track shows.
    """
    elements = Elements.of(load_geometry(PLAIN))
    z = dict(zip(elements.names, elements.centre[:, 2].tolist(), strict=True))
    truth = load_alignment(TRUTH / "alignment.yaml")
    names = [name.split() for name in found["names"]]
    true = np.array([getattr(getattr(truth, section)[int(key)], one) for section, key, one in names])
    value, error = np.array(found["value"]), np.array(found["error"])
    pull = (value - true) / error
    z_of = np.array([z[section, int(key)] for section, key, _ in names])
    groups: dict[str, Any] = {}
    shifts = {
        "names": found["names"],
        "true": true.tolist(),
        "value": found["value"],
        "error": found["error"],
    }
    for kind in [*dict.fromkeys(f"{section} {one}" for section, _, one in names), "all"]:
        own = np.array([kind in ("all", f"{section} {one}") for section, _, one in names])
        groups[kind] = {
            "n": int(own.sum()),
            "within_3": float((np.abs(pull[own]) < 3).mean()),
            "pull_rms": float(np.sqrt((pull[own] ** 2).mean())),
            "before_um": float(1e3 * np.sqrt((true[own] ** 2).mean())),
            "after_um": float(1e3 * np.sqrt(((value - true)[own] ** 2).mean())),
            "beside_um": None if kind == "all" else _beside((value - true)[own], z_of[own]),
            "error_um": float(1e3 * np.median(error[own])),
        }
    return {"groups": groups, "shifts": shifts}


def _beside(off: np.ndarray, z: np.ndarray) -> float:
    """Return the 68 % quantile (µm) of what a straight line in z leaves of distances (n,), mm."""
    slope, height, *_ = theilslopes(off, z)
    return float(1e3 * np.quantile(np.abs(off - height - slope * z), 0.68))


def figures(run: Path) -> dict[str, Any]:
    """Measure the sets of the truth, of the first round and of the last one on the same tracks."""
    runs = list(rounds("calibration"))
    with scratch_folder() as name:
        folder = Path(name)
        seen = {sample: TRUTH / f"data/{sample}.parquet" for sample in VALIDATION}
        own = {sample: run / f"candidates/{sample}.parquet" for sample in VALIDATION}
        last = runs[-2] / "calibration" if len(runs) > 1 else runs[-1] / "calibration"
        moving = Moving(
            placed(PLAIN, NOMINAL),
            placed(last / "geometry.yaml", last / "alignment.yaml"),
            errors_by_layer(read_factors(last / "calibration.json")),
        )
        moved = {sample: folder / f"{sample}.parquet" for sample in VALIDATION}
        for sample, path in seen.items():
            move_file(path, moved[sample], moving)
        sets = {
            "truth": quality(fits_of(run / "set", own, run / "particles", folder)),
            "before": quality(fits_of(runs[0] / "set", seen, run / "particles", folder)),
            "calibrated": quality(fits_of(runs[-1] / "set", moved, run / "particles", folder)),
        }
    found = [read_json(one / "calibration/calibration.json") for one in runs]
    final = found[-1]
    return {
        "rounds": [
            {
                "change_in_errors": one["change_in_errors"],
                "converged": one["converged"],
                "total": one["total"],
            }
            for one in found
        ],
        "tracks": final["tracks"],
        "reference_tracks": final["reference_tracks"],
        "sets": sets,
        "alignment": alignment_figures(final["alignment"]),
        "field": {
            "scale": final["total"]["field scale"],
            "error": final["field"]["error"][0],
            "truth": FIELD,
        },
        "factors": {
            name: {"value": final["total"][name], "error": error}
            for name, error in zip(final["factors"]["names"], final["factors"]["error"], strict=True)
        },
        "weak": final["weak"],
    }


def truth_of(name: str) -> float:
    """Return the true factor of the detector."""
    return UT_ERRORS if "UT" in name and "errors" in name else NOISE if "noise" in name else 1.0


def table(found: dict[str, Any]) -> str:
    """Write the figures as a table for a page."""
    lines = ["| | truth | nominal | found |", "|---|---|---|---|"]
    sets = found["sets"]
    for name, unit, factor in [("δp/p", " %", 100), *((f"pull of {one}", "", 1) for one in VARIANCES)]:
        widths = [
            f"{factor * sets[one][name]['width']:.3f} ± {factor * sets[one][name]['width_error']:.3f}{unit}"
            for one in ("truth", "before", "calibrated")
        ]
        lines.append(f"| core of {name} | {' | '.join(widths)} |")
    field = found["field"]
    lines.append(f"| field scale | {FIELD} | 1 | {field['scale']:.5f} ± {field['error']:.5f} |")
    for name, of in found["factors"].items():
        lines.append(f"| {name} | {truth_of(name):g} | 1 | {of['value']:.3f} ± {of['error']:.3f} |")
    lines += [
        "",
        "| displacements | before, µm | after, µm | without common shift and turn, µm | within 3 errors |",
        "|---|---|---|---|---|",
    ]
    for kind, of in found["alignment"]["groups"].items():
        beside = "–" if of["beside_um"] is None else f"{of['beside_um']:.1f}"
        lines.append(
            f"| {kind.replace('_', ' ')} | {of['before_um']:.1f} | {of['after_um']:.1f} | {beside} |"
            f" {100 * of['within_3']:.0f} % of {of['n']} |"
        )
    return "\n".join(lines)


def sentence(found: dict[str, Any]) -> str:
    """Say for a page how the loop went."""
    changes = [
        ", ".join(f"{kind} {value:.1f}" for kind, value in one["change_in_errors"].items())
        for one in found["rounds"]
    ]
    end = (
        "was the last one" if found["rounds"][-1]["converged"] else "asks for another one, which was not run"
    )
    told = "; ".join(f"round {number}: {text}" for number, text in enumerate(changes, 1))
    return f"Changes in errors (rms): {told}. The last of these {end}."


def main() -> None:
    """Make the detector or its data, or print the figures, and write them as JSON if asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("detector", "data", "figures"))
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    run = Path("results/calibration_truth")
    if given.what == "detector":
        make_detector()
    elif given.what == "data":
        make_data(run)
    else:
        found = figures(run)
        print(table(found))
        print(sentence(found))
        write(given.json, found)


if __name__ == "__main__":
    main()
