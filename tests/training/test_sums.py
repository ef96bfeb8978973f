"""The core of a sum of normal numbers is as wide as their quadratic sum; with tails it is wider."""

import numpy as np
import pytest
from toy_steps import COMPONENTS, draw, no_field, result_of, truth, write

from parkf.model.steps import FORMS
from parkf.training.magnet_hop import Trained
from parkf.training.sums import COUNTS, STEPS, measure_sums, widths_of_sums

EDGES = np.linspace(-40, 40, 4002)


def _widths(values: np.ndarray) -> list[float]:
    found = widths_of_sums(np.histogram(values, EDGES)[0].astype(float))
    assert [row["steps"] for row in found] == list(COUNTS)
    return [row["width"] for row in found]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Parameters that the rows were drawn from. Rows below 3 GeV scatter ten times as far as they say."""
    folder, results = tmp_path_factory.mktemp("sums"), {}
    for name in ("V", "VUT", "UT", "UTTF", "T"):
        rows = draw("TFT" if name == "UTTF" else name, 13_200, 7, truth("TFT" if name == "UTTF" else name))
        if name == "UTTF":
            rows |= {"z0": np.full(13_200, 2665.0), "z1": np.full(13_200, 7826.0)}
        soft = np.abs(rows["qop"]) > 1 / 3000.0
        assert 0.1 < soft.mean() < 0.3
        for c in COMPONENTS:
            rows[f"{c}1"] = rows[f"{c}e"] + np.where(soft, 10.0, 1.0) * (rows[f"{c}1"] - rows[f"{c}e"])
        write(rows, folder / f"{name}.parquet")
        results[name] = result_of(name)
    return Trained(FORMS["improved"], results, no_field(), folder)


def test_sums_of_steps_are_those_of_tracks_above_3_gev(trained):
    """Steps scatter as their forms say, and so do sums of any number of them."""
    measured = {name: measure_sums(trained, name) for name in STEPS}
    assert list(measured) == ["V", "VUT", "UT", "UTTF", "T"]
    for name in ("V", "VUT", "UT", "T"):
        for component in COMPONENTS:
            widths = [row["width"] for row in measured[name][component]]
            assert widths == pytest.approx([1.0] * 5, rel=0.06), (name, component)


def test_normal_numbers_add_in_quadrature():
    assert _widths(np.random.default_rng(1).normal(0, 1.2, 400_000)) == pytest.approx([1.2] * 5, rel=0.01)


def test_hard_scatters_widen_the_core_of_a_sum_as_drawing_it_does():
    random = np.random.default_rng(2)
    one = random.normal(size=1_600_000) * np.where(random.uniform(size=1_600_000) < 0.05, 4.0, 1.0)
    found = dict(zip(COUNTS, _widths(one), strict=True))
    assert found[1] < found[2] < found[4] < found[8] < found[16]
    # Sums of eight numbers are drawn and measured as well; the limit is the whole variance.
    drawn = _widths(one.reshape(8, -1).sum(axis=0) / np.sqrt(8))[0]
    assert found[8] == pytest.approx(drawn, rel=0.01)
    assert found[8] < np.sqrt(0.95 + 0.05 * 16)
