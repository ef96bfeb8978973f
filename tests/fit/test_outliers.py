"""Removal of outliers: the search is compared with fits that leave out each hit."""

import dataclasses

import numpy as np
import pytest
from kalman_toy import generate

from parkf.fit import cpu, fit
from parkf.fit.fitted import INTEGERS, NUMBERS
from parkf.fit.outliers import ROUNDS, fit_as_trigger, fit_without_outliers, without_hits
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
    """Candidates without the hit of a slot: NaN in UT and SciFi; in the VELO later hits move up."""
    if slot >= 26:
        kind, layer = ("ut", slot - 26) if slot < 30 else ("scifi", slot - 30)
        x, *others = getattr(tracks, kind)
        x = x.copy()
        x[:, layer] = np.nan
        return dataclasses.replace(tracks, **{kind: (x, *others)})
    velo = tuple(np.concatenate([np.delete(a, slot, 1), a[:, -1:]], axis=1) for a in tracks.velo)
    return dataclasses.replace(tracks, velo=velo, velo_n=tracks.velo_n - 1)


def compared(toy, tracks, **how):
    """Compare each hit with all others, and remove none: the fits, u² of the worst hit, and its slot."""
    how = {"threads": 1, "limit": np.inf} | how
    fitted, removed, u2, slot = cpu.fit_without_outliers(toy.parameters, tracks, **how)
    assert (removed == 0).all()
    return fitted, u2, slot


@pytest.mark.parametrize("forms", FORMS)
def test_u2_is_what_chi2_loses_without_the_worst_strip(forms):
    """The χ² of the filter without a hit is the χ² that the backward recursion predicts."""
    # These tracks are so stiff that leaving out a UT hit does not move the point where the bend is
    # linearised.
    toy = generate(400, 40000.0, seed=5, seed_error=0.0, efficiency=0.9, forms=forms)
    tracks = toy.candidates("float64")
    _, u2, slot = compared(toy, tracks)
    whole = fit(toy.parameters, tracks)
    checked = 0
    # The first SciFi hits fix where the bend is evaluated: without them, the fit is about another point.
    for s in [*range(26, 30), *range(33, 42)]:
        chosen = slot == s
        lost = chi2(whole) - chi2(fit(toy.parameters, without(tracks, s)))
        np.testing.assert_allclose(u2[chosen], lost[chosen], rtol=0.02, atol=0.02)
        checked += chosen.sum()
    assert checked > 50


def test_u2_of_a_velo_hit_is_of_its_worse_coordinate():
    """A hit moved along x alone has the u² of its x; leaving out the hit also removes the χ² of its y."""
    toy = generate(300, 20000.0, seed=6)
    tracks = toy.candidates("float64")
    whole = fit(toy.parameters, tracks)
    for s in range(6):
        shift = 1.0
        bad = moved(toy, "velo_x", s, shift).candidates("float64")
        _, u2, slot = compared(toy, bad)
        chosen = (slot == s) & (tracks.velo_n > 6)
        assert chosen.mean() > 0.95 * np.mean(tracks.velo_n > 6)
        left = fit(toy.parameters, without(bad, s))
        lost = chi2(fit(toy.parameters, bad)) - chi2(left)
        # The other coordinate contributes to the loss of χ² as in a good hit.
        np.testing.assert_allclose(u2[chosen], lost[chosen], rtol=0.05, atol=15)
        assert np.median(np.abs(u2 - lost)[chosen]) < 3
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
    _, removed = fit_without_outliers(toy.parameters, tracks)
    cleaned = without_hits(tracks, removed)
    found = removed == np.int64(1) << (first_bit + slot)
    assert found.mean() > 0.97
    # Exactly the hits in `removed` are missing.
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
    # The fit is as good as with the good hit, apart from that hit's own weight.
    assert np.std((after.qop - clean.qop)[found] / np.sqrt(clean.qopqop[found])) < 0.5
    for before, now in zip(given, (*tracks.velo, *tracks.ut, *tracks.scifi, tracks.velo_n), strict=True):
        np.testing.assert_array_equal(before, now)


