"""Single rows of users' files that are wrong: each is named and left out, or the file is refused."""

import csv

import numpy as np
import pytest
import step_writers
from benchmarks.doors import named, with_bad
from step_sample import field_map, sample

from parkf.imports.steps.take import import_steps
from parkf.io.errors import ParkfError
from parkf.io.findings import settle
from parkf.io.tables import STEP_DATA

ROWS = 1200  # of each of T's 22 sets: 26,400 rows


@pytest.fixture(scope="module")
def field():
    return field_map()


@pytest.fixture(scope="module")
def honest(field):
    return {step: sample(step, rows, field) for step, rows in {"T": ROWS, "UTTF": 3000, "VUT": 200}.items()}


def _foreign(rows):
    return {name: np.array(values) for name, values in step_writers.foreign(rows).items()}


def _import(folder, field, step, columns, change=lambda source: None, kind="root"):
    """Import columns of the foreign convention; return the rows that came over, and those left out."""
    getattr(step_writers, f"write_{kind}")(folder / f"{step}.{kind}", columns)
    source = step_writers.column_map(folder, f"{{step}}.{kind}", [step], change=change)
    import_steps(source, folder / "out", field=field, polarity=None, settle=settle, threads=1)
    path = folder / f"out/{step}.left_out.csv"
    left = list(csv.DictReader(path.read_text().splitlines())) if path.exists() else []
    return STEP_DATA.open(folder / f"out/{step}.parquet").read(), left


@pytest.mark.parametrize(
    ("column", "bad"),
    [
        ("slopexTo", -999.0),  # of a slope in mrad: -0.999, which is a slope
        ("slopeyRK", 0.0),  # a bend in y is so small that 0 looks like a number
        ("zTo", 0.0),
        ("qop_from", -999.0),
        ("yFrom", np.nan),
        ("xTo", np.finfo(np.float64).max),
    ],
)
def test_a_default_in_one_column_is_left_out_and_named(tmp_path, field, honest, column, bad):
    columns = _foreign(honest["T"])
    columns[column][[7, 5007, 20007]] = bad
    got, left = _import(tmp_path, field, "T", columns)
    assert got.num_rows == 22 * ROWS - 3
    assert [one["why"].split(": got")[0].split("row ")[1] for one in left] == ["7", "5007", "20007"]
    assert all(one["why"].startswith(str(tmp_path / "T.root")) for one in left)


def test_a_unit_in_a_subset_is_found(tmp_path, field, honest):
    """Rows of one job hold mm where the others hold cm; one of them has x near 0, where both agree."""
    columns = _foreign(honest["T"])
    columns["xRK"][100:110] *= 10.0
    got, left = _import(tmp_path, field, "T", columns)
    assert 22 * ROWS - got.num_rows == len(left) == 10


def test_a_turned_polarity_of_one_row_is_found(tmp_path, field, honest):
    columns = _foreign(honest["T"])
    columns["magnet"][4000] *= -1
    got, left = _import(tmp_path, field, "T", columns)
    assert (got.num_rows, len(left)) == (22 * ROWS - 1, 1)


def test_rows_that_are_there_twice_count_once(tmp_path, field, honest):
    columns = _foreign(honest["T"])
    twice = {name: np.append(values, values[500:510]) for name, values in columns.items()}
    got, left = _import(tmp_path, field, "T", twice)
    assert (got.num_rows, len(left)) == (22 * ROWS, 10)


def test_a_file_added_twice_is_refused_or_dropped(tmp_path, field, honest):
    columns = {name: np.tile(values, 2) for name, values in _foreign(honest["UTTF"]).items()}
    with pytest.raises(ParkfError, match=r"the same .* expected it once"):
        _import(tmp_path, field, "UTTF", columns)
    got, left = _import(
        tmp_path, field, "UTTF", columns, lambda source: source.update(drop={"duplicates": True})
    )
    assert (got.num_rows, left) == (3000, [])


