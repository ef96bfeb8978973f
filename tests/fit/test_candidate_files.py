"""Candidates that other programs wrote are fitted as those of parkf are."""

import re

import awkward as ak
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import uproot

import parkf
from parkf.fit import fit_file
from parkf.io.arrow import numbers
from parkf.io.errors import ParkfError
from parkf.io.project import PROJECT
from parkf.io.tables import FITTED
from parkf.io.tree_export import export_tree

SET = PROJECT / "params/2026-run3-like-2-r018"
HIGH = 3_000_000_000


@pytest.fixture(scope="module")
def table():
    return pq.read_table(parkf.example())


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    path = tmp_path_factory.mktemp("fitted") / "expected.parquet"
    fit_file(SET, parkf.example(), path)
    return pq.read_table(path)


def _cast(table, lists, scalars):
    """Change types of columns, and forget the name of the table."""
    columns = [
        column.cast(lists(pa.float64())) if pa.types.is_fixed_size_list(column.type) else scalars(column)
        for column in table.columns
    ]
    return pa.table(columns, names=table.column_names)


def _widest(column):
    return column.cast(pa.float64() if pa.types.is_floating(column.type) else pa.int64())


def _pandas(table, path):
    table.to_pandas().to_parquet(path)


def _lists(lists):
    return lambda table, path: pq.write_table(_cast(table, lists, _widest), path)


def _shorter(table, path):
    """Write lists without their empty slots."""
    frame = table.to_pandas()
    for name in frame:
        if frame[name].dtype == object:
            frame[name] = [row[: np.isfinite(row).sum() if "velo" in name else 99] for row in frame[name]]
    pq.write_table(pa.table({name: pa.array(frame[name]) for name in frame}), path)


def _tree(table, path):
    arrays = {name: numbers(table[name]) for name in table.column_names}
    with uproot.recreate(path) as file:
        kinds = {name: (values.dtype, values.shape[1:]) for name, values in arrays.items()}
        file.mktree("candidates", kinds).extend(arrays)


def _jagged_tree(table, path):
    arrays = {name: numbers(table[name]) for name in table.column_names}
    arrays = {
        name: ak.from_regular(ak.Array(values.astype(float))) if values.ndim == 2 else values
        for name, values in arrays.items()
    }
    kinds = {n: "var * float64" if isinstance(v, ak.Array) else v.dtype for n, v in arrays.items()}
    with uproot.recreate(path) as file:
        file.mktree("tuples/Candidates", kinds).extend(arrays)


WRITERS = {
    "pandas": (_pandas, ".parquet"),
    "large lists of doubles": (_lists(pa.large_list), ".parquet"),
    "lists of doubles": (_lists(pa.list_), ".parquet"),
    "without empty slots": (_shorter, ".parquet"),
    "other order": (lambda t, path: pq.write_table(t.select(t.column_names[::-1]), path), ".parquet"),
    "tree": (_tree, ".root"),
    "jagged tree in a folder": (_jagged_tree, ".root"),
}


@pytest.mark.parametrize("kind", WRITERS)
def test_every_file_is_fitted_alike(kind, tmp_path, table, expected):
    write, ending = WRITERS[kind]
    write(table, tmp_path / f"mine{ending}")
    summary = fit_file(SET, tmp_path / f"mine{ending}", tmp_path / "fitted.parquet")
    assert summary.count == len(table)
    assert FITTED.open(tmp_path / "fitted.parquet").read().equals(expected)
    tracks = parkf.load(SET).fit(tmp_path / f"mine{ending}")
    np.testing.assert_array_equal(tracks["qop"], numbers(expected["qop"]))


def test_a_tree_of_candidates_keeps_what_is_recorded_of_the_detector(tmp_path, expected):
    export_tree(parkf.example(), tmp_path / "mine.root")
    fit_file(SET, tmp_path / "mine.root", tmp_path / "fitted.parquet")
    fitted = pq.read_table(tmp_path / "fitted.parquet")
    assert fitted.equals(expected)
    assert fitted.schema.metadata == expected.schema.metadata


@pytest.mark.parametrize("kind", [np.uint64, np.int64])
def test_event_numbers_of_64_bits_are_kept(tmp_path, table, expected, kind):
    event = numbers(table["event"]).astype(kind) + kind(HIGH)
    mine = table.set_column(table.schema.get_field_index("event"), "event", pa.array(event))
    pq.write_table(mine, tmp_path / "mine.parquet")
    fit_file(SET, tmp_path / "mine.parquet", tmp_path / "fitted.parquet")
    fitted = FITTED.open(tmp_path / "fitted.parquet").read()
    np.testing.assert_array_equal(numbers(fitted["event"]), event.astype(np.int64))
    assert fitted.drop_columns("event").equals(expected.drop_columns("event"))
    np.testing.assert_array_equal(parkf.load(SET).fit(mine)["event"], event.astype(np.int64))


def test_event_numbers_that_fit_into_32_bits_take_32(tmp_path, table):
    _lists(pa.list_)(table, tmp_path / "mine.parquet")
    fit_file(SET, tmp_path / "mine.parquet", tmp_path / "fitted.parquet")
    assert FITTED.open(tmp_path / "fitted.parquet").schema_arrow.field("event").type == pa.int32()


def test_an_event_number_beyond_63_bits_is_refused(tmp_path, table):
    event = np.full(len(table), 2**63 + 5, np.uint64)
    mine = table.set_column(table.schema.get_field_index("event"), "event", pa.array(event))
    pq.write_table(mine, tmp_path / "mine.parquet")
    with pytest.raises(ParkfError, match="'event', row 0: got 9223372036854775813"):
        fit_file(SET, tmp_path / "mine.parquet", tmp_path / "fitted.parquet")


