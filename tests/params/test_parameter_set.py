"""Parameter sets survive a round trip; an incomplete set is refused, and the message names the fault."""

import re

import bad_sets
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from parkf.io.errors import ParkfError
from parkf.params import load
from parkf.params.blobs import aligned
from parkf.params.parameter_set import with_blobs

_reuse = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=10)


@_reuse
@given(
    arrays(np.float32, 466, elements=st.floats(width=32, allow_nan=False, allow_infinity=False), fill=None)
)
def test_round_trip(tmp_path, parameters, constant):
    saved = with_blobs(parameters.manifest, constant, parameters.table)
    saved.save(tmp_path / "set")
    loaded = load(tmp_path / "set")
    assert loaded.constant.tobytes() == constant.tobytes()
    assert loaded.table.tobytes() == saved.table.tobytes()
    assert loaded.manifest == saved.manifest


def test_equal_sets_give_equal_bytes(tmp_path, parameters):
    for name in ("one", "two"):
        parameters.save(tmp_path / name)
    for file in ("constant.f32", "global.f32", "manifest.json"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_blobs_are_little_endian_and_exactly_as_long(tmp_path, parameters):
    parameters.save(tmp_path)
    blob = (tmp_path / "constant.f32").read_bytes()
    assert len(blob) == 4 * 466
    assert np.array_equal(np.frombuffer(blob, "<f4"), parameters.constant)
    assert (tmp_path / "global.f32").stat().st_size == 4 * 240_000


def test_block_is_a_rectangle(parameters):
    assert parameters.block("T").shape == (22, 12)
    assert parameters.block("V")[1, 0] == parameters.constant[6]


@pytest.mark.parametrize("name", bad_sets.CASES)
def test_bad_set_is_refused(tmp_path, parameters, name):
    spoil, reason = bad_sets.CASES[name]
    parameters.save(tmp_path)
    spoil(tmp_path)
    with pytest.raises(ParkfError) as caught:
        load(tmp_path)
    # Behind the file's name stands the line, where there is one.
    assert re.sub(r"(json):\d+", r"\1", str(caught.value)).startswith(f"{tmp_path}/{reason}")


def test_a_newer_format_that_older_readers_may_read(tmp_path, parameters):
    parameters.save(tmp_path)
    bad_sets.edit(lambda c: c.update(format_version=10, news={"a": 1}))(tmp_path)
    assert load(tmp_path).constant.tobytes() == parameters.constant.tobytes()


def test_numbers_that_are_none_do_not_become_a_set(parameters):
    constant, table = parameters.constant.copy(), parameters.table.copy()
    constant[30], table[3, 7, 11] = np.nan, np.inf
    with pytest.raises(ParkfError, match="index 30: got nan"):
        with_blobs(parameters.manifest, constant, parameters.table)
    with pytest.raises(ParkfError, match="magnet table: index 3,7,11: got inf"):
        with_blobs(parameters.manifest, parameters.constant, table)


def test_a_save_that_fails_leaves_no_manifest(tmp_path, parameters, monkeypatch):
    parameters.save(tmp_path)

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr("parkf.params.parameter_set.write_manifest", fail)
    with pytest.raises(OSError, match="disk full"):
        parameters.save(tmp_path)
    with pytest.raises(ParkfError, match="no such file"):
        load(tmp_path)


@pytest.mark.parametrize("offset", [0, 4, 32, 60, 64])
def test_numbers_begin_at_a_cache_line(offset):
    """A vector that a cache line holds must not lie across two of them."""
    room = np.zeros(1024, np.uint8)
    begin = -room.ctypes.data % 64 + offset
    numbers = room[begin : begin + 48].view(np.float32).reshape(3, 4)
    numbers[:] = np.arange(12).reshape(3, 4)
    moved = aligned(numbers)
    assert moved.ctypes.data % 64 == 0
    np.testing.assert_array_equal(moved, numbers)
    # Nothing is copied that is in its place already.
    assert np.shares_memory(moved, numbers) == (offset % 64 == 0)


def test_numbers_of_a_set_cannot_be_written_to(parameters):
    with pytest.raises(ValueError, match="read-only"):
        parameters.constant[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        parameters.table[0, 0, 0] = 1
    with pytest.raises(ValueError, match="read-only"):
        parameters.block("V")[0, 0] = 1
