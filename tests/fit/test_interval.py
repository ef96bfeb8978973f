"""The search for the hit that agrees least with the others: against fits without each hit."""

import dataclasses

import numpy as np
import pytest
from kalman_toy import generate

from parkf.fit import cpu, fit
from parkf.fit.interval import without_outliers
from parkf.model.steps import FORMS

CHI2 = ("chi2_velo", "chi2_ut", "chi2_scifi")


def chi2(result):
    return sum(getattr(result, name) for name in CHI2)


def moved(toy, name, slot, shift):
    """The toy with the hits of a slot moved by `shift` mm."""
    array = toy.arrays[name].copy()
    array[np.arange(len(array)), slot] += shift
    return dataclasses.replace(toy, arrays=toy.arrays | {name: array})


def without(tracks, slot):
    """Candidates without the hit of a slot: UT and SciFi by NaN, VELO by moving the later ones up."""
    if slot >= 26:
        kind, layer = ("ut", slot - 26) if slot < 30 else ("scifi", slot - 30)
        x, *others = getattr(tracks, kind)
        x = x.copy()
        x[:, layer] = np.nan
        return dataclasses.replace(tracks, **{kind: (x, *others)})
    velo = tuple(np.concatenate([np.delete(a, slot, 1), a[:, -1:]], axis=1) for a in tracks.velo)
    return dataclasses.replace(tracks, velo=velo, velo_n=tracks.velo_n - 1)


@pytest.mark.parametrize("forms", FORMS)
def test_u2_is_what_chi2_loses_without_the_worst_strip(forms):
    """With a hit left out the filter gives the χ² that the backward recursion says."""
    # Stiff enough that leaving out a UT hit does not move the point about which the bend is linear.
    toy = generate(400, 40000.0, seed=5, seed_error=0.0, efficiency=0.9, forms=forms)
    tracks = toy.candidates("float64")
    numbers, slots = cpu.interval(toy.parameters, tracks, threads=1)
    u2, slot = numbers[0], slots[0]
    whole = fit(toy.parameters, tracks)
    compared = 0
    # The first SciFi hits say where the bend is evaluated: without them the fit is about another point.
    for s in [*range(26, 30), *range(33, 42)]:
        chosen = slot == s
        lost = chi2(whole) - chi2(fit(toy.parameters, without(tracks, s)))
        np.testing.assert_allclose(u2[chosen], lost[chosen], rtol=0.02, atol=0.02)
        compared += chosen.sum()
    assert compared > 50


