"""Electrons: the mixture of what they radiate, and the fit that knows it."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import cumulative_simpson, simpson

import parkf
import parkf._electron as _electron
from parkf.api.parameters import Parameters
from parkf.fit import fit, fit_file
from parkf.fit.electron import TrackSeen, density
from parkf.fit.fitted import STATUS_BITS
from parkf.io.errors import ParkfError
from parkf.io.tables import ELECTRON, FITTED
from parkf.params.electron import COUNT, ElectronFit, numbers_of
from parkf.params.parameter_set import load

ROOT = Path(__file__).parents[2]
# As a training finds them.
NUMBERS = np.array([-0.24, -0.15, 0.37, 5.5, -1.7, 0.39, 0.31, -0.86, 0.61, -0.83, -0.001, 1.05, 0.3])
QUANTILES = (0.15865525393145707, 0.84134474606854293)


def seen(count=1, *, qop=1e-4, width=0.004, hits=9.0, ratio=np.nan, error=0.2):
    """Tracks of this q/p and relative error; with UT hits if there is a `ratio` of q/p there."""
    full = [np.full(count, one) for one in (qop, (width * qop) ** 2, hits, ratio * qop, (error * qop) ** 2)]
    return TrackSeen(*full)


def grid(width, high=12.0):
    """Places of a loss, fine where the fit's Gaussian is."""
    fine = np.linspace(-8 * width, 8 * width, 4001)
    return np.concatenate([fine[:-1], np.geomspace(8 * width, high, 4001)])


def estimate(tracks, numbers=NUMBERS):
    names = ("qop", "qopqop", *[name for name, _ in ELECTRON if not name.startswith("pion_")])
    return dict(zip(names, _electron.estimate(numbers, *tracks), strict=True))