@pytest.mark.parametrize("limit", [16.0, 30.0])
def test_tracks_of_a_small_chi2_are_passed_over(limit):
    """The threshold is the limit plus ndof/2; ndof has two a VELO hit and one a strip, less five."""
    toy = generate(20000, 10000.0, seed=8, seed_error=0.01)
    toy = dataclasses.replace(toy, arrays={n: a[toy.arrays["velo_n"] > 3] for n, a in toy.arrays.items()})
    count = len(toy.arrays["velo_n"])
    tracks = moved(toy, "scifi_x", np.full(count, 6), np.linspace(0.3, 0.8, count)).candidates("float64")
    whole, u2, _ = compared(toy, tracks)
    _, removed = fit_without_outliers(toy.parameters, tracks, limit=limit)
    ndof = 2 * tracks.velo_n + 16 - 5
    enough = whole.chi2 > limit + ndof / 2
    np.testing.assert_array_equal(removed != 0, (u2 > limit) & enough)
    assert np.sum((u2 > limit) & ~enough) > 5
    assert np.sum((u2 > limit) & enough) > 1000


def test_clean_tracks_keep_their_hits():
    touched = []
    for momentum in (3000.0, 10000.0, 50000.0):
        toy = generate(8000, momentum, seed=9)
        tracks = toy.candidates("float32")
        _, removed = fit_without_outliers(toy.parameters, tracks)
        touched.append(removed != 0)
        cleaned, same = without_hits(tracks, removed), removed == 0
        np.testing.assert_array_equal(cleaned.velo_n[same], tracks.velo_n[same])
    assert 0 < np.mean(touched) < 0.003


def test_a_bad_hit_does_not_reach_neighbours():
    """Neither where it is compared, nor where a track is fitted again without it."""
    toy = generate(64, 10000.0, seed=3)
    good = compared(toy, toy.candidates("float32"))
    shift = np.where(np.arange(64) == 5, np.inf, 0.0)
    bad = moved(toy, "scifi_x", np.where(np.arange(64) == 5, 3, 0), shift)
    got = compared(toy, bad.candidates("float32"))
    others = np.arange(64) != 5
    same_to_the_bit(got[0], good[0], others)
    for now, before in zip(got[1:], good[1:], strict=True):
        np.testing.assert_array_equal(now[others], before[others])
    worse = moved(toy, "scifi_x", np.full(64, 7), np.where(np.arange(64) % 9 == 4, 4.0, 0.0))
    many, removed = fit_without_outliers(toy.parameters, worse.candidates("float32"))
    assert (removed[4::9] == 1 << 37).all()
    one, _ = fit_without_outliers(toy.parameters, worse.candidates("float32").rows(np.array([13])))
    same_to_the_bit(many, one, np.array([13]), np.array([0]))


def same_to_the_bit(one, other, rows, of_other=None):
    for name in (*NUMBERS, *INTEGERS):
        expected = getattr(other, name)[rows if of_other is None else of_other]
        np.testing.assert_array_equal(getattr(one, name)[rows], expected, err_msg=name)


def agree(one, other, rows, sigmas):
    """The states agree to so many σ; variances, χ² and counts too."""
    for name in ("x", "y", "tx", "ty", "qop"):
        variance = getattr(other, 2 * name)[rows]
        off = (getattr(one, name) - getattr(other, name))[rows] / np.sqrt(variance)
        np.testing.assert_array_less(np.abs(off), sigmas, err_msg=name)
        np.testing.assert_allclose(getattr(one, 2 * name)[rows], variance, rtol=sigmas)
    for name in ("z", "xtx", "yty", *CHI2):
        got, expected = getattr(one, name)[rows], getattr(other, name)[rows]
        np.testing.assert_allclose(got, expected, rtol=sigmas, atol=sigmas)
    for name in INTEGERS:
        np.testing.assert_array_equal(getattr(one, name)[rows], getattr(other, name)[rows])


