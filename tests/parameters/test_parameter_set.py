"""Parameter sets survive a round trip, and what is not whole is refused by name."""

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from parkf.errors import ParkfError
from parkf.parameters import load
from parkf.parameters.parameter_set import with_blobs

_reuse = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=10)


@_reuse
@given(
    arrays(
        np.float32,
        466,
        elements=st.floats(width=32, allow_nan=False, allow_infinity=False),
        fill=None,
    )
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


def _truncate(folder):
    blob = folder / "constant.f32"
    blob.write_bytes(blob.read_bytes()[:-4])


def _lengthen(folder):
    blob = folder / "global.f32"
    blob.write_bytes(blob.read_bytes() + bytes(4))


def _flip_a_bit(folder):
    blob = folder / "global.f32"
    content = bytearray(blob.read_bytes())
    content[1000] ^= 1
    blob.write_bytes(bytes(content))


def _remove(name):
    return lambda folder: (folder / name).unlink()


def _edit(change):
    def edit(folder):
        path = folder / "manifest.json"
        content = json.loads(path.read_text())
        change(content)
        path.write_text(json.dumps(content))

    return edit


BAD = {
    "truncated": (_truncate, r"constant\.f32: 1860 bytes, expected 1864"),
    "too long": (_lengthen, r"global\.f32: 960004 bytes, expected 960000"),
    "changed": (_flip_a_bit, r"global\.f32: sha256 .* the manifest says"),
    "no blob": (_remove("constant.f32"), r"constant\.f32: no such file"),
    "no manifest": (_remove("manifest.json"), r"manifest\.json: no such file"),
    "not JSON": (lambda f: (f / "manifest.json").write_text("{"), r"manifest\.json: not a JSON file"),
    "a list": (lambda f: (f / "manifest.json").write_text("[]"), r"expected a JSON object, got list"),
    "newer format": (_edit(lambda c: c.update(format_version=2)), r"format_version 2, expected 1"),
    "other layout": (_edit(lambda c: c.update(layout_version=9)), r"layout_version 9, expected 1"),
    "other forms": (
        _edit(lambda c: c.update(forms="improved")),
        r"layout_version 1, expected 2 of forms 'improved'",
    ),
    "unknown forms": (
        _edit(lambda c: c.update(forms="best")),
        r"forms: Input should be 'improved' or 'production'",
    ),
    "unknown field": (_edit(lambda c: c.update(extra=1)), r"extra: Extra inputs are not permitted"),
    "missing field": (_edit(lambda c: c.pop("seeds")), r"seeds: Field required"),
    "wrong type": (
        _edit(lambda c: c["constants"].update(velo_sigma="x")),
        r"constants\.velo_sigma: .*got 'x'",
    ),
    "no resolution": (_edit(lambda c: c["constants"].update(velo_sigma=0)), r"constants\.velo_sigma"),
    "other count": (
        _edit(lambda c: c["blobs"]["table"].update(numbers=1)),
        r"says 1 numbers, expected 240000",
    ),
    "no checksum": (_edit(lambda c: c["blobs"]["table"].update(sha256="ab")), r"blobs\.table\.sha256"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_set_is_refused(tmp_path, parameters, name):
    spoil, message = BAD[name]
    parameters.save(tmp_path)
    spoil(tmp_path)
    with pytest.raises(ParkfError, match=message):
        load(tmp_path)


@pytest.mark.parametrize(
    ("position", "message"),
    [
        (0, "block V set 0 index 0: nan"),
        (465, "block BEAM set 1 index 3: nan"),
        (30, "block UT set 0 index 3: nan"),
    ],
)
def test_number_that_is_none_is_named(parameters, position, message):
    constant = parameters.constant.copy()
    constant[position] = np.nan
    with pytest.raises(ParkfError, match=message):
        with_blobs(parameters.manifest, constant, parameters.table)


def test_nan_in_the_table_is_named(parameters):
    table = parameters.table.copy()
    table[3, 7, 11] = np.inf
    with pytest.raises(ParkfError, match="bin 3,7 index 11: inf"):
        with_blobs(parameters.manifest, parameters.constant, table)


def test_a_save_that_fails_leaves_no_manifest(tmp_path, parameters, monkeypatch):
    parameters.save(tmp_path)

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr("parkf.parameters.parameter_set.write_manifest", fail)
    with pytest.raises(OSError, match="disk full"):
        parameters.save(tmp_path)
    with pytest.raises(ParkfError, match="no such file"):
        load(tmp_path)
