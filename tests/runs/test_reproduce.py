"""A set can be trained again from its manifest, on any number of cores, in any number of chunks.

Errors give reasons.
"""

import shutil
import subprocess
import sys

import numpy as np
import pytest

from parkf.io.files import sha256
from parkf.model.steps import FORMS
from parkf.params import load
from parkf.params.parameter_set import with_blobs

from .conftest import ROOT, Project

SET = "results/fam.ours/set"
FILES = ("constant.f32", "global.f32", "ghosts.f32", "slices.f32", "manifest.json")


def params(project, *arguments):
    """Call `parkf params …` in the project; return the exit code and the output, Snakemake's last."""
    done = subprocess.run(
        [sys.executable, "-m", "parkf.cli", "params", *map(str, arguments)],
        cwd=project.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def checkout(family, tmp_path_factory):
    """A copy of a project after a family, whose next runs cut samples in two."""
    folder = tmp_path_factory.mktemp("reproduce") / "checkout"
    project = Project(shutil.copytree(family.folder, folder, symlinks=True))
    with (folder / "workflow/profiles/local/profile.yaml").open("a") as profile:
        profile.write("set-scatter: [training=2]\n")
    for name in ("Snakefile", "src"):
        (folder / name).symlink_to(ROOT / name)
    return project


def reproduce(checkout, parameters):
    return params(checkout, "reproduce", parameters, "--work", "again", "--cores", 1)


def test_same_bytes_as_in_a_family_alone_on_one_core_in_two_chunks(checkout):
    """Neither the number of cores nor that of chunks nor other members change a byte of set or datasets."""
    code, text = reproduce(checkout, SET)
    assert code == 0, text[-5000:]
    assert text.startswith(f"{SET}: identical, byte for byte\n")
    first, again = (checkout.folder / name for name in ("results/fam.ours", "again/results/reproduced"))
    chunks = again / "states/training_up"
    assert sorted(path.name for path in chunks.iterdir()) == ["1-of-2.parquet", "2-of-2.parquet"]
    datasets = [f"datasets/{step}.parquet" for step in FORMS["production"].steps]
    for name in (*datasets, "closure/table.npz", *(f"set/{name}" for name in FILES)):
        assert sha256(again / name) == sha256(first / name), f"{name} depends on cores, chunks or members"
    assert np.isfinite(load(again / "set").constant).all()


def test_a_changed_alignment_is_named(checkout):
    alignment = checkout.folder / "data/geometry/alignment_nominal.yaml"
    text = alignment.read_text()
    try:
        alignment.write_text(text.replace("scifi_layers: {}", "scifi_layers: {3: {x: 0.1}}"))
        code, said = reproduce(checkout, SET)
    finally:
        alignment.write_text(text)
    assert code == 2
    assert "the training cannot be repeated here" in said
    assert "data/geometry/alignment_nominal.yaml: sha256 " in said
    assert "of the alignment of the set" in said


def test_other_numbers_are_named(checkout):
    """A set that somebody changed."""
    trained = load(checkout.folder / SET)
    table = trained.table.copy()
    table[30, 25, 0] *= 2
    changed = with_blobs(trained.manifest, trained.constant, table)
    changed.save(checkout.folder / "results/other/set")
    code, text = reproduce(checkout, "results/other/set")
    assert code == 1, text[-5000:]
    assert "results/other/set: NOT identical" in text
    assert "parkf params diff results/other/set again/results/reproduced/set" in text