@pytest.mark.parametrize("forms", FORMS)
@pytest.mark.parametrize(("precision", "sigmas"), [("float32", 3e-3), ("float64", 1e-10)])
@pytest.mark.parametrize("momentum", [2000.0, 10000.0, 100000.0])
def test_the_fit_with_all_hits_is_the_plain_one(momentum, precision, sigmas, forms):
    toy = generate(1000, momentum, seed=4, efficiency=0.9, forms=forms)
    tracks = toy.candidates(precision)
    agree(compared(toy, tracks)[0], fit(toy.parameters, tracks), slice(None), sigmas)


def test_builds_and_threads_agree():
    """The order in which tracks are fitted again depends on the threads; the fits do not."""
    toy = generate(3000, 8000.0, seed=4)
    bad = moved(toy, "scifi_x", np.full(3000, 6), np.where(np.arange(3000) % 7 == 0, 3.0, 0.0))
    for tracks, limit in ((toy.candidates("float64"), np.inf), (bad.candidates("float64"), 16.0)):
        expected = cpu.fit_without_outliers(toy.parameters, tracks, limit=limit, threads=1, build="plain")
        one, two = (cpu.fit_without_outliers(toy.parameters, tracks, limit=limit, threads=n) for n in (1, 2))
        same_to_the_bit(one[0], two[0], slice(None))
        agree(one[0], expected[0], slice(None), 1e-6)
        for got, again, slow in zip(one[1:], two[1:], expected[1:], strict=True):
            np.testing.assert_array_equal(got, again)
            np.testing.assert_allclose(got, slow, rtol=1e-6)


@pytest.mark.parametrize("count", [1, 7, 500])
def test_fits_are_those_of_candidates_without_the_removed_hits(count):
    toy = generate(500, 10000.0, seed=8)
    toy = dataclasses.replace(toy, arrays={n: a[:count] for n, a in toy.arrays.items()})
    shift = np.where(np.arange(count) % 7 == 0, 3.0, 0.0)
    tracks = moved(toy, "scifi_x", np.full(count, 6), shift).candidates("float64")
    again, removed = fit_without_outliers(toy.parameters, tracks)
    assert (removed[::7] == 1 << 36).all()
    agree(again, fit(toy.parameters, without_hits(tracks, removed)), slice(None), 1e-10)
    agree(again, fit(toy.parameters, tracks), removed == 0, 1e-10)


@pytest.mark.parametrize("slots", [(1, 2), (0, 4), (5, 1), (3, 28), (27, 36)])
def test_two_bad_hits_are_both_found(slots):
    """The bits are those of the slots of the candidate, although later VELO hits move up in between."""
    toy = generate(3000, 50000.0, seed=8, seed_error=0.01)
    toy = dataclasses.replace(toy, arrays={n: a[toy.arrays["velo_n"] >= 8] for n, a in toy.arrays.items()})
    bad, count = toy, len(toy.arrays["velo_n"])
    for slot, shift in zip(slots, (1.0, 0.6), strict=True):
        kind, first = ("velo_x", 0) if slot < 26 else ("ut_x", 26) if slot < 30 else ("scifi_x", 30)
        far = shift if slot < 26 else 8 * shift
        bad = moved(bad, kind, np.full(count, slot - first), far)
    tracks = bad.candidates("float64")
    again, removed = fit_without_outliers(toy.parameters, tracks)
    wanted = sum(1 << slot for slot in slots)
    assert np.mean(removed & wanted == wanted) > 0.95
    agree(again, fit(toy.parameters, without_hits(tracks, removed)), slice(None), 1e-9)


