"""Cells of direction, charge and momentum of a sample with a bias in one of them."""

import numpy as np
import pytest
from samples import make_sample

from parkf.proof.validation.breakdown import PHI_EDGES, cells, directions


@pytest.fixture(scope="module")
def rows():
    """Tracks of all directions; those of positive charge around φ = 90°, η 2.5–3, have p too low by 0.4 %."""
    sample = make_sample(n=50_000, ghosts=0, bias=0.0)
    rows = sample.rows
    random = np.random.default_rng(8)
    eta, phi = random.uniform(1.8, 5.2, len(rows)), random.uniform(-np.pi, np.pi, len(rows))
    rows["true_tx"], rows["true_ty"] = np.cos(phi) / np.sinh(eta), np.sin(phi) / np.sinh(eta)
    rows["tx"] = rows.true_tx + 3e-4 * random.normal(0.0, 1.0, len(rows))
    rows["ty"] = rows.true_ty + 3e-4 * random.normal(0.0, 1.0, len(rows))
    biased = (eta > 2.5) & (eta < 3) & (np.abs(phi - np.pi / 2) < np.pi / 8) & (rows.true_qop > 0)
    rows.loc[biased, "qop"] /= 1 - 0.004
    return rows


@pytest.fixture(scope="module")
def measured(rows):
    return cells(rows)


@pytest.fixture(scope="module")
def folded(rows):
    return directions(rows)


def test_planes_are_centres_of_bins():
    middles = np.degrees(np.array(PHI_EDGES[:-1]) + np.array(PHI_EDGES[1:])) / 2
    assert middles == pytest.approx([0, 45, 90, 135, 180, 225, 270, 315])


# In cells of 50 tracks the mean of a core has tails: one in a thousand is four errors away.
def test_one_cell_is_biased_and_no_other(measured):
    assert len(measured) > 200
    for cell in measured:
        here = cell["eta_min"] == 2.5 and cell["phi_min"] == PHI_EDGES[2] and cell["charge"] == 1
        expected = -0.004 if here else 0.0
        assert cell["bias"] == pytest.approx(expected, abs=6 * cell["bias_error"])
        assert cell["pull_width"] == pytest.approx(1.0, abs=6 * cell["pull_width_error"])
        for name in ("tx_mean", "ty_mean"):
            assert cell[name] == pytest.approx(0.0, abs=6 * cell[f"{name}_error"])
    assert any(cell["phi_min"] == PHI_EDGES[2] and cell["bias"] < -0.002 for cell in measured)


def test_cells_hold_each_track_once(rows, measured, folded):
    eta = np.arcsinh(1 / np.hypot(rows.true_tx, rows.true_ty))
    inside = (eta >= 2) & (eta < 5) & (rows.p_true >= 3000) & (rows.p_true < 100_000)
    for found, all_cells in ((measured, 480), (folded, 90)):
        left_out = 49 * (all_cells - len(found))
        assert inside.sum() - left_out <= sum(cell["n"] for cell in found) <= inside.sum()


def test_planes_take_charges_and_opposite_directions_together(folded):
    vertical = [one for one in folded if one["plane"] == "vertical" and one["eta_min"] == 2.5]
    # The bias is in one of two directions and one of two charges, so a quarter of it remains.
    for one in vertical:
        assert one["bias"] == pytest.approx(-0.001, abs=4.5 * one["bias_error"])


def test_cells_of_few_tracks_are_left_out(rows):
    assert cells(rows.iloc[:1000]) == []


def test_covariances_that_are_no_numbers_do_not_count(rows):
    broken = rows.iloc[:20_000].copy()
    broken.loc[broken.index[::2], "qopqop"] = -1.0
    assert sum(one["n"] for one in directions(broken)) < 10_000