@pytest.mark.parametrize(("dirty", "passes"), [(26, True), (27, False)])
def test_the_share_of_rows_is_a_sharp_boundary(tmp_path, field, honest, dirty, passes):
    columns = _foreign(honest["T"])
    columns["xRK"][: 1000 * dirty : 1000] = 0.0
    if passes:
        got, _ = _import(tmp_path, field, "T", columns)
        assert got.num_rows == 22 * ROWS - dirty
    else:
        with pytest.raises(ParkfError, match="27 of 26400 rows"):
            _import(tmp_path, field, "T", columns)


def test_what_the_map_drops_is_no_dirt(tmp_path, field, honest):
    columns = _foreign(honest["T"])
    columns["chi2"] = np.tile([1.0, 9.0], 11 * ROWS)
    columns["xRK"][1::2] = np.nan
    columns["yRK"][::20] = np.nan
    drop = {"nan": True, "outside": {"chi2": [0, 5]}}
    got, left = _import(tmp_path, field, "T", columns, lambda source: source.update(drop=drop))
    assert (got.num_rows, left) == (11 * ROWS - 22 * ROWS // 20, [])


def test_values_are_replaced_before_units_and_signs(tmp_path, field, honest):
    columns = _foreign(honest["UTTF"])
    columns["magnet"] = np.where(honest["UTTF"]["polarity"] > 0, 7.0, 8.0)

    def up_is_seven(source):
        source["columns"]["polarity"] = {"column": "magnet", "values": {7: 1, 8: -1}}

    step_writers.write_root(tmp_path / "UTTF.root", columns)
    source = step_writers.column_map(tmp_path, "{step}.root", ["UTTF"], change=up_is_seven, yaml=True)
    import_steps(source, tmp_path / "out", field=field, polarity=None, settle=settle, threads=1)
    got = STEP_DATA.open(tmp_path / "out/UTTF.parquet").read()
    assert np.array_equal(got["polarity"].to_numpy(), honest["UTTF"]["polarity"])


@pytest.mark.parametrize(("kind", "first"), [(np.float32, 3_000_000_000), (np.float64, 2**62)])
def test_event_numbers_of_64_bits_stay_apart(tmp_path, field, honest, kind, first):
    columns = {name: values.astype(kind) for name, values in _foreign(honest["UTTF"]).items()}
    columns["evt"] = honest["UTTF"]["event"].astype(np.uint64) + np.uint64(first)
    step_writers.write_parquet(tmp_path / "UTTF.parquet", columns)
    source = step_writers.column_map(tmp_path, "{step}.parquet", ["UTTF"])
    import_steps(source, tmp_path / "out", field=field, polarity=None, settle=settle, threads=1)
    got = STEP_DATA.open(tmp_path / "out/UTTF.parquet").read()["event"].to_numpy()
    pairs = np.unique(np.stack([got, honest["UTTF"]["event"]]), axis=1)
    assert pairs.shape[1] == len(np.unique(got)) == 30


def test_two_hundred_rows_are_judged_too(tmp_path, field, honest):
    got, left = _import(tmp_path, field, "VUT", _foreign(honest["VUT"]))
    assert (got.num_rows, left) == (200, [])
    columns = _foreign(honest["VUT"])
    columns["yRK"][50] += 100.0
    with pytest.raises(ParkfError, match=r"1 of 200 rows .*row 50: "):
        _import(tmp_path, field, "VUT", columns)


@pytest.mark.parametrize("step", ["T", "UTTF", "VUT"])
def test_a_wrong_number_is_named_in_every_column_that_p_is_fitted_to(field, honest, step):
    """Twenty wrong numbers in each column; keys enter errors alone, and truth may scatter."""
    cells, bad, _ = with_bad(honest[step], range(2))
    seen = named(honest[step], bad, step, field)
    unseen = {column for (column, _), one in zip(cells, seen, strict=True) if not one}
    assert unseen <= {"event", "particle", "pdg_id", "x1", "y1", "tx1", "ty1"}
