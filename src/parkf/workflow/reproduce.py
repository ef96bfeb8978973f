"""Repetition of a set's training from its manifest: whether the bytes agree, and where they differ."""

import platform
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from parkf.io.documents.document import read_document
from parkf.io.errors import ParkfError
from parkf.io.files import existing, replacing, sha256
from parkf.io.floating_point import linear_algebra
from parkf.model.layout import layout_of
from parkf.params.comparison import Comparison, compare
from parkf.params.configuration import NEIGHBOURS_TABLE, nested
from parkf.params.manifest import Manifest
from parkf.params.parameter_set import MANIFEST_FILE, ParameterSet, load
from parkf.workflow.config_files import merged
from parkf.workflow.run import (
    CONFIGS,
    SCHEMA,
    field_fingerprint,
    is_conditions,
    is_imported,
    load_config,
    start_file,
)

RUN = "reproduced"
_SET = Path("results") / RUN / "set"
_SNAKEFILE = Path("Snakefile")
# Source of all other keys: those that a manifest lacks have no effect on the training.
_REST = CONFIGS / "default.yaml"
_PROFILE = Path("workflow/profiles/local")
# Keys of the configuration that name a file, and the name of its fingerprint in the manifest.
_FILES = {
    ("detector", "geometry"): "geometry",
    ("detector", "alignment"): "alignment",
    ("field", "source"): "field source",
}


@dataclass(frozen=True)
class Coefficient:
    """A number of the magnet table that is not the same: bins in x and y, index in the bin, both values."""

    bin_x: int
    bin_y: int
    index: int
    first: float
    second: float


@dataclass(frozen=True)
class Replay:
    """What came of a training that was repeated.

    Attributes
    ----------
    identical : bool
        Whether both blobs have the same bytes.
    comparison : Comparison
        Of the set with the repeated one.
    bins : int
        Bins of the magnet table that differ.
    coefficients : list of Coefficient
        The first number that differs in each bin, by bins in x, then in y.
    inputs : list of str
        Inputs and intermediate products with another fingerprint: where the two runs began to differ.
    environment : list of str
        Python, machine and packages that are others today.
    """

    identical: bool
    comparison: Comparison
    bins: int
    coefficients: list[Coefficient]
    inputs: list[str]
    environment: list[str]


def replay(parameters: ParameterSet, project: Path, work: Path, cores: int) -> Replay:
    """Train a set again, and compare.

    Parameters
    ----------
    parameters : ParameterSet
        A set that a run of this project trained.
    project : Path
        Checkout with the Snakefile; input files are looked up in it.
    work : Path
        Folder for the repeated run. What it holds of an earlier attempt is used.
    cores : int
        To run on; results do not depend on it.

    Raises
    ------
    ParkfError
        With one line for each reason why the training cannot be repeated here, or when it fails.
    """
    manifest = parameters.manifest
    config = _configuration(manifest, existing(project / _REST))
    if reasons := list(_obstacles(manifest, config, project)):
        raise ParkfError("\n".join(["the training cannot be repeated here:", *reasons]))
    _run(config, project, work, cores)
    again = load(work / _SET)
    return compare_bytes(parameters, again)


def compare_bytes(first: ParameterSet, second: ParameterSet) -> Replay:
    """Say whether two sets have the same bytes, and where not."""
    blobs = [one.manifest.blobs.fingerprints() for one in (first, second)]
    inputs = [one.manifest.inputs for one in (first, second)]
    differing = np.argwhere((first.table != second.table).any(axis=2))
    return Replay(
        identical=blobs[0] == blobs[1],
        comparison=compare(first, second),
        bins=len(differing),
        coefficients=[_first_coefficient(first, second, int(i), int(j)) for i, j in differing],
        inputs=[name for name in {**inputs[0], **inputs[1]} if inputs[0].get(name) != inputs[1].get(name)],
        environment=_environment(first.manifest),
    )


def _configuration(manifest: Manifest, rest: Path) -> dict[str, Any]:
    if manifest.configuration is None:
        raise ParkfError(
            f"the set is '{manifest.source}': its manifest has no configuration to repeat a training with"
        )
    said: dict[str, Any] = read_document(rest).content
    # A set whose manifest lacks these keys was made without them.
    said["training"]["noise_scale"] = dict.fromkeys(said["training"]["noise_scale"], 1.0)
    said["training"]["closure"] = None
    return merged(said, nested(manifest.configuration)) | {"run": RUN}


