"""The ledger names files by their paths in the working folder, wherever a job has its copies of them."""

from pathlib import Path

import pytest

from parkf.io.fingerprints.code_key import sources_state
from parkf.io.ledger import Ledger, fingerprint
from parkf.stages.call import Call, code_of
from parkf.stages.run import run_stage


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Return a function that runs a stage in the folder of a project; it returns the stage's entry."""
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)

    def make(output, *inputs):
        output.parent.mkdir(parents=True, exist_ok=True)
        call = Call("field", lambda: output.write_bytes(b"made"), {}, {"reads": inputs}, [output], {})
        run_stage(call, code_of("field"), sources_state())
        return [*Ledger(Path("results/own")).entries()][-1]

    return make


def test_copies_of_products_have_the_names_of_the_products(made, tmp_path):
    scratch = tmp_path / "node/fs/results/own"
    first = made(scratch / "first.npz")
    second = made(scratch / "second.npz", scratch / "first.npz")
    assert second.inputs == first.outputs
    assert [*first.outputs, *second.outputs] == ["results/own/first.npz", "results/own/second.npz"]
    # Links to copies would keep them on the node.
    assert not Path("results/.store").exists()


def test_files_of_another_project_keep_their_names_and_documents_count_by_their_meaning(made, tmp_path):
    other = tmp_path / "other/results/theirs/geometry.yaml"
    other.parent.mkdir(parents=True)
    other.write_text("a: 1\n")
    name = Path("../other/results/theirs/geometry.yaml")
    before = made(Path("results/own/field.npz"), name).inputs
    assert list(before) == [str(name)]
    other.write_text("a: 1.0  # the same\n")
    assert fingerprint(name) == before[str(name)]
