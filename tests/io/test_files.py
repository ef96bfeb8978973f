import errno
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parkf.io.errors import ParkfError
from parkf.io.explained import explained
from parkf.io.files import (
    copy,
    matching,
    read_json,
    remove_unfinished,
    replacing,
    scratch_folder,
    write_json,
)
from parkf.io.tables import PARTICLES

# A writer of a file, a folder beside it and a folder in TMPDIR, which is killed when it has begun.
WRITER = """
import sys
from pathlib import Path
from parkf.io.files import replacing, scratch_folder
run = Path(sys.argv[1])
with replacing(run / "hits/up.parquet") as file, scratch_folder(run) as beside, scratch_folder() as folder:
    file.write_text("half")
    Path(beside, "rows").touch()
    print(file, beside, folder, sep="\\n", flush=True)
    input()
"""


def test_a_copy_that_has_no_room_says_how_much_is_missing(tmp_path, monkeypatch):
    (tmp_path / "a").write_bytes(bytes(2_500_000))
    usage = SimpleNamespace(free=1_000_000)
    monkeypatch.setattr("parkf.io.files.shutil.disk_usage", lambda folder: usage)
    with pytest.raises(
        ParkfError, match=r"no space left on .*: 1\.5 MB more are needed; the copy of .* takes 2\.5 MB"
    ):
        copy(tmp_path / "a", tmp_path / "b")
    assert not (tmp_path / "b").exists()


def test_a_failing_writer_leaves_the_old_file_and_nothing_else(tmp_path):
    target = tmp_path / "numbers.json"
    write_json(target, [1, 2])
    with pytest.raises(RuntimeError), replacing(target) as temporary:
        temporary.write_text("[1,")
        raise RuntimeError("killed half-way")
    assert read_json(target) == [1, 2]
    assert list(tmp_path.iterdir()) == [target]


def test_a_number_that_is_not_finite_is_refused_before_anything_is_replaced(tmp_path):
    target = tmp_path / "numbers.json"
    with pytest.raises(ValueError, match="Out of range float"):
        write_json(target, {"chi2": float("nan")})
    assert list(tmp_path.iterdir()) == []


@given(st.dictionaries(st.text(), st.floats(allow_nan=False, allow_infinity=False)))
def test_json_comes_back_bit_for_bit(tmp_path_factory, content):
    target = tmp_path_factory.mktemp("json") / "content.json"
    write_json(target, content)
    assert read_json(target) == content


def test_missing_and_broken_files_are_named(tmp_path):
    with pytest.raises(ParkfError, match=r"absent\.json: no such file"):
        read_json(tmp_path / "absent.json")
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    with pytest.raises(ParkfError, match=r"broken\.json: not a JSON file"):
        read_json(broken)
    with pytest.raises(ParkfError, match="no such file"):
        copy(tmp_path / "absent", tmp_path / "target")
    assert not (tmp_path / "target").exists()


@pytest.mark.parametrize(
    "full", [OSError(errno.ENOSPC, "No space left on device"), OSError("[Errno 28] No space left on device")]
)
def test_a_full_disk_is_named_with_the_file(tmp_path, full):
    """The system's error for a full disk does not name the file, and Arrow's has no error number either."""
    with pytest.raises(OSError, match=r"table\.parquet") as caught, replacing(tmp_path / "table.parquet"):
        raise full
    assert re.fullmatch(
        rf"{tmp_path}/table\.parquet: no space left on {tmp_path}: [\d.]+ MB are free; "
        "make room, and start again",
        explained(caught.value),
    )
    assert list(tmp_path.iterdir()) == []


def test_a_copy_is_made_where_it_just_fits(tmp_path, monkeypatch):
    (tmp_path / "a").write_bytes(bytes(1000))
    monkeypatch.setattr("parkf.io.files.shutil.disk_usage", lambda folder: SimpleNamespace(free=1000))
    copy(tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "b").read_bytes() == bytes(1000)


def test_two_stars_match_folders_at_any_depth(tmp_path):
    paths = [tmp_path / name for name in ("a.txt", "b/a.txt", "b/c/a.txt")]
    for path in paths:
        path.parent.mkdir(exist_ok=True)
        path.touch()
    assert matching("**/a.txt", tmp_path) == paths
    assert matching("*/a.txt", tmp_path) == paths[1:2]


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    """The folder for temporary files, here and in processes that start here."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def test_what_killed_writers_had_begun_goes_and_that_of_live_ones_stays(tmp_path, scratch):
    run = tmp_path / "run"
    words = [sys.executable, "-c", WRITER, run]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        begun = {Path(writer.stdout.readline().strip()) for _ in range(3)}
        assert remove_unfinished(run) == []
        assert all(path.exists() for path in begun)
        writer.kill()
    with scratch_folder() as mine, replacing(run / "own.json") as own:
        assert set(remove_unfinished(run)) == begun
        assert [*scratch.iterdir()] == [Path(mine)]
        assert own.exists()
    assert sorted(path.name for path in run.iterdir()) == ["hits", "own.json"]
    assert [*scratch.iterdir()] == [*(run / "hits").iterdir()] == []


def test_without_locks_only_what_is_old_is_removed(tmp_path, scratch, monkeypatch):
    def no_lock(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", no_lock)
    files, folder = [tmp_path / f".{name}.abc.tmp" for name in ("old", "new")], tmp_path / ".rows.tmp"
    folder.mkdir()
    for path in (*files, folder / "rows"):
        path.touch()
    for path in (files[0], folder):
        os.utime(path, (0, 0))
    # The folder has a new file.
    assert remove_unfinished(tmp_path) == files[:1]
    os.utime(folder / "rows", (0, 0))
    assert remove_unfinished(tmp_path) == [folder]
    with replacing(tmp_path / "written") as temporary:
        temporary.write_text("whole")
    assert (tmp_path / "written").read_text() == "whole"


@pytest.mark.parametrize(("mask", "mode"), [(0o077, 0o600), (0o002, 0o664), (0o027, 0o640)])
def test_files_have_the_rights_that_the_user_wants_for_new_files(tmp_path, mask, mode):
    before = os.umask(mask)
    try:
        for _ in range(2):
            write_json(tmp_path / "folder/numbers.json", [1, 2])
    finally:
        os.umask(before)
    assert (tmp_path / "folder/numbers.json").stat().st_mode & 0o777 == mode
    assert (tmp_path / "folder").stat().st_mode & 0o777 == 0o777 & ~mask


def test_a_file_that_is_removed_before_its_writer_could_lock_it_is_begun_again(tmp_path, monkeypatch):
    begun = []

    def lock(*_):
        begun.extend(path for path in tmp_path.iterdir() if path not in begun)
        if len(begun) == 1:
            begun[0].unlink()

    monkeypatch.setattr("fcntl.flock", lock)
    write_json(tmp_path / "numbers.json", [1, 2])
    assert len(begun) == 2
    assert list(tmp_path.iterdir()) == [tmp_path / "numbers.json"]


@pytest.mark.parametrize("name", ["fitted.root", "fitted.csv", "fitted"])
def test_a_table_under_the_name_of_another_format_is_refused(tmp_path, name):
    with pytest.raises(ParkfError, match=r"expected a name that ends in \.parquet; name the output so"):
        PARTICLES.writer(tmp_path / name).__enter__()
    assert list(tmp_path.iterdir()) == []