@pytest.mark.parametrize("ending", [".root", ".csv"])
def test_fits_are_written_by_the_ending_of_their_name(tmp_path, expected, ending):
    output = tmp_path / f"fitted{ending}"
    fit_file(SET, parkf.example(), output)
    if ending == ".csv":
        found = pd.read_csv(output)
    else:
        with uproot.open(output) as file:
            found = pd.DataFrame(file["fitted"].arrays(library="np"))
    for name in expected.column_names:
        np.testing.assert_allclose(found[name], numbers(expected[name]), rtol=1e-7)
    assert [path.name for path in tmp_path.iterdir()] == [output.name]


def test_lists_do_not_go_into_csv(tmp_path):
    with pytest.raises(ParkfError, match=r"fitted.csv: column 'state_990' .*\.parquet or \.root"):
        fit_file(SET, parkf.example(), tmp_path / "fitted.csv", rich_states=True)
    assert not list(tmp_path.iterdir())


def test_rows_of_a_foreign_file_are_counted_through_all_batches(tmp_path, table):
    """The row of a wrong number is that of the file, not of the batch."""
    many = pa.concat_tables([table] * 30)
    polarity = numbers(many["polarity"]).astype(np.int64)
    polarity[11_111] = 0
    many = many.set_column(many.schema.get_field_index("polarity"), "polarity", pa.array(polarity))
    many.to_pandas().to_parquet(tmp_path / "mine.parquet")
    with pytest.raises(ParkfError, match=r"'polarity', row 11111: got 0"):
        fit_file(SET, tmp_path / "mine.parquet", tmp_path / "fitted.parquet")
    assert not (tmp_path / "fitted.parquet").exists()


def test_a_hole_in_a_list_is_told_in_the_status_of_its_track(tmp_path, table):
    """A null is no empty slot, whatever the type of the list is."""
    rows = table["velo_x"].to_pylist()
    rows[7] = [None, *rows[7][1:]]
    for kind in (pa.list_(pa.float32(), 26), pa.large_list(pa.float64())):
        mine = table.set_column(table.schema.get_field_index("velo_x"), "velo_x", pa.array(rows, kind))
        pq.write_table(mine, tmp_path / "mine.parquet")
        fit_file(SET, tmp_path / "mine.parquet", tmp_path / "fitted.parquet")
        status = numbers(FITTED.open(tmp_path / "fitted.parquet").read()["status"])
        assert np.flatnonzero(status & 2048).tolist() == [7]


def test_the_truth_of_a_foreign_file_is_not_needed(tmp_path, table, expected):
    mine = table.drop_columns([name for name in ("particle", "purity") if name in table.column_names])
    pq.write_table(mine.replace_schema_metadata(None), tmp_path / "mine.parquet")
    fit_file(SET, tmp_path / "mine.parquet", tmp_path / "fitted.parquet")
    assert FITTED.open(tmp_path / "fitted.parquet").read().equals(expected)


@pytest.mark.parametrize("factor", [2.0, 0.5])
def test_seeds_that_are_far_off_are_told_and_a_second_fit_corrects_them(tmp_path, table, expected, factor):
    """Candidates' q/p twice or half as large: q/p is biased, and χ² does not show it."""

    def fitted(qop):
        qop = pa.array(np.float32(qop))
        pq.write_table(
            table.set_column(table.column_names.index("qop"), "qop", qop), tmp_path / "mine.parquet"
        )
        summary = fit_file(SET, tmp_path / "mine.parquet", tmp_path / "fitted.parquet", trust=True)
        rows = FITTED.open(tmp_path / "fitted.parquet").read()
        off = np.abs(numbers(rows["qop"]) - numbers(expected["qop"])) / np.sqrt(numbers(expected["qopqop"]))
        return [note for note in summary.notes if "fit again" in note], numbers(rows["qop"]), off

    (note,), qop, off = fitted(factor * numbers(table["qop"]))
    far, good = map(int, re.search(r"(\d+) of (\d+) good", note).groups())
    assert good > 395
    assert far > 0.95 * good
    assert off.max() > 1.0
    _, _, again = fitted(qop)
    genuine = numbers(table["purity"]) > 0.7
    assert np.quantile(again[genuine], 0.99) < 0.3 < np.quantile(off[genuine], 0.99)


def test_repeats_and_errors_of_another_unit_in_some_rows_are_told(tmp_path, table):
    sigma = numbers(table["scifi_sigma"]).copy()
    sigma[:12] *= 1000
    wrong = table.set_column(
        table.column_names.index("scifi_sigma"),
        "scifi_sigma",
        pa.array(list(sigma)).cast(table["scifi_sigma"].type),
    )
    pq.write_table(pa.concat_tables([wrong, wrong.slice(0, 3)]), tmp_path / "mine.parquet")
    notes = " ".join(fit_file(SET, tmp_path / "mine.parquet", tmp_path / "fitted.parquet", trust=True).notes)
    assert "3 pairs of event and candidate are there more than once" in notes
    assert "15 candidates have errors of SciFi hits beyond 0.001 to 10 mm, the first in row 0" in notes


def test_columns_of_one_name_are_refused(tmp_path, table):
    twice = pa.table([*table.columns, table["qop"]], names=[*table.column_names, "qop"])
    pq.write_table(twice, tmp_path / "mine.parquet")
    with pytest.raises(ParkfError, match=r"mine\.parquet: column 'qop' is there twice"):
        fit_file(SET, tmp_path / "mine.parquet", tmp_path / "fitted.parquet")