CASES = {
    "no UT": {},
    "bends as in the magnet": {"ratio": 1.0},
    "bends less in the UT": {"ratio": 0.4, "error": 0.15},
    "many modules": {"hits": 16.0, "ratio": 1.1},
    "wide": {"width": 0.3},
    "narrow": {"width": 1e-5, "hits": 3.0},
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_density_is_one_and_its_integral_is_its_integral(case):
    width = case.get("width", 0.004)
    for parts in (grid(width),):
        at, below = density(NUMBERS, seen(len(parts), **case), parts - NUMBERS[10])
        assert simpson(at, x=parts) == pytest.approx(below[-1], abs=2e-5)
        assert below[-1] == pytest.approx(1, abs=1e-3)
        np.testing.assert_allclose(cumulative_simpson(at, x=parts, initial=0), below, atol=2e-5)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_estimate_is_what_the_density_says(case):
    places = grid(case.get("width", 0.004))
    at, below = density(NUMBERS, seen(len(places), **case), places - NUMBERS[10])
    found = estimate(seen(**case))
    behind = 1e-4 * np.exp(NUMBERS[10])
    median, low, high = np.interp((0.5, *QUANTILES), below, places)
    loss = np.log(behind / found["qop"][0])
    if median > NUMBERS[12]:
        assert loss == pytest.approx(median, rel=1e-3)
    else:
        assert at.max() == pytest.approx(np.interp(loss, places, at), rel=1e-4)
    half = behind * (np.exp(-low) - np.exp(-high)) / 2
    for name, end in (("low_qop", low), ("high_qop", high)):
        assert found[name][0] == pytest.approx(behind * np.exp(-end), rel=1e-3)
    assert np.sqrt(found["qopqop"][0]) == pytest.approx(half, rel=1e-3)
    # Moments of q/p.
    mean = simpson(at * np.exp(-places), x=places)
    square = simpson(at * np.exp(-2 * places), x=places)
    assert found["mean_qop"][0] == pytest.approx(behind * mean, rel=1e-3)
    assert found["mean_qopqop"][0] == pytest.approx(behind**2 * (square - mean**2), rel=5e-3)
    both = found["hard"] * found["hard_qop"] + (1 - found["hard"]) * found["soft_qop"]
    assert both == pytest.approx(found["mean_qop"])


def test_a_track_that_bends_less_in_front_of_the_ut_radiated():
    straight, bent = (estimate(seen(ratio=ratio, error=0.15)) for ratio in (0.3, 1.0))
    assert straight["hard"][0] > 0.9 > 0.6 > bent["hard"][0]
    assert straight["qop"][0] < 0.7e-4
    assert bent["qop"][0] == pytest.approx(1e-4, rel=0.01)
    # An upstream fit that knows nothing is like none.
    assert estimate(seen(ratio=3.0, error=1e4))["qop"] == pytest.approx(estimate(seen())["qop"], rel=1e-5)


def test_without_radiation_it_is_the_fit_of_a_pion():
    nothing = np.zeros(COUNT)
    nothing[[4, 7]], nothing[11], nothing[12] = -25.0, 1.0, 0.3
    for width in (1e-4, 0.004, 0.1):
        found = estimate(seen(width=width, ratio=1.0), nothing)
        # So short an exponential rounds the slope of the density.
        assert found["qop"][0] == pytest.approx(1e-4, rel=1e-5)
        # exp(-u) of a Gaussian u is nearly one.
        assert np.sqrt(found["qopqop"][0]) == pytest.approx(width * 1e-4, rel=width**2 + 1e-4)
        assert found["mean_qop"][0] == pytest.approx(1e-4, rel=width**2 + 1e-9)


def test_both_charges_are_alike():
    plus, minus = (estimate(seen(qop=qop, ratio=0.8)) for qop in (1e-4, -1e-4))
    for name, value in plus.items():
        assert minus[name] == pytest.approx(
            -value if name.endswith("qop") and "qopqop" not in name else value
        )


@pytest.mark.parametrize("qop", [0.0, np.nan, np.inf])
def test_a_track_without_momentum_keeps_its_fit(qop):
    tracks = seen()._replace(qop=np.array([qop]))
    found = estimate(tracks)
    np.testing.assert_array_equal(found["qop"], [qop])
    assert np.isnan(found["hard"][0])


def test_drawn_losses_are_as_probable_as_the_density_says():
    """The integral of the density at the truth is uniform, and its central 68 % holds 68 %."""
    random, count = np.random.default_rng(5), 20_000
    tracks = seen(count, ratio=0.9, error=0.2)
    weight = 1 - estimate(seen(ratio=0.9, error=0.2))["hard"][0]
    # The UT measures q/p to 0.2, among electrons whose q/p there spreads by 0.3.
    sure = 0.3**2 / (0.3**2 + 0.2**2)
    turn = (0.9 - 1) * sure
    soft, hard = np.exp(NUMBERS[4] + NUMBERS[6] * turn), np.exp(NUMBERS[7] + NUMBERS[8:10] @ [sure, turn])
    angle = (random.integers(4, size=count) + 0.5) * np.pi / 8
    scale = np.where(random.random(count) < weight, soft * np.cos(angle) ** 2, hard)
    loss = random.exponential(scale) + 0.004 * NUMBERS[11] * random.standard_normal(count) - NUMBERS[10]
    _, below = density(NUMBERS, tracks, loss)
    share = np.arange(1, count + 1) / count
    assert np.abs(np.sort(below) - share).max() < 1.63 / np.sqrt(count)  # one in a hundred
    found = estimate(tracks)
    true = 1e-4 * np.exp(-loss)
    assert found["mean_qop"].mean() == pytest.approx(true.mean(), abs=4 * true.std() / np.sqrt(count))
    assert np.sqrt(found["mean_qopqop"].mean()) == pytest.approx(true.std(), rel=0.03)


@pytest.fixture(scope="module")
def knows_electrons():
    told = ElectronFit.of(NUMBERS, np.append(np.full(COUNT - 1, 0.1), np.nan), 1000).described()
    pions = load(ROOT / "params/2026-run3-like-2-r013")
    return dataclasses.replace(pions, manifest=pions.manifest.model_copy(update={"electron": told}))


def test_the_front_door_has_the_columns(knows_electrons):
    tracks = Parameters(knows_electrons, "with").fit(parkf.example(), electrons=True)
    plain = Parameters(knows_electrons, "with").fit(parkf.example())
    assert set(tracks.columns) - set(plain.columns) == dict(ELECTRON).keys()
    np.testing.assert_array_equal(tracks["pion_qop"], plain["qop"])
    np.testing.assert_array_equal(tracks["pion_qopqop"], plain["qopqop"])
    for name in set(plain.columns) - {"qop", "qopqop", "status"}:
        np.testing.assert_array_equal(tracks[name], plain[name])
    # An electron's q/p may be far from its seed's.
    np.testing.assert_array_equal(tracks["status"], plain["status"] & ~STATUS_BITS["far_seed"])
    good = np.isfinite(tracks["hard"])
    assert good.mean() > 0.95
    assert (tracks.p[good] > 0.99 * plain.p[good]).all()
    assert tracks.units["hard_qop"] == "1/MeV"
    np.testing.assert_array_equal(tracks["qop"][~good], plain["qop"][~good])


def test_a_file_has_the_columns(knows_electrons, tmp_path):
    knows_electrons.save(tmp_path / "set")
    fit_file(tmp_path / "set", parkf.example(), tmp_path / "fitted.parquet", electrons=True, score=True)
    rows = FITTED.with_columns(ELECTRON).open(tmp_path / "fitted.parquet").read().to_pandas()
    assert rows[list(dict(ELECTRON))].notna().all(axis=1).mean() > 0.95
    assert rows.score.notna().all()


def test_a_set_without_numbers_says_so(tmp_path):
    name = "2026-run3-like-2-r013"
    with pytest.raises(ParkfError, match="no numbers for them, which sets have since manifest format 9"):
        parkf.load(name).fit(parkf.example(), electrons=True)
    with pytest.raises(ParkfError, match="no numbers for them"):
        fit_file(ROOT / "params" / name, parkf.example(), tmp_path / "fitted.parquet", electrons=True)


@pytest.mark.parametrize(
    "options",
    [{"kind": "upstream"}, {"robust": True}, {"backend": "gpu"}, {"scheme": "trigger"}],
    ids=lambda one: next(iter(one)),
)
def test_fits_that_know_pions_alone_are_refused(knows_electrons, options):
    with pytest.raises(ParkfError, match="electrons: they are long tracks that the plain smoother fits"):
        fit(knows_electrons, None, electrons=True, **options)


def test_numbers_of_another_version_are_none(knows_electrons):
    told = knows_electrons.manifest.electron
    np.testing.assert_array_equal(numbers_of(told), NUMBERS)
    assert numbers_of(None) is numbers_of(told.model_copy(update={"version": 2})) is None
    shorter = told.layout[0].model_copy(update={"sets": told.layout[0].sets[:-1]})
    assert numbers_of(told.model_copy(update={"layout": [shorter]})) is None
