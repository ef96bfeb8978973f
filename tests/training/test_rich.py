"""Fits of the extrapolations to the RICH planes, on tracks through a field that is known."""

import numpy as np
import pyarrow as pa
import pytest

from parkf.detector.field import FieldMap
from parkf.io.tables import STEP_DATA
from parkf.model.codegen.numpy_step import numpy_step
from parkf.model.steps.rich import PLANES_OF, RICH_STEPS
from parkf.training.rich import DATASET, LAST_GAP, RichFit, rows_at, train_rich

TRACKS = 1200
# c in mm, MeV and T: q/p times this times the field is the curvature.
KAPPA = 0.299792458


@pytest.fixture(scope="module")
def field():
    """0.02 T along y everywhere up to 9.6 m."""
    values = np.zeros((5, 5, 21, 3), np.float32)
    values[..., 1] = 0.02
    return FieldMap(np.array([-6000.0, -6000.0, -500.0]), np.array([3000.0, 3000.0, 505.0]), values)


@pytest.fixture(scope="module")
def datasets(tmp_path_factory):
    """Rows of VUT from z = 300 to 700 mm, of UT from 2330 mm, and of T's last gap to z = 9400 mm."""
    folder = tmp_path_factory.mktemp("rich")
    for step, seed in (("VUT", 1), ("T", 2), ("UT", 3)):
        random = np.random.default_rng(seed)
        p, charge = random.uniform(3e3, 5e4, TRACKS), random.choice([-1, 1], TRACKS)
        z1 = np.full(TRACKS, 9400.0) if step == "T" else np.full(TRACKS, 2300.0)
        z0 = {"T": z1 - 70, "UT": z1 + 30, "VUT": random.uniform(300, 700, TRACKS)}[step]
        reach = z0 / 4 if step == "T" else z0
        columns = {name: np.zeros(TRACKS) for name, _ in STEP_DATA.columns}
        tx, ty = random.uniform(-0.2, 0.2, TRACKS), random.uniform(-0.2, 0.2, TRACKS)
        columns |= {
            "event": np.arange(TRACKS), "charge": charge, "qop": charge / p, "p_true": p, "z0": z0, "z1": z1,
            "polarity": random.choice([-1, 1], TRACKS), "pdg_id": np.full(TRACKS, 211),
        }  # fmt: skip
        y = ty * reach
        columns["set"] = np.where(y < 0, LAST_GAP[1], LAST_GAP[0]) if step == "T" else np.zeros(TRACKS)
        for end in "01e":
            columns |= {f"x{end}": tx * reach, f"y{end}": y, f"tx{end}": tx, f"ty{end}": ty}
        order = np.argsort(columns["set"], kind="stable")
        with STEP_DATA.writer(folder / f"{step}.parquet") as writer:
            writer.write_table(
                pa.table({n: columns[n][order].astype(k.to_pandas_dtype()) for n, k in STEP_DATA.columns})
            )
    return folder


def test_targets_are_circles_in_a_uniform_field(datasets, field):
    """The sine of the slope grows with the way in the field; behind the map's end the track is straight."""
    for dataset, z, end in (("VUT", 2165, 2165), ("UT", 2165, 2165), ("T", 11900, 9600)):
        (rows,) = list(rows_at(datasets / f"{dataset}.parquet", dataset, z, field))
        assert len(rows["qop"]) == TRACKS
        # The map is for MagDown; in the plane across the field a track's sine is tx / √(1 + tx²).
        across = 1 / np.sqrt(1 + rows["ty0"] ** 2 / (1 + rows["tx0"] ** 2))
        sine = rows["tx0"] / np.sqrt(1 + rows["tx0"] ** 2)
        turned = sine + rows["polarity"] * rows["qop"] * KAPPA * 0.02 * (end - rows["z0"]) / across
        np.testing.assert_allclose(rows["txe"], turned / np.sqrt(1 - turned**2), atol=2e-6)
        np.testing.assert_array_equal(rows["z1"], float(z))
        np.testing.assert_array_equal(rows["x1"], rows["xe"])


def test_the_fits_follow_runge_kutta(datasets, field, tmp_path):
    paths = [datasets / f"{step}.parquet" for step in ("VUT", "UT", "T")]
    fitted = train_rich(*paths, field)
    fitted.save(tmp_path / "rich.json")
    again = train_rich(*paths, field, threads=1)
    again.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "rich.json").read_bytes()
    assert [one.rows for sets in fitted.sets.values() for one in sets] == [TRACKS] * 8
    for name, step in RICH_STEPS.items():
        for one, z in zip(fitted.sets[name], PLANES_OF[name], strict=True):
            (rows,) = list(rows_at(datasets / f"{DATASET[name]}.parquet", DATASET[name], z, field))
            x, *_ = numpy_step(step).predict(np.array(one.values), rows)
            bend = np.abs(rows["x0"] + (z - rows["z0"]) * rows["tx0"] - rows["xe"])
            # In a uniform field the forms are good to a few per cent of the bend.
            assert np.quantile(np.abs(x - rows["xe"]), 0.68) < 0.05 * np.quantile(bend, 0.68)
    constants = RichFit.load(tmp_path / "rich.json").constants()
    np.testing.assert_allclose(constants.block("RICH2")[1], fitted.sets["RICH2"][1].values, rtol=1e-6)
    # Numbers that the trigger does not read have no errors.
    assert constants.layout[0].sets[0].numbers[1].error is None
    assert constants.layout[0].sets[0].numbers[5].error > 0
