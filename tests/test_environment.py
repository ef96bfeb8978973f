"""conda's environment.yml and pip's pyproject.toml require the same packages."""

import re
import tomllib
from pathlib import Path

import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
# The tools of `dev` that compile changed formulas.
_BUILD = ("scikit-build-core", "nanobind", "ninja", "cmake")
CONDA_ONLY = {"python", "cxx-compiler", "make", "pip", "cupy"}


def _versions(requirements):
    pairs = (re.fullmatch(r"([A-Za-z0-9-]+(?:\[[a-z0-9]+\])?)(.*)", text).groups() for text in requirements)
    return {name.lower(): version for name, version in pairs}


def test_same_packages_and_versions():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    own, *tools = extras["dev"]
    assert own == "parkf[train,slurm,htcondor,docs]"
    named = [one for name in ("train", "slurm", "htcondor", "docs") for one in extras[name]]
    pip = _versions(project["dependencies"] + tools + named + extras["acts"])
    entries = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    nested = next(entry["pip"] for entry in entries if isinstance(entry, dict))
    conda = _versions([entry for entry in entries if isinstance(entry, str)] + nested)
    assert CONDA_ONLY <= conda.keys()
    assert {name: version for name, version in conda.items() if name not in CONDA_ONLY} == pip


def test_python_is_the_same():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert f"python{project['requires-python']}" in (ROOT / "environment.yml").read_text()


def test_rules_run_with_the_versions_of_the_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    build = [name for name in extras["dev"] if name.split(">")[0] in _BUILD]
    rules = yaml.safe_load((ROOT / "workflow/envs/parkf.yaml").read_text())["dependencies"]
    nested = next(entry["pip"] for entry in rules if isinstance(entry, dict))
    conda = _versions([entry for entry in rules if isinstance(entry, str)] + nested)
    asked = {name: version for name, version in conda.items() if name not in CONDA_ONLY}
    assert asked == _versions(project["project"]["dependencies"] + extras["train"] + build)


def test_the_conda_packages_are_those_of_pip():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    recipe = yaml.safe_load((ROOT / "conda/recipe.yaml").read_text())
    assert recipe["context"]["version"] == project["version"]
    alone, train = (
        {one.partition(" ")[0]: one.partition(" ")[2] for one in output["requirements"]["run"]}
        for output in recipe["outputs"]
    )
    assert alone.pop("python") == project["requires-python"]
    assert alone == _versions(project["dependencies"])
    asked = _versions(project["optional-dependencies"]["train"])
    # On no channel of conda; the recipe says what to do.
    assert asked.pop("pythia8mc") in (ROOT / "conda/recipe.yaml").read_text()
    assert train.pop("${{") == "pin_subpackage('parkf', exact=true) }}"
    assert train == asked


def test_the_lock_has_what_the_package_asks_for_with_checksums_and_no_addresses():
    text = (ROOT / "requirements.lock").read_text()
    blocks = re.findall(r"^(\S+)==(\S+) \\\n((?: +--hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", text, re.M)
    locked = {name: version for name, version, _ in blocks}
    assert len(locked) == len(re.findall(r"^[a-z].*==", text, re.M))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = [Requirement(one) for one in project["dependencies"] + project["optional-dependencies"]["train"]]
    wrong = [str(one) for one in asked if locked.get(canonicalize_name(one.name), "0") not in one.specifier]
    assert wrong == []
    assert "://" not in text
