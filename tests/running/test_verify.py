import numpy as np
import pytest

from parkf.errors import ParkfError
from parkf.files import write_sealed
from parkf.parameters.registry import readable_registry
from parkf.running.verify import verify
from parkf.tables import FATES


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


def test_nothing_to_verify_is_an_error(tmp_path):
    with pytest.raises(ParkfError, match="no such folder"):
        verify(tmp_path / "absent")
    with pytest.raises(ParkfError, match="nothing to verify"):
        verify(tmp_path)
