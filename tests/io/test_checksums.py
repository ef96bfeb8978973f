"""Readers detect flipped bits, truncations and empty files, unless the content is still the same."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parkf.io.errors import DamagedFileError, ParkfError
from parkf.io.files import read_json, write_sealed
from parkf.io.npz import load_arrays
from parkf.io.tables import CANDIDATES, FITTED, HITS

SEED = 16
# Distance between flipped bits. It has no small factors, so that flips occur at every bit of a byte.
STRIDE = 157


def rows(table):
    random = np.random.default_rng(SEED)
    columns = []
    for _, kind in table.columns:
        if pa.types.is_fixed_size_list(kind):
            numbers = random.normal(size=30 * kind.list_size).astype(np.float32)
            columns.append(pa.FixedSizeListArray.from_arrays(pa.array(numbers), kind.list_size))
        else:
            columns.append(pa.array(random.integers(0, 50, 30)).cast(kind))
    return pa.Table.from_arrays(columns, schema=table.schema)


def flipped(path):
    """Flip one bit of the file after the other, and flip each back."""
    good = path.read_bytes()
    for bit in range(0, 8 * len(good), STRIDE):
        damaged = bytearray(good)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        yield bit


@pytest.mark.parametrize("table", [HITS, CANDIDATES, FITTED], ids=lambda table: table.name)
def test_every_bit_of_a_table_is_checked(tmp_path, table):
    path = tmp_path / "table.parquet"
    with table.writer(path, {"fitted_by": "smoother"}) as writer:
        writer.write_table(rows(table))
    with table.open(path) as file:
        good = file.read()
    noticed = 0
    for bit in flipped(path):
        try:
            with table.open(path) as file:
                read = file.read()
        except DamagedFileError:
            noticed += 1
        else:
            assert read.equals(good), bit
            assert read.schema.metadata == good.schema.metadata, bit
    assert noticed > 20


def test_tables_are_files_that_others_read(tmp_path):
    path = tmp_path / "hits.parquet"
    with HITS.writer(path) as writer:
        writer.write_table(rows(HITS))
    assert pq.read_table(path).equals(rows(HITS))


@pytest.mark.parametrize("length", [0, 3, 8, 1000])
def test_a_truncated_table_is_named(tmp_path, length):
    path = tmp_path / "hits.parquet"
    with HITS.writer(path) as writer:
        writer.write_table(rows(HITS))
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(DamagedFileError, match=r"hits\.parquet: not a Parquet file as it was written"):
        HITS.open(path)


def test_every_bit_of_an_archive_is_checked(tmp_path):
    path = tmp_path / "field.npz"
    good = {"values": np.random.default_rng(SEED).normal(size=(3, 5)), "outside": np.array("zero")}
    np.savez(path, **good)
    for bit in flipped(path):
        try:
            read = load_arrays(path, good)
        except ParkfError:
            continue
        assert all(np.array_equal(read[name], good[name]) for name in good), bit


@pytest.mark.parametrize(
    ("arrays", "says"), [({}, "without values"), ({"values": np.zeros(1)}, "with unknown ")]
)
def test_an_archive_with_very_many_arrays_has_a_short_error(tmp_path, arrays, says):
    path = tmp_path / "field.npz"
    np.savez(path, **arrays, **{f"{number:04d}{'x' * 500}": np.zeros(1) for number in range(1000)})
    with pytest.raises(ParkfError, match=rf"field\.npz: {says}.* and 988 more") as caught:
        load_arrays(path, ["values"])
    assert len(str(caught.value)) < len(str(path)) + 1000


def test_every_bit_of_sealed_json_is_checked(tmp_path):
    path, good = tmp_path / "fit.json", {"values": [1.25, -3e-9], "name": "gap 0, y ≥ 0", "errors": None}
    write_sealed(path, good)
    assert read_json(path) == good
    for bit in flipped(path):
        try:
            read = read_json(path)
        except DamagedFileError:
            continue
        # The flipped bit is in the checksum's name itself.
        assert {name: read.get(name) for name in good} == good, bit


@pytest.mark.parametrize("text", ["", "[" * 100_000, '{"a": 1', f'{{"a": {"9" * 5000}}}'], ids=range(4))
def test_what_is_no_json_is_named(tmp_path, text):
    path = tmp_path / "fit.json"
    path.write_text(text)
    with pytest.raises(DamagedFileError, match=r"fit\.json: not a JSON file"):
        read_json(path)