def test_u2_of_a_velo_hit_is_of_its_worse_coordinate():
    """Moved along x alone, the hit's u² grows as the square of what is left of the shift, for every slot."""
    toy = generate(300, 20000.0, seed=6)
    tracks = toy.candidates("float64")
    whole = fit(toy.parameters, tracks)
    for s in range(6):
        shift = 1.0
        bad = moved(toy, "velo_x", s, shift).candidates("float64")
        numbers, slots = cpu.interval(toy.parameters, bad, threads=1)
        chosen = (slots[0] == s) & (tracks.velo_n > 6)
        assert chosen.mean() > 0.95 * np.mean(tracks.velo_n > 6)
        left = fit(toy.parameters, without(bad, s))
        lost = chi2(fit(toy.parameters, bad)) - chi2(left)
        # The other coordinate's share in what is lost is that of a good hit.
        np.testing.assert_allclose(numbers[0][chosen], lost[chosen], rtol=0.05, atol=15)
        assert np.median(np.abs(numbers[0] - lost)[chosen]) < 3
    assert whole.status.max() == 0


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize(
    ("name", "slots", "first_bit", "shift"),
    [("velo_x", (0, 1, 2), 0, 0.2), ("velo_y", (0, 1, 2), 0, 0.2), ("ut_x", range(4), 26, 1.5),
     ("scifi_x", range(12), 30, 1.5)],
)  # fmt: skip
def test_a_planted_bad_hit_is_found(name, slots, first_bit, shift, precision):
    toy = generate(3000, 10000.0, seed=8, seed_error=0.01)
    random = np.random.default_rng(2)
    keep = toy.arrays["velo_n"] >= 5
    toy = dataclasses.replace(toy, arrays={n: a[keep] for n, a in toy.arrays.items()})
    slot = random.choice(list(slots), keep.sum())
    bad = moved(toy, name, slot, shift * random.choice([-1, 1], keep.sum()))
    tracks = bad.candidates(precision)
    given = [a.copy() for a in (*tracks.velo, *tracks.ut, *tracks.scifi, tracks.velo_n)]
    cleaned, removed = without_outliers(toy.parameters, tracks, fit(toy.parameters, tracks))
    found = removed == np.int64(1) << (first_bit + slot)
    assert found.mean() > 0.97
    # What is gone is what `removed` says, and no other hit.
    numbers = np.arange(42)
    gone = (removed[:, None] >> numbers & 1).astype(bool)
    np.testing.assert_array_equal(tracks.velo_n - cleaned.velo_n, gone[:, :26].sum(axis=1))
    for before, now, bits in (
        (tracks.ut, cleaned.ut, gone[:, 26:30]),
        (tracks.scifi, cleaned.scifi, gone[:, 30:]),
    ):
        np.testing.assert_array_equal(np.isfinite(before[0]) & ~np.isfinite(now[0]), bits)
    clean = fit(toy.parameters, toy.candidates("float64"))
    after = fit(toy.parameters, cleaned)
    ndof = after.ndof_velo + after.ndof_ut + after.ndof_scifi
    assert chi2(after).sum() / ndof.sum() == pytest.approx(1, abs=0.03)
    # As good as the fit of the good hit, but for the hit's own weight.
    assert np.std((after.qop - clean.qop)[found] / np.sqrt(clean.qopqop[found])) < 0.5
    for before, now in zip(given, (*tracks.velo, *tracks.ut, *tracks.scifi, tracks.velo_n), strict=True):
        np.testing.assert_array_equal(before, now)


@pytest.mark.parametrize("limit", [16.0, 30.0])
def test_tracks_of_a_small_chi2_are_passed_over(limit):
    """The limit and half of ndof, which is two a VELO hit, one a strip, and less the five of the track."""
    toy = generate(200, 10000.0, seed=8)
    tracks = moved(toy, "scifi_x", np.full(200, 6), 3.0).candidates("float64")
    result = fit(toy.parameters, tracks)
    ndof = 2 * tracks.velo_n + 16 - 5

    def touched(chi2):
        one = dataclasses.replace(result, chi2_velo=chi2 / 2, chi2_ut=chi2 / 8, chi2_scifi=3 * chi2 / 8)
        return without_outliers(toy.parameters, tracks, one, limit=limit)[1] != 0

    assert touched(chi2(result)).all()
    assert touched(limit + ndof / 2 + 0.01).all()
    assert not touched(limit + ndof / 2 - 0.01).any()


def test_clean_tracks_keep_their_hits():
    touched = []
    for momentum in (3000.0, 10000.0, 50000.0):
        toy = generate(8000, momentum, seed=9)
        tracks = toy.candidates("float32")
        cleaned, removed = without_outliers(toy.parameters, tracks, fit(toy.parameters, tracks))
        touched.append(removed != 0)
        same = removed == 0
        np.testing.assert_array_equal(cleaned.velo_n[same], tracks.velo_n[same])
    assert 0 < np.mean(touched) < 0.003


def test_a_bad_hit_does_not_reach_neighbours():
    toy = generate(64, 10000.0, seed=3)
    tracks = toy.candidates("float32")
    good, _ = cpu.interval(toy.parameters, tracks, threads=1)
    bad = moved(toy, "scifi_x", np.where(np.arange(64) == 5, 3, 0), np.where(np.arange(64) == 5, np.inf, 0.0))
    got, _ = cpu.interval(toy.parameters, bad.candidates("float32"), threads=1)
    others = np.arange(64) != 5
    np.testing.assert_array_equal(got[:, others], good[:, others])


def test_builds_and_threads_agree():
    toy = generate(700, 8000.0, seed=4)
    tracks = toy.candidates("float64")
    expected = cpu.interval(toy.parameters, tracks, threads=1, build="plain")
    got = cpu.interval(toy.parameters, tracks, threads=2)
    np.testing.assert_array_equal(got[1], expected[1])
    np.testing.assert_allclose(got[0][0], expected[0][0], rtol=1e-6)
