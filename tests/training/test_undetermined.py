"""Numbers that rows do not determine stay at zero with a note; a wrong row is left out."""

import numpy as np
from toy_steps import STEPS, draw, train_rows, truth, write

from parkf.stages.adopt_dataset import adopt_dataset
from parkf.training.train import train_step

COMPONENTS = ("x", "y", "tx", "ty")


def _without_field(rows, number):
    """Let the rows of a set go straight, and keep their scattering."""
    own = rows["set"] == number
    dz = rows["z1"] - rows["z0"]
    for name in COMPONENTS:
        slope = name if name[0] == "t" else f"t{name}"
        straight = rows[f"{name}0"] + (rows[f"{slope}0"] * dz if name[0] != "t" else 0.0)
        off = rows[f"{name}1"] - rows[f"{name}e"]
        rows[f"{name}e"] = np.where(own, straight, rows[f"{name}e"])
        rows[f"{name}1"] = np.where(own, straight + off, rows[f"{name}1"])


def test_a_gap_without_field_is_fixed_at_zero_and_the_others_stay():
    step = STEPS["UT"]
    rows = draw("UT", 2000 * len(step.sets), 5, truth("UT"))
    bent = train_rows([rows], step)
    _without_field(rows, 2)
    results = train_rows([rows], step)
    bend = list(step.indices("extrapolation"))
    assert [results[2].values[i] for i in bend] == [0.0] * len(bend)
    assert [results[2].errors[i] for i in bend] == [None] * len(bend)
    assert results[2].note.endswith("fixed at zero: the rows have no bend that determines them")
    # The scattering is still there: the widths are those of the toy.
    for i in step.indices("noise"):
        assert abs(results[2].values[i] - truth("UT")[i]) < 5 * results[2].errors[i]
    assert [one.note for one in results] == ["", "", results[2].note, "", "", ""]
    assert [one.values for one in results[:2]] == [one.values for one in bent[:2]]


def test_a_set_without_rows_is_fixed_at_zero():
    step = STEPS["UT"]
    rows = draw("UT", 2000 * len(step.sets), 5, truth("UT"))
    some = {name: values[rows["set"] != 3] for name, values in rows.items()}
    empty = train_rows([some], step)[3]
    assert (empty.rows, empty.note) == (0, "all parameters fixed at zero: no rows")
    assert set(empty.values) == {0.0}
    assert set(empty.errors) == {None}


def test_a_note_is_written_only_where_there_is_one():
    rows = draw("VUT", 2000, 5, truth("VUT"))
    (result,) = train_rows([rows], STEPS["VUT"])
    assert "note" not in result.model_dump(mode="json")
    noted = result.model_copy(update={"note": "p1 fixed"})
    assert type(result).model_validate(noted.model_dump(mode="json")).note == "p1 fixed"


def test_a_wrong_row_does_not_change_what_is_trained(tmp_path, monkeypatch):
    """The row is left out where a run adopts the dataset, and the result is that of the other rows."""
    rows = draw("VUT", 12_000, 5, truth("VUT"))
    kept = np.arange(12_000) != 7000
    clean = write({name: values[kept] for name, values in rows.items()}, tmp_path / "clean.parquet")
    rows["xe"][7000] = 0.0
    dirty = write(rows, tmp_path / "dirty.parquet", np.arange(5000), np.arange(5000, 12_000))
    # The toy's tracks bend as its formulas say, and not as in a field.
    monkeypatch.setattr("parkf.stages.adopt_dataset.load_field", lambda path: None)
    adopt_dataset(dataset=dirty, field=tmp_path / "field.npz", output=tmp_path / "VUT.parquet", step="VUT")
    assert len((tmp_path / "VUT.left_out.csv").read_text().splitlines()) == 2
    found = train_step(tmp_path / "VUT.parquet", "VUT", forms="improved")
    assert found.sets == train_step(clean, "VUT", forms="improved").sets
