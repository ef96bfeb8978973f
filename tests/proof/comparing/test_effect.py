"""Effects on tracks of the differences between two sets: they appear in the right step and component."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from parkf.model.steps import FORMS
from parkf.params.registry import Registry
from parkf.proof.comparing import effect
from parkf.proof.comparing.effect import changes

FIRST = "2026-run3-like-1-r001"
FORM = FORMS["production"]


@pytest.fixture(scope="module")
def published():
    return Registry(Path(__file__).parents[3] / "params").load(FIRST)


def with_numbers(parameters, **added):
    """The set with amounts added to numbers of some blocks: {block: {(row, column): amount}}."""
    constant = parameters.constant.copy()
    for name, places in added.items():
        block = constant[FORM.layout.block_slice(name)].reshape(FORM.layout.block(name).shape)
        for place, what in places.items():
            block[place] += what
    return dataclasses.replace(parameters, constant=constant)


def touched(first, second):
    """Changes that are not zero: {(step, component): [(p_min, rms, largest), …]}."""
    found = {}
    for one in changes(first, second):
        if one.rms:
            found.setdefault((one.step, one.component), []).append((one.p_min, one.rms, one.largest))
    return found


def test_the_same_set_changes_nothing_anywhere(published):
    same = changes(published, published)
    assert {one.rms for one in same} == {one.largest for one in same} == {0.0}
    steps = list(dict.fromkeys(one.step for one in same))
    assert steps[:3] == ["V.forward", "V.backward", "VUT"]
    assert steps[3:9] == [f"UT.gap{gap}{way}" for gap in range(3) for way in ("", " back")]
    assert steps[9:11] == ["magnet", "TFT"]
    assert steps[11:] == [f"T.gap{gap} {side}" for gap in range(11) for side in ("up", "down")]


@pytest.mark.parametrize(
    ("block", "row", "column", "step"),
    [
        ("V", 0, 2, "V.forward"), ("V", 1, 2, "V.backward"), ("VUT", 0, 5, "VUT"),
        ("UT", 1, 4, "UT.gap1"), ("UT", 4, 4, "UT.gap1 back"), ("UTTF", 0, 6, "magnet"), ("TFT", 0, 0, "TFT"),
        ("T", 0, 4, "T.gap0 up"), ("T", 1, 4, "T.gap0 down"), ("T", 21, 4, "T.gap10 down"),
    ],
)  # fmt: skip
def test_a_number_changes_its_own_step_alone(published, block, row, column, step):
    """Every step starts from the first set's state, so a number affects only its own step."""
    found = touched(published, with_numbers(published, **{block: {(row, column): 0.01}}))
    assert {name for name, _ in found} == {step}


def test_a_kick_counts_in_units_of_scattering(published):
    """The change of tx is Δ/p and the scattering σ is θ/p, so their ratio is the same at all momenta."""
    texts = [parameter.text for parameter in FORM.steps["UTTF"].parameters]
    column, width = texts.index("tx, linear"), texts.index("scattering angle in x times momentum")
    theta = published.block("UTTF")[0, width]  # MeV
    found = touched(published, with_numbers(published, UTTF={(0, column): 0.2}))
    assert set(found) == {("magnet", "tx")}
    for _, rms, largest in found["magnet", "tx"]:
        assert rms == pytest.approx(largest, rel=0.05)
        assert rms == pytest.approx(0.2 / theta, rel=0.05)


@pytest.mark.parametrize(("row", "step"), [(0, "V.forward"), (1, "V.backward")])
def test_a_velo_step_is_from_module_to_module(published, row, step):
    """A field that begins 10 mm earlier turns by gradient·10 mm·25 mm/p; the layer scatters by θ/p."""
    block = published.block("V")[row].astype(float)
    gradient, theta = 1e-5 * abs(block[2]), block[1]  # MeV/mm², MeV
    found = touched(published, with_numbers(published, V={(row, 3): 0.01}))
    assert set(found) == {(step, "x"), (step, "tx")}
    for _, rms, largest in found[step, "tx"]:
        assert rms == pytest.approx(gradient * 10 * 25 / theta, rel=0.05)
        assert largest == pytest.approx(rms, rel=0.05)


def test_the_sample_is_the_acceptance():
    """2 < η < 5, all φ, 1.5 to 100 GeV, both charges and polarities, from the middle of the beam line."""
    rows = effect._sample()
    eta = np.arcsinh(1 / np.hypot(rows["tx0"], rows["ty0"]))
    phi = np.arctan2(rows["ty0"], rows["tx0"])
    momentum = 1 / np.abs(rows["qop"])
    for values, low, high in (
        (eta, 2, 5),
        (phi, -np.pi, np.pi),
        (np.log(momentum), np.log(1500), np.log(1e5)),
        (rows["z0"], 0, 700),
    ):
        # Each eighth of a flat spectrum of 6000 has 750 ± 26.
        share, _ = np.histogram(values, 8, (low, high))
        assert share.sum() == len(values)
        assert np.abs(share - 750).max() < 5 * 26
    signs = 2 * (rows["qop"] > 0) + (rows["polarity"] > 0)
    assert np.abs(np.bincount(signs) - 1500).max() < 5 * 34
    np.testing.assert_array_equal(np.abs(rows["polarity"]), 1)
    for name in ("x", "y"):
        np.testing.assert_allclose(rows[f"{name}0"], rows[f"t{name}0"] * rows["z0"])