def test_no_candidate_loses_more_than_three_hits():
    toy = generate(500, 20000.0, seed=8, seed_error=0.01)
    bad = toy
    for layer, shift in ((2, 5.0), (4, -9.0), (6, 7.0), (9, -6.0), (11, 8.0)):
        bad = moved(bad, "scifi_x", np.full(500, layer), shift)
    again, removed = fit_without_outliers(toy.parameters, bad.candidates("float64"))
    lost = (removed[:, None] >> np.arange(42) & 1).sum(axis=1)
    assert lost.max() == 3
    assert np.mean(lost == 3) > 0.9
    of_scifi = (removed[:, None] >> np.arange(30, 42) & 1).sum(axis=1)
    np.testing.assert_array_equal(again.ndof_scifi, 11 - of_scifi)


def with_velo_hits(toy, hits):
    """Return the tracks with so many VELO hits, without their further ones."""
    arrays = {n: a[toy.arrays["velo_n"] >= hits].copy() for n, a in toy.arrays.items()}
    arrays["velo_n"] = np.full_like(arrays["velo_n"], hits)
    for name in ("velo_x", "velo_y", "velo_z"):
        arrays[name][:, hits:] = np.nan
    return dataclasses.replace(toy, arrays=arrays)


@pytest.mark.parametrize(("hits", "lost"), [(3, 0), (4, 1), (5, 2)])
def test_three_velo_hits_stay(hits, lost):
    """Two points determine a line, so only a third one can show which hit is bad."""
    toy = generate(3000, 20000.0, seed=8, seed_error=0.01)
    few = with_velo_hits(toy, hits)
    few.arrays["velo_x"][:, 1] += 3.0
    few.arrays["velo_y"][:, 2] -= 2.0
    tracks = few.candidates("float64")
    _, removed = fit_without_outliers(toy.parameters, tracks)
    taken = (removed[:, None] >> np.arange(26) & 1).sum(axis=1)
    assert taken.max() == lost
    assert np.mean(taken == lost) > 0.9


def searched(toy, tracks, removed):
    return cpu.fit_and_search(toy.parameters, tracks, np.asarray(removed, np.int64), threads=1)


def same_fits(one, other):
    for name in ("z", "x", "y", "tx", "ty", "qop", "xx", "tyty", "qopqop", *CHI2, "ndof_velo", "ndof_scifi"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-6)


def test_the_triggers_fit_with_all_hits_is_the_plain_one():
    toy = generate(300, 8000.0, seed=4, forms="production")
    tracks = toy.candidates("float64")
    fitted, worst, slot = searched(toy, tracks, np.zeros(300))
    same_fits(fitted, fit(toy.parameters, tracks, scheme="trigger"))
    assert (worst <= fitted.chi2).all()
    assert (slot >= 0).all()


@pytest.mark.parametrize("slot", [0, 26, 28, 30, 35, 41])
def test_a_hit_that_is_left_out_does_not_count(slot):
    """The fit equals that of candidates without the hit. If it is the first VELO hit, no step leads to it."""
    toy = generate(300, 8000.0, seed=4, forms="production")
    toy = dataclasses.replace(toy, arrays={n: a[toy.arrays["velo_n"] > 5] for n, a in toy.arrays.items()})
    tracks = toy.candidates("float64")
    fitted, _, worst = searched(toy, tracks, np.full(tracks.count, 1 << slot))
    same_fits(fitted, fit(toy.parameters, without(tracks, slot), scheme="trigger"))
    assert (worst != slot).all()