def _obstacles(manifest: Manifest, config: dict[str, Any], project: Path) -> Iterator[str]:
    """Why a training would not be the same one."""
    try:
        load_config(config, existing(project / SCHEMA), project)
        existing(project / _SNAKEFILE)
    except ParkfError as error:
        yield str(error)
        return
    for (section, key), name in _FILES.items():
        path = project / config[section][key]
        # Files that the run imports are compared when it has made them again.
        if name == "field source":
            yield from _other(str(path), field_fingerprint(config["field"], project), manifest, name)
        elif not (path.is_dir() or is_conditions(path)):
            yield from _other_bytes(path, manifest, name)
    if neighbour := config["training"].get("neighbour"):
        yield from _other_bytes(project / neighbour / "closure/table.npz", manifest, NEIGHBOURS_TABLE)
    datasets = config["training"]["datasets"]
    for name, formula in layout_of(manifest.forms).steps.items():
        if datasets != "simulate" and not is_imported(datasets):
            yield from _other_bytes(project / datasets / f"{name}.parquet", manifest, f"dataset {name}")
        if start := config["training"]["start_from"]:
            yield from _other_bytes(start_file(project / start, name), manifest, f"start {name}")
        if manifest.steps.get(name) != formula:
            yield f"step {name}: its formulas are not those of the set any more"


def _other_bytes(path: Path, manifest: Manifest, name: str) -> Iterator[str]:
    if path.is_file():
        yield from _other(str(path), sha256(path), manifest, name)
    else:
        yield f"{path}: no such file; it is the {name} of the set"


def _other(source: str, found: str, manifest: Manifest, name: str) -> Iterator[str]:
    expected = manifest.inputs.get(name)
    if expected is None:
        yield f"{source}: the manifest has no fingerprint of the {name}"
    elif found != expected:
        yield f"{source}: sha256 {found[:12]}…, expected {expected[:12]}… of the {name} of the set"


def _run(config: dict[str, Any], project: Path, work: Path, cores: int) -> None:
    work.mkdir(parents=True, exist_ok=True)
    for section, key in _FILES:
        config[section][key] = _linked(config[section][key], project, work)
    if "base" in config["detector"]:
        config["detector"]["base"] = _linked(config["detector"]["base"], project, work)
    datasets = config["training"]["datasets"]
    if is_imported(datasets):
        # A pattern of many files, or a map of columns with paths that are relative to it.
        config["training"]["datasets"] = str((project / datasets).absolute())
    elif datasets != "simulate":
        config["training"]["datasets"] = _linked(datasets, project, work)
    for key in ("start_from", "neighbour"):
        if config["training"].get(key) is not None:
            config["training"][key] = _linked(config["training"][key], project, work)
    with replacing(work / "config.yaml") as temporary:
        temporary.write_text(yaml.safe_dump(config, allow_unicode=True, sort_keys=False))
    done = subprocess.run(
        [
            *(sys.executable, "-m", "snakemake", "--snakefile", str((project / _SNAKEFILE).absolute())),
            *("--directory", str(work), "--configfile", str(work / "config.yaml")),
            *("--workflow-profile", str((project / _PROFILE).absolute())),
            *("--cores", str(cores), str(_SET / MANIFEST_FILE)),
        ],
        stdout=sys.stderr,
        check=False,
    )
    if done.returncode != 0:
        raise ParkfError(f"{work}: the repeated training failed; its messages are above, its logs in there")


def _linked(name: str, project: Path, work: Path) -> str:
    """Have an input under the same name in the folder of the run, so that its manifest says the same."""
    source, target = (project / name).absolute(), work / name
    if Path(name).is_absolute() or ".." in Path(name).parts or not source.exists():
        return str(source)
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.is_symlink():
        target.unlink()
    if target.absolute() != source:
        target.symlink_to(source)
    return name


def _first_coefficient(first: ParameterSet, second: ParameterSet, i: int, j: int) -> Coefficient:
    a, b = first.table[i, j], second.table[i, j]
    index = int(np.argmax(a != b))
    return Coefficient(i, j, index, float(a[index]), float(b[index]))


def _environment(manifest: Manifest) -> list[str]:
    here = {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "linear algebra": linear_algebra(),
    }
    lines = []
    for name, was in manifest.environment.items():
        try:
            now = here.get(name) or installed(name)
        except PackageNotFoundError:
            now = "not installed"
        if now != was:
            lines.append(f"{name} {now}, the set was published with {was}")
    return lines
