"""The accuracy of the forms, as the report and the benchmarks read it, and the hop through the magnet."""

import numpy as np
import pytest
from toy_steps import MISFIT, STEPS, draw, no_field, result_of, truth, write

from parkf.io.errors import ParkfError
from parkf.io.files import sha256, write_json
from parkf.model.codegen.numpy_step import numpy_step
from parkf.training.accuracy import measure_accuracy
from parkf.training.magnet_hop import loss_before_bend, through_magnet
from parkf.training.rows import StoredRows
from parkf.training.spread import momentum_bins


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Results whose parameters are the toys' own, without a fit, and their datasets."""
    folder = tmp_path_factory.mktemp("run")
    for name, step in STEPS.items():
        dataset = "0" * 64
        if name not in ("UTTF", "BEAM"):
            rows = draw(name, 1500 * step.joined * len(step.sets), 3, truth(name))
            dataset = sha256(write(rows, folder / "datasets" / f"{name}.parquet"))
        result = result_of(name).model_copy(update={"dataset": dataset})
        result.save(folder / "fits" / f"{name}.json")
    hop = draw("TFT", 300, 3, truth("TFT")) | {"z0": np.full(300, 2665.0), "z1": np.full(300, 7826.0)}
    write(hop, folder / "datasets/UTTF.parquet")
    write_json(folder / "table.json", {"fiducial": [], "full": []})
    no_field().save(folder / "table.npz")
    return folder


def _measure(run):
    paths = (run / "fits", run / "datasets", run / "table.npz", run / "table.json")
    return measure_accuracy(*paths)


def test_names_and_ratios(run):
    content = _measure(run)
    assert set(content) == {"forms", "steps", "chain", "table"}
    assert {"V.forward", "VUT", "UT.gap2", "UT.gap2.backward", "UTTF", "TFT"} <= set(content["steps"])
    for name in (f"T.gap{i}" for i in range(11)):
        for component in ("x", "y", "tx", "ty"):
            bins = content["steps"][name][component]
            assert [b["p_min"] for b in bins] == [1.5, 3, 5, 10, 20, 50]
            for b in bins:
                fields = {"p_min", "p_max", "mean", "rms", "q68", "q99", "ratio_rms", "truth_width", "n"}
                assert set(b) == fields | {"truth_width_error"}
                # The toys' misfit is a normal distribution of known width.
                assert b["ratio_rms"] == pytest.approx(MISFIT, rel=5 / np.sqrt(2 * b["n"]))


def test_sides_of_y_are_put_together(run):
    bins = _measure(run)["steps"]["T.gap4"]["x"]
    assert sum(b["n"] for b in bins) == 3000


def test_step_without_noise_is_measured_in_the_magnets(run):
    # The energy loss of stiff tracks does not count.
    rms = _measure(run)["steps"]["TFT"]["tx"][-1]
    assert rms["ratio_rms"] == pytest.approx(
        MISFIT / truth("UTTF")[STEPS["UTTF"].indices("noise")[0]], rel=0.2
    )
    assert rms["truth_width"] is None
    assert rms["truth_width_error"] is None


def test_bins_share_no_row():
    qop = 1e-3 / np.array([1.0, 1.5, 2.9, 3.0, 60.0, 100.0, -7.0])
    inside = sum(mask.astype(int) for _, _, mask in momentum_bins(qop))
    assert inside.tolist() == [0, 1, 1, 1, 1, 0, 1]


@pytest.fixture
def magnet():
    return no_field("production")


@pytest.fixture
def kick():
    """A table that turns tx by -1200 MeV times h, and moves nothing."""
    table = no_field("production")
    # The first coefficient of tx, which multiplies f, follows nine of x.
    table.coefficients[..., 9] = -1200 / 1500
    return table


def _uttf_rows(count=3):
    same = {"polarity": 1.0, "z0": 2665.0, "z1": 7826.0, "y0": 0.0, "tx0": 0.1, "ty0": 0.0}
    rows = {name: np.full(count, value) for name, value in same.items()}
    rows |= {"qop": np.full(count, 2e-4), "p_true": np.full(count, 4980.0)}
    rows |= {f"{c}{end}": np.zeros(count) for c in ("x", "y", "tx", "ty") for end in "1e"}
    return rows | {"x0": np.resize([10.0, 100, 2000], count), "group": np.zeros(count)}


def _hop():
    return numpy_step(STEPS["UTTF"]), np.zeros(len(STEPS["UTTF"].parameters))


def test_hop_replaces_the_origin(magnet):
    step, p = _hop()
    rows = through_magnet(step, magnet, _uttf_rows(), p)
    # Without a field the tracks are straight. The third row begins outside the grid.
    np.testing.assert_allclose(rows["x0"], [10 + 516.1, 100 + 516.1])


def test_what_a_particle_lost_is_no_fault_of_the_form(kick):
    step, p = _hop()
    rows = _uttf_rows(2)
    # Runge–Kutta bends by the particle's own momentum, the form by the mean momentum behind the loss.
    rows["p_true"] = np.array([4980.0, 4900.0])
    rows["txe"] = 0.1 - 1200 / rows["p_true"]
    carried = through_magnet(step, kick, rows, p)
    np.testing.assert_allclose(carried["txe"], carried["tx0"], atol=1e-7)


def test_the_loss_is_what_the_truth_bends_by(kick, tmp_path):
    step, p = _hop()
    random = np.random.default_rng(8)
    count = 20_000
    momentum = 1500 * (100e3 / 1500) ** random.uniform(size=count)
    loss = 20 + random.normal(size=count)
    loss[::50] += 300  # a few large losses, which must not change the result
    rows = _uttf_rows(count)
    rows["qop"], rows["p_true"] = 1 / momentum, momentum - loss
    rows["x0"] = np.full(count, 10.0)
    rows["tx1"] = 0.1 - 1200 / rows["p_true"] + 2.8 / momentum * random.normal(size=count)
    stored = StoredRows(tmp_path / "rows")
    stored.append(rows)
    assert loss_before_bend(step, kick, stored, p) == pytest.approx(20.0, abs=0.3)


def test_planes_of_another_detector_are_refused(magnet):
    step, p = _hop()
    rows = _uttf_rows() | {"z1": np.full(3, 7830.0)}
    with pytest.raises(ParkfError, match=r"column z1 has 7830\.0 to 7830\.0, the table's z_out is 7826\.0"):
        through_magnet(step, magnet, rows, p)
