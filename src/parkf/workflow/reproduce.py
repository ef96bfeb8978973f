"""Repetition of a training from a set's manifest, and comparison of the bytes."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any

import yaml

from parkf.io.documents.document import read_document
from parkf.io.errors import ParkfError
from parkf.io.files import existing, replacing, sha256
from parkf.io.fingerprints.meaning import is_file_of
from parkf.io.process_settings import environment
from parkf.model.layout import layout_of
from parkf.params.binary_form import MANIFEST_FILE
from parkf.params.comparison import changed
from parkf.params.configuration import NEIGHBOURS_TABLE, nested
from parkf.params.manifest import Manifest
from parkf.params.parameter_set import ParameterSet, load
from parkf.workflow.config import CONFIGS, load_config
from parkf.workflow.config_files import merged
from parkf.workflow.snakemake import environment as of_snakemake

RUN = "reproduced"
_SET = Path("results") / RUN / "set"
_SNAKEFILE = Path("Snakefile")
# Keys of the configuration that name a file, and the name of its fingerprint in the manifest.
_FILES = {
    ("detector", "geometry"): "geometry",
    ("detector", "alignment"): "alignment",
    ("field", "source"): "field source",
}


@dataclass(frozen=True)
class Replay:
    """Result of a repeated training."""

    made: Path  # the repeated set
    identical: bool  # whether its blobs have the bytes of the set
    inputs: list[str]  # inputs and intermediate products whose fingerprints differ
    environment: list[str]  # versions of Python, machine and packages that differ today, a line each


def replay(parameters: ParameterSet, project: Path, work: Path, cores: int) -> Replay:
    """Repeat the training of a set that a run of this project trained, and compare the results.

    The checkout `project` has the Snakefile and the input files. The repeated run takes place in the folder
    `work`, and continues an earlier attempt there. Results do not depend on the number of `cores`. A
    ParkfError lists the reasons why the training cannot be repeated here, or reports that it failed.
    """
    manifest = parameters.manifest
    # The default configuration has the keys that a manifest lacks, which do not affect the training.
    config = _configuration(manifest, existing(project / CONFIGS / "default.yaml"))
    if reasons := list(_obstacles(manifest, config, project)):
        raise ParkfError("\n".join(["the training cannot be repeated here:", *reasons]))
    _run(config, project, work, cores)
    again = load(work / _SET)
    # Older manifests have fingerprints of the files' bytes, newer ones fingerprints of their meaning.
    files = {name: project / config[section][key] for (section, key), name in _FILES.items()}
    prints = (manifest.inputs, again.manifest.inputs)
    same = {
        name for name, path in files.items() if all(is_file_of(path, one.get(name, "")) for one in prints)
    }
    return Replay(
        made=work / _SET,
        identical=manifest.blobs == again.manifest.blobs,
        inputs=[name for name in changed(*prints) if name not in same],
        environment=_environment(manifest),
    )


def _configuration(manifest: Manifest, rest: Path) -> dict[str, Any]:
    if manifest.configuration is None:
        raise ParkfError(
            f"the set is '{manifest.source}': its manifest has no configuration to repeat a training with"
        )
    if "realigned from" in manifest.inputs:
        raise ParkfError(f"the set is '{manifest.source}': no run makes it; repeat it with `parkf realign`")
    default: dict[str, Any] = read_document(rest).content
    # A set whose manifest lacks these keys was made without them.
    default["training"]["noise_scale"] = dict.fromkeys(default["training"]["noise_scale"], 1.0)
    default["training"] |= {"closure": None, "client": "parkf"}
    config = merged(default, nested(manifest.configuration)) | {"run": RUN}
    # Sets of before had this key, mostly null: a fit could start from another one.
    if config["training"].get("start_from", 0) is None:
        del config["training"]["start_from"]
    return config


def _obstacles(manifest: Manifest, config: dict[str, Any], project: Path) -> Iterator[str]:
    """Yield the reasons why the training would differ."""
    try:
        load_config(config, project)
        existing(project / _SNAKEFILE)
    except ParkfError as error:
        yield str(error)
        return
    for (section, key), name in _FILES.items():
        yield from _other_bytes(project / config[section][key], manifest, name)
    if neighbour := config["training"].get("neighbour"):
        yield from _other_bytes(project / neighbour / "closure/table.npz", manifest, NEIGHBOURS_TABLE)
    datasets = config["training"]["datasets"]
    for name, formula in layout_of(manifest.forms).steps.items():
        if (dataset := project / datasets / f"{name}.parquet").is_file():
            yield from _other_bytes(dataset, manifest, f"dataset {name}")
        if manifest.steps.get(name) != formula:
            yield f"step {name}: its formulas are not those of the set any more"


def _other_bytes(path: Path, manifest: Manifest, name: str) -> Iterator[str]:
    expected = manifest.inputs.get(name)
    if not path.is_file():
        yield f"{path}: no such file; it is the {name} of the set"
    elif expected is None:
        yield f"{path}: the manifest has no fingerprint of the {name}"
    elif not is_file_of(path, expected):
        yield f"{path}: sha256 {sha256(path)[:12]}…, expected {expected[:12]}… of the {name} of the set"


def _run(config: dict[str, Any], project: Path, work: Path, cores: int) -> None:
    work.mkdir(parents=True, exist_ok=True)
    training = config["training"]
    for section, key in (*_FILES, ("training", "neighbour")):
        if config[section].get(key) is not None:
            config[section][key] = _linked(config[section][key], project, work)
    if training["datasets"] != "simulate":
        training["datasets"] = _linked(training["datasets"], project, work)
    with replacing(work / "config.yaml") as temporary:
        temporary.write_text(yaml.safe_dump(config, allow_unicode=True, sort_keys=False), "utf-8")
    done = subprocess.run(
        [
            *(sys.executable, "-P", "-m", "snakemake"),
            *("--snakefile", str((project / _SNAKEFILE).absolute())),
            *("--directory", str(work), "--configfile", str(work / "config.yaml")),
            *("--workflow-profile", str((project / "workflow/profiles/local").absolute())),
            *("--cores", str(cores), str(_SET / MANIFEST_FILE)),
        ],
        stdout=sys.stderr,
        env=of_snakemake(),
        check=False,
    )
    if done.returncode != 0:
        raise ParkfError(f"{work}: the repeated training failed; its messages are above, its logs in there")


def _linked(name: str, project: Path, work: Path) -> str:
    """Link an input into the run's folder, so that the manifest keeps its name; return the name."""
    source, target = (project / name).absolute(), work / name
    if Path(name).is_absolute() or ".." in Path(name).parts or not source.exists():
        return str(source)
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.is_symlink():
        target.unlink()
    if target.absolute() != source:
        target.symlink_to(source)
    return name


def _environment(manifest: Manifest) -> list[str]:
    """Compare the versions of a manifest with those of today."""
    here, lines = environment(), []
    for name, was in manifest.environment.items():
        try:
            now = here.get(name) or installed(name)
        except PackageNotFoundError:
            now = "not installed"
        if now != was:
            lines.append(f"{name} {now}, the set was published with {was}")
    return lines