def test_a_velo_hit_that_is_left_out_is_stepped_to():
    """The step to the hit still adds scattering, but the hit's two measurements do not count."""
    toy = generate(300, 8000.0, seed=4, forms="production")
    toy = dataclasses.replace(toy, arrays={n: a[toy.arrays["velo_n"] > 5] for n, a in toy.arrays.items()})
    tracks = toy.candidates("float64")
    fitted, _, _ = searched(toy, tracks, np.full(tracks.count, 1 << 2))
    whole = fit(toy.parameters, tracks, scheme="trigger")
    # In the trigger, each VELO hit counts once in each direction.
    np.testing.assert_array_equal(whole.ndof_velo - fitted.ndof_velo, 2)
    shorter = fit(toy.parameters, without(tracks, 2), scheme="trigger")
    assert np.median(fitted.txtx / shorter.txtx) > 1
    assert np.std((fitted.tx - shorter.tx) / np.sqrt(shorter.txtx)) < 0.3


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize(
    ("name", "slot", "bit", "shift", "found"),
    [("velo_x", 3, 3, 0.5, 0.35), ("ut_x", 2, 28, 5.0, 0.9), ("scifi_x", 6, 36, 3.0, 0.95)],
)
def test_the_trigger_finds_a_planted_bad_hit(name, slot, bit, shift, found, precision):
    """A bad VELO hit spoils the prediction for the next hit, which then often has the larger residual."""
    toy = generate(2000, 20000.0, seed=8, seed_error=0.01, forms="production")
    toy = dataclasses.replace(toy, arrays={n: a[toy.arrays["velo_n"] > 5] for n, a in toy.arrays.items()})
    count = len(toy.arrays["velo_n"])
    tracks = moved(toy, name, np.full(count, slot), shift).candidates(precision)
    bad = fit(toy.parameters, tracks, scheme="trigger", precision=precision)
    fitted, removed = fit_as_trigger(toy.parameters, tracks)
    assert np.mean(removed >> bit & 1) > found
    changed = removed != 0
    fell = fitted.chi2 / fitted.ndof < bad.chi2 / bad.ndof
    assert fell[changed].all()
    np.testing.assert_array_equal(fitted.qop[~changed], bad.qop[~changed])
    numbers = np.arange(42)
    gone = removed[:, None] >> numbers & 1
    assert gone.sum(axis=1).max() <= ROUNDS
    np.testing.assert_array_equal(bad.ndof_scifi - fitted.ndof_scifi, gone[:, 30:].sum(axis=1))


def test_the_trigger_keeps_the_fewest_hits_of_a_detector():
    """Of three VELO hits, however bad, none is removed; of four, one is."""
    toy = generate(3000, 20000.0, seed=8, seed_error=0.01, forms="production")
    for hits, most in ((3, 0), (4, 1)):
        few = with_velo_hits(toy, hits)
        tracks = moved(few, "velo_x", np.ones(len(few.arrays["velo_n"]), int), 3.0).candidates("float64")
        _, removed = fit_as_trigger(toy.parameters, tracks)
        taken = (removed[:, None] >> np.arange(26) & 1).sum(axis=1)
        assert taken.max() == most
    # Of nine SciFi layers, none is removed either.
    scifi = toy.candidates("float64")
    scifi.scifi[0][:, 9:] = np.nan
    scifi.scifi[0][:, 5] += 20.0
    assert (fit_as_trigger(toy.parameters, scifi)[1] >> 30 == 0).all()


def test_clean_tracks_keep_their_hits_in_the_trigger():
    toy = generate(8000, 10000.0, seed=9, seed_error=0.01, forms="production")
    _, removed = fit_as_trigger(toy.parameters, toy.candidates("float32"))
    assert np.mean(removed != 0) < 0.01


def test_the_triggers_removal_agrees_on_all_builds_and_threads():
    toy = generate(700, 8000.0, seed=4, forms="production")
    tracks = moved(toy, "scifi_x", np.full(700, 4), 4.0).candidates("float64")
    none = np.zeros(700, np.int64)
    expected = cpu.fit_and_search(toy.parameters, tracks, none, threads=1, build="plain")
    for threads in (1, 2):
        got = cpu.fit_and_search(toy.parameters, tracks, none, threads=threads)
        np.testing.assert_array_equal(got[2], expected[2])
        np.testing.assert_allclose(got[1], expected[1], rtol=1e-5)
    one, other = (fit_as_trigger(toy.parameters, tracks, threads=n)[1] for n in (1, 2))
    np.testing.assert_array_equal(one, other)
