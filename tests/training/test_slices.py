"""Training of the steps inside the magnet, and what its figures say."""

import numpy as np
import pytest

from parkf.training.slices import _tracks, axis, scatterers, train_slices
from parkf.training.slices_accuracy import measure_slices

from ..conftest import FEW_TRACKS


def test_the_result_depends_on_the_seed_alone(slices, field, geometry):
    again = train_slices(field, geometry, seed=3, tracks=FEW_TRACKS, threads=1)
    np.testing.assert_array_equal(again.numbers, slices.numbers)
    assert again.described == slices.described


def test_figures_on_independent_tracks(slices, field, geometry, monkeypatch):
    """From 5 GeV, as the documentation says of the full number of tracks."""
    monkeypatch.setattr("parkf.training.slices_accuracy.TRACKS", 10_000)
    figures = measure_slices(slices, field, geometry, seed=5, threads=2)
    hard = [one for one in figures["states"] if one["component"] == "x" and one["p_min"] >= 5]
    assert len(hard) == 20
    for one in hard:
        assert one["q68"] < one["sigma"] / 10
        assert one["q99"] < one["sigma"]
    for one in figures["pulls"]:
        if one["p_min"] >= 5:
            assert 0.92 - 3 * one["error"] < one["width"] < 1.08 + 3 * one["error"]
    assert figures["lost"] < 0.001


def test_the_layers_are_the_geometrys(geometry):
    """Slabs, both halves of the UT's layers, and half of the first SciFi layer.

    Those behind the UT have Highland's width of their sum.
    """
    layers = scatterers(geometry)
    description = geometry.description
    lengths = {name: one.radiation_length for name, one in description.materials.items()}
    slabs = [one for one in description.slabs if one.z < 7850]
    ut = [layer.z + side for layer in description.ut.layers for side in (-10, 10)]
    assert [one.z for one in layers[:-1]] == sorted([*(one.z for one in slabs), *ut])
    behind = sum(one.thickness / lengths[one.material] for one in slabs if one.z > 2660)
    behind += 0.5 * 4.9 / lengths["polystyrene"]
    found = np.sqrt(sum(one.angle**2 for one in layers if one.z > 2660))
    # The UT to the SciFi, as LHCb's own parameters have it: 2.8 MeV.
    assert 2.3 < found < 2.9
    assert found == pytest.approx(13.6 * np.sqrt(behind) * (1 + 0.038 * np.log(behind)), rel=0.02)
    # Two halves of a layer scatter as the layer does.
    thickness = description.ut.thickness / lengths[description.ut.material]
    halves = [one.angle for one in layers if one.z in ut[:2]]
    ratio = np.sqrt(thickness / behind)
    assert np.hypot(*halves) == pytest.approx(found * ratio, rel=0.02)


def test_splines_reproduce_parabolas():
    """With the values of a parabola's polar form, they are that parabola, and have its derivative."""
    edge, cells = 100.0, 10
    places = np.linspace(-99.9, 99.9, 57)
    first, weights, slopes = axis(places, edge, cells)
    width = 2 * edge / cells
    ends = -edge + width * np.arange(-1, cells + 2)
    # The control value between two knots is the product of their places.
    control = ends[:-1] * ends[1:]
    near = control[first[:, None] + np.arange(3)]
    np.testing.assert_allclose((weights * near).sum(axis=1), places**2, atol=1e-9)
    np.testing.assert_allclose((slopes * near).sum(axis=1), 2 * places, atol=1e-9)


def test_tracks_of_both_charges_are_there_behind_their_births(field):
    """Half are born uniformly in z up to 2.5 m, and half up to 7 m."""
    planes = np.array([500.0, 2000.0, 4000.0])
    states = _tracks(field, planes, seed=1, count=4000, threads=2)
    there = np.isfinite(states[..., 0])
    for at, share in zip(
        there[:2], (0.5 * (500 / 2500 + 500 / 7000), 0.5 * (2000 / 2500 + 2000 / 7000)), strict=True
    ):
        assert at.mean() == pytest.approx(share, abs=0.04)
    assert (states[2, there[2], 4] > 0).mean() == pytest.approx(0.5, abs=0.04)
