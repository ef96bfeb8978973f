"""The noise of the steps' fits, as a set stores it."""

from pathlib import Path

import numpy as np
import pytest

from parkf.io.errors import ParkfError
from parkf.model.steps import FORMS
from parkf.params.configuration import flat
from parkf.params.parameter_set import load
from parkf.training.fit_noise import noise_factors, way_through_magnet

PARAMS = Path(__file__).parents[2] / "params"
FACTORS = {"V": 1.07, "VUT": 0.8, "UT": 0.9, "UTTF": 1.1, "TFT": 1.5, "T": 1.02}
# Indices of the noise of slope, position and correlation, in x and in y: of a UT gap, and of the hop.
PLANES = (((8, 1, 9), (12, 13, 14)), ((10, 3, 11), (15, 16, 17)))


def _said(stays):
    return flat({"training": {"noise_scale": {**FACTORS, "BEND": stays}}})


@pytest.fixture(scope="module")
def production():
    """The trigger's forms, numbers as a fit may find them, and the length of the way in the magnet."""
    held = load(PARAMS / "2026-run3-like-2-r003")
    forms = FORMS["production"]
    blocks = {name: held.block(name).astype(np.float64) for name in forms.steps}
    way = way_through_magnet(held.layout, held.constant)
    assert way == pytest.approx(7826 - 2642.5, abs=1)
    return forms, blocks, way


def _covariance(slope, position, rho):
    return np.array([[position**2, rho * position * slope], [rho * position * slope, slope**2]])


@pytest.mark.parametrize("stays", [0.9, 0.13])
def test_what_is_taken_in_front_of_the_bend_adds_up_behind_it(production, stays):
    forms, fitted, way = production
    whole, split = (noise_factors(forms, fitted, _said(s), way) for s in (1.0, stays))
    for name in ("V", "VUT", "TFT", "T", "BEAM"):
        np.testing.assert_array_equal(whole[name], split[name])
    np.testing.assert_array_equal(whole["UT"][[0, 1, 3, 4, 5]], split["UT"][[0, 1, 3, 4, 5]])
    lever = np.array([way, 1.0])
    for gap, hop in PLANES:
        before, after = (fitted["UTTF"][0] * f["UTTF"][0] for f in (whole, split))
        old, new = (_covariance(p[hop[0]], 100 * p[hop[1]], p[hop[2]]) for p in (before, after))
        near = [fitted["UT"][2] * f["UT"][2] for f in (whole, split)]
        a2 = near[1][gap[0]] ** 2 - near[0][gap[0]] ** 2
        assert a2 > 0
        np.testing.assert_allclose(new + a2 * np.outer(lever, lever), old, rtol=1e-9)
        # The hop keeps the fraction `stays` of the largest turn that its noise contains.
        turns = [1 / (lever @ np.linalg.solve(q, lever)) for q in (old, new)]
        assert turns[1] == pytest.approx(stays * turns[0])
        # A turn at a layer does not move the position there.
        assert near[1][gap[1]] == near[0][gap[1]]
        assert near[1][gap[0]] * near[1][gap[2]] == pytest.approx(near[0][gap[0]] * near[0][gap[2]])


def test_noise_that_cannot_be_split_is_refused(production):
    forms, fitted, way = production
    none = {**fitted, "UTTF": fitted["UTTF"] * 0}
    with pytest.raises(ParkfError, match=r"noise_scale\.BEND: the hop through the magnet has widths 0 MeV"):
        noise_factors(forms, none, _said(0.5), way)
    better = FORMS["improved"]
    with pytest.raises(ParkfError, match=r"forms 'improved' know how noise grows .* leave BEND at 1"):
        noise_factors(better, {}, _said(0.5), way)
