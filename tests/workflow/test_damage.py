from base64 import urlsafe_b64encode
from pathlib import Path

import numpy as np
import pytest
from parkf.workflow.running.damage import remove_damaged, verify

from parkf.io.errors import DamagedFileError, ParkfError
from parkf.io.explained import explained
from parkf.io.files import write_sealed
from parkf.io.tables import FATES
from parkf.params import load
from parkf.params.registry import readable_registry


@pytest.fixture
def run(tmp_path):
    """A folder with a file of each kind."""
    write_sealed(tmp_path / "fits/V.json", {"values": [1.5, 2.5]})
    np.savez(tmp_path / "field.npz", values=np.arange(5.0))
    with FATES.writer(tmp_path / "fates/up.parquet"):
        pass
    (tmp_path / "page.html").write_text("not read")
    return tmp_path


def test_sound_files_pass(run):
    assert verify(run) == (3, [])


@pytest.mark.parametrize("name", ["fits/V.json", "field.npz", "fates/up.parquet"])
def test_a_changed_byte_is_told_with_the_file(run, name):
    content = bytearray((run / name).read_bytes())
    place = content.index(b"2.5") if name.endswith("json") else len(content) // 2
    content[place] ^= 1
    (run / name).write_bytes(content)
    count, problems = verify(run)
    assert count == 3
    assert [name in problem for problem in problems] == [True]


def test_published_sets_are_sound():
    assert verify(readable_registry().path("2026-run3-like-2-r004"))[1] == []


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("manifest.json", "manifest.json: not a manifest as it was written"),
        ("global.f32", "global.f32: sha256 "),
    ],
)
def test_a_damaged_set_is_told_and_marked_for_the_run(tmp_path, monkeypatch, name, said):
    """Snakemake has a record of the damaged file of a set, so the run removes it and makes it again."""
    monkeypatch.chdir(tmp_path)
    path = Path("results/run/set") / name
    load(readable_registry().path("2026-run3-like-2-r005")).save(path.parent)
    assert verify(Path("results")) == (1, [])
    content = bytearray(path.read_bytes())
    # The changed byte is in a number that the fit uses.
    content[content.index(b"0.0125") + 5 if name.endswith("json") else 1000] ^= 1
    path.write_bytes(content)
    (problem,) = verify(Path("results"))[1]
    assert said in problem
    with pytest.raises(DamagedFileError) as caught:
        load(path.parent)
    record = Path(".snakemake/metadata") / urlsafe_b64encode(str(path).encode()).decode()
    record.parent.mkdir(parents=True)
    record.write_text('{"rule": "assemble"}')
    assert explained(caught.value) == problem
    ((removed, why),) = remove_damaged(Path("results/run")).items()
    assert removed == path
    assert f"{path}: made by rule assemble of this run: removed, to be made again" in why
    assert not path.exists()


def test_nothing_to_verify_is_an_error(tmp_path):
    with pytest.raises(ParkfError, match="no such folder"):
        verify(tmp_path / "absent")
    with pytest.raises(ParkfError, match="nothing to verify"):
        verify(tmp_path)
