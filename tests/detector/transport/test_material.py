"""Scattering and energy loss in one slab, compared with independent formulas and distributions."""

from pathlib import Path

import numpy as np
import pytest
import yaml
from scipy.integrate import quad
from scipy.stats import kstest, landau

from parkf.detector.description import Description
from parkf.detector.field import FieldMap
from parkf.detector.frame import Frame
from parkf.detector.geometry import UT_PLANES, Geometry
from parkf.detector.transport import particles as module
from parkf.detector.transport import track_through

ROOT = Path(__file__).parents[3]
PION = 139.57
ELECTRON, MUON, PROTON = 0.51099895, 105.658, 938.27
COUNT = 40000
EMPTY = FieldMap(np.full(3, -20000.0), np.full(3, 40000.0), np.zeros((2, 2, 2, 3), dtype=np.float32))


def _bare(**parts: list[dict[str, object]]) -> Geometry:
    """A detector of these slabs and tubes only."""
    content = yaml.safe_load((ROOT / "data/geometry/run3.yaml").read_text())
    for part in ("velo", "ut", "scifi"):
        content[part]["thickness"] = 0.0
    content |= {"tubes": [], "slabs": []} | parts
    description = Description.model_validate(content)
    zs = [z for z, _ in description.velo.modules] + [layer.z for layer in description.ut.layers]
    zs += [description.magnet.z_in, description.magnet.z_out] + [
        layer.z for layer in description.scifi.layers
    ]
    return Geometry(description, tuple(Frame.upright(z) for z in zs))


def _one_slab(material: str, thickness: float, opening: float = 0.0) -> Geometry:
    """A detector with one slab only, at z = 2350 between the first two UT layers."""
    slab = {"name": "target", "z": 2350.0, "material": material, "thickness": thickness, "opening": opening}
    return _bare(slabs=[slab])


def _beam(p: float, mass: float = PION, tx: float = 0.0) -> dict[str, np.ndarray]:
    numbers, zeros = np.arange(COUNT), np.zeros(COUNT)
    norm = np.sqrt(1 + tx * tx)
    return {
        "event": numbers // 100,
        "particle": numbers % 100,
        "charge": np.ones(COUNT),
        "mass": zeros + mass,
        "x": zeros - tx * 2350.0,
        "y": zeros,
        "z": zeros,
        "px": zeros + p * tx / norm,
        "py": zeros,
        "pz": zeros + p / norm,
        "z_end": zeros + np.inf,
    }


def _through(geometry: Geometry, beam: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """States at the UT layer behind the slab."""
    states = track_through(EMPTY, -1, geometry, beam, seed=7)
    behind = states["plane"] == UT_PLANES[1]
    return {name: column[behind] for name, column in states.items()}


def _core(values: np.ndarray) -> float:
    """Width of the normal distribution that has the same content within two widths."""
    width = np.quantile(abs(values), 0.68)
    for _ in range(30):
        width = values[abs(values) < 2 * width].std() / 0.87963
    return float(width)


def test_the_material_begins_at_the_edge_of_its_opening() -> None:
    """A particle along the beam crosses the slab at the x and y of its origin."""
    beam = {name: column[:40] for name, column in _beam(5000.0).items()}
    beam["x"] = np.resize([34.0, 35.0, -35.0, 36.0], 40)
    behind = _through(_one_slab("silicon", 1.0, opening=35.0), beam)
    scattered = (behind["tx"] != 0.0).reshape(-1, 4)
    assert not scattered[:, 0].any()
    assert scattered[:, 1:].all()


TUBE = {
    "name": "pipe",
    "z_min": 0.0,
    "z_max": 800.0,
    "material": "aluminium",
    "thickness": 2.0,
    "radius": 21.3,
}


def test_a_tube_scatters_once_and_where_its_wall_is() -> None:
    """Particles from the origin at a slope of 0.1 meet the wall at z = 213, at different azimuths."""
    p, phi = 5000.0, np.linspace(0.0, 2 * np.pi, COUNT, endpoint=False)
    beam = _beam(p, MUON, tx=0.1)
    across = np.stack([np.cos(phi), np.sin(phi)])
    beam["x"] = np.zeros(COUNT)
    beam["px"], beam["py"] = beam["px"] * across
    behind = _through(_bare(tubes=[TUBE]), beam)
    slopes = np.stack([behind["tx"], behind["ty"]])
    there = np.stack([behind["x"], behind["y"]]) - slopes * (behind["z"] - 213.0)
    np.testing.assert_allclose(there, 21.3 * across, atol=1e-6)
    # Each particle's angle in units of Highland's width, from directions alone.
    before, after = (np.stack([*s, np.ones(COUNT)]) for s in (0.1 * across, slopes))
    turned = np.linalg.norm(np.cross(before, after, axis=0), axis=0)
    angle = np.arctan2(turned, (before * after).sum(axis=0))
    beta, x = p / np.hypot(p, MUON), 2.0 * np.sqrt(1.01) / 88.97
    highland = 13.6 / (beta * p) * np.sqrt(x) * (1 + 0.038 * np.log(x / beta**2))
    np.testing.assert_allclose(behind["hardest"], angle / highland, rtol=1e-6)


@pytest.mark.parametrize("axis", ["x", "y"])
def test_the_steepest_slope_is_still_followed(axis: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A particle turned beyond the steepest slope is lost; a particle turned exactly to it is kept."""
    beam = {name: column[:20] for name, column in _beam(5000.0, tx=0.1).items()}
    beam["x"], beam["px"], beam["p" + axis] = np.zeros(20), np.zeros(20), beam["px"]
    turned = _through(_bare(tubes=[TUBE]), beam)["t" + axis]
    steepest = float(np.sort(turned[turned > 0.1])[2])
    for limit, followed in ((steepest, turned <= steepest), (np.nextafter(steepest, 0), turned < steepest)):
        monkeypatch.setattr(module, "STEEPEST", limit)
        np.testing.assert_array_equal(_through(_bare(tubes=[TUBE]), beam)["t" + axis], turned[followed])


@pytest.mark.parametrize(
    ("material", "length", "radiation_length", "p", "mass"),
    [
        ("silicon", 1.0, 93.7, 5000.0, MUON),
        ("carbon", 10.0, 251.2, 20000.0, MUON),
        ("polystyrene", 5.0, 413.1, 300.0, MUON),
        ("aluminium", 20.0, 88.97, 10000.0, MUON),
    ],
)
def test_core_is_highlands(
    material: str, length: float, radiation_length: float, p: float, mass: float
) -> None:
    """Multiple scattering alone: muons do not scatter off nuclei as hadrons do."""
    states = _through(_one_slab(material, length), _beam(p, mass))
    x = length / radiation_length
    beta = p / np.hypot(p, mass)
    highland = 13.6 / (beta * p) * np.sqrt(x) * (1 + 0.038 * np.log(x / beta**2))
    # The tail adds a few percent to the content within two widths of the core.
    for angle in (states["tx"], states["ty"]):
        assert 0.97 < _core(angle) / highland < 1.07
        assert abs(np.mean(angle)) < 5 * highland / np.sqrt(COUNT)
    assert abs(np.corrcoef(states["tx"], states["ty"])[0, 1]) < 0.05


def test_tail_is_not_normal_but_falls_steeply() -> None:
    """Beyond four widths single scatters dominate; by Rutherford's law, a fraction beyond θ falls as 1/θ²."""
    states = _through(_one_slab("silicon", 1.0), _beam(5000.0))
    angle = np.hypot(states["tx"], states["ty"]) / _core(states["tx"])
    beyond = [np.mean(angle > n) for n in (4.0, 8.0)]
    assert 0.005 < beyond[0] < 0.05
    assert beyond[0] / beyond[1] == pytest.approx(4.0, rel=0.3)


def test_oblique_paths_are_longer() -> None:
    straight, oblique = (_through(_one_slab("silicon", 1.0), _beam(5000.0, tx=tx)) for tx in (0.0, 0.75))
    # The path is longer by sqrt(1 + tx^2); across the bend plane, d(ty) = angle sqrt(1 + tx^2).
    expected = 1.25 * np.sqrt(1.25)
    assert _core(oblique["ty"]) / _core(straight["ty"]) == pytest.approx(expected, rel=0.03)


def _loss(geometry: Geometry, p: float, mass: float) -> np.ndarray:
    behind = _through(geometry, _beam(p, mass))
    return np.hypot(p, mass) - np.hypot(behind["p"], mass)


def test_mean_loss_is_bethes() -> None:
    """The PDG's minimum ionisation of muons is 1.664 MeV cm2/g in silicon and 1.755 in carbon."""
    for material, density, length, least in (("silicon", 2.329, 2.0, 1.664), ("carbon", 1.7, 2.0, 1.755)):
        mean = _loss(_one_slab(material, length), 350.0, 105.658).mean() / (0.1 * length * density)
        assert mean == pytest.approx(least, rel=0.01)


def test_loss_saturates_as_the_density_effect_says() -> None:
    """The most probable loss stops rising at high momentum (Fermi's plateau)."""
    middle = [np.median(_loss(_one_slab("silicon", 2.0), p, 105.658)) for p in (350.0, 10000.0, 100000.0)]
    assert 1.0 < middle[1] / middle[0] < 1.15
    assert middle[2] / middle[1] == pytest.approx(1.0, abs=0.01)


def test_fluctuations_are_landaus() -> None:
    """Below its far tail, a thin layer's loss has Landau's width and most probable value (PDG, eq. 34.12)."""
    p, length = 5000.0, 1.0
    loss = _loss(_one_slab("silicon", length), p, PION)
    beta2 = p * p / (p * p + PION * PION)
    gamma2 = 1 / (1 - beta2)
    xi = 0.5 * 0.307075 * 0.49848 * 2.329 * 0.1 * length / beta2
    excitation = 173e-6
    x = np.log10(np.sqrt(beta2 * gamma2))
    delta = 2 * np.log(10) * x - 4.4351 + 0.14921 * max(2.8716 - x, 0) ** 3.2546
    peak = xi * (
        np.log(2 * ELECTRON * beta2 * gamma2 / excitation) + np.log(xi / excitation) + 0.2 - beta2 - delta
    )
    # Landau's lambda peaks at -0.22278; scipy's variable is (lambda - ln(pi/2)) / (pi/2).
    law = landau(loc=peak + (0.22278 + np.log(np.pi / 2)) * xi, scale=xi * np.pi / 2)
    below = loss[loss < peak + 30 * xi]
    assert kstest(below, lambda v: law.cdf(v) / law.cdf(peak + 30 * xi)).pvalue > 1e-3
    histogram, edges = np.histogram(loss, bins=60, range=(peak - 3 * xi, peak + 6 * xi))
    high = np.flatnonzero(histogram > 0.5 * histogram.max())
    width = edges[high[-1] + 1] - edges[high[0]]
    assert width / xi == pytest.approx(4.018, rel=0.08)


def test_slow_heavy_particles_lose_normally() -> None:
    """With many collisions near the largest transfer, the mean is Bethe's and the spread is Bohr's."""
    p, mass, length = 700.0, 938.27, 10.0
    loss = _loss(_one_slab("silicon", length), p, mass)
    beta2 = p * p / (p * p + mass * mass)
    gamma2 = 1 / (1 - beta2)
    xi = 0.5 * 0.307075 * 0.49848 * 2.329 * 0.1 * length / beta2
    most = 2 * ELECTRON * beta2 * gamma2
    # One proton in a hundred scatters off a nucleus, and loses more.
    low, high = np.quantile(loss, (0.1587, 0.8413))
    assert (high - low) / 2 == pytest.approx(np.sqrt(xi * most * (1 - beta2 / 2)), rel=0.1)


def test_a_particle_that_loses_all_stops() -> None:
    behind = _through(_one_slab("silicon", 500.0), _beam(200.0))
    assert len(behind["p"]) < 0.01 * COUNT


def test_electrons_keep_one_in_e_per_radiation_length() -> None:
    """The mean energy falls as exp(-t): the spectrum of photons takes one radiation length's worth of it."""
    p, thickness = 50_000.0, 0.3
    kept = _through(_one_slab("aluminium", thickness * 88.97), _beam(p, ELECTRON))["p"] / p
    # Electrons that keep less than 100 MeV are not followed.
    assert len(kept) > 0.99 * COUNT
    mean, error = kept.sum() / COUNT, kept.std() / np.sqrt(COUNT)
    assert mean == pytest.approx(np.exp(-thickness), abs=4 * error)


@pytest.mark.parametrize("share", [0.01, 0.05, 0.5])
def test_hard_photons_have_the_spectrum_of_bethe_and_heitler(share: float) -> None:
    """In a thin layer, an electron radiates one photon at most."""
    p, thickness = 50_000.0, 0.01
    lost = 1 - _through(_one_slab("aluminium", thickness * 88.97), _beam(p, ELECTRON))["p"] / p
    expected = thickness * quad(lambda y: 4 / (3 * y) - 4 / 3 + y, share, 1)[0]
    error = np.sqrt(expected / COUNT)
    # Two photons are rarer by the thickness.
    assert np.mean(lost > share) == pytest.approx(expected, abs=4 * error + 0.05 * expected)


def test_muons_do_not_radiate() -> None:
    lost = _loss(_one_slab("aluminium", 0.3 * 88.97), 50_000.0, MUON)
    assert np.mean(lost > 0.05 * 50_000) < 1e-3


@pytest.mark.parametrize(("mass", "path"), [(PION, 325.0), (PROTON, 195.0)])
def test_hadrons_scatter_off_nuclei(mass: float, path: float) -> None:
    """Muons have transverse momenta above 60 MeV, too; the others are from elastic scattering off carbon."""
    p, length, least = 20_000.0, 30.0, 60.0

    def hard(of: float) -> float:
        behind = _through(_one_slab("carbon", length), _beam(p, of))
        return float(np.mean(p * np.hypot(behind["tx"], behind["ty"]) > least))

    # Slopes in 1/GeV² and weights for the whole nucleus (12 nucleons) and for one nucleon.
    slopes = np.array([14.5 * 12**0.66, 10.0])
    weights = np.array([12**1.63, 1.4 * 12**0.33]) / slopes
    beyond = (weights * np.exp(-slopes * (1e-3 * least) ** 2)).sum() / weights.sum()
    expected = 0.1 * 1.7 * length / path * beyond
    # Multiple scattering turns some more of them by this much than by less.
    assert hard(mass) - hard(MUON) == pytest.approx(expected, abs=4 * np.sqrt(expected / COUNT), rel=0.05)


def test_a_struck_nucleon_takes_energy() -> None:
    """Transverse momenta above 250 MeV are from single nucleons, whose kinetic energy is pT²/2m."""
    p = 20_000.0
    behind = _through(_one_slab("carbon", 30.0), _beam(p, PROTON))
    pt = behind["p"] * np.sin(np.arctan(np.hypot(behind["tx"], behind["ty"])))
    lost = np.hypot(p, PROTON) - np.hypot(behind["p"], PROTON)
    hard = pt > 250.0
    assert hard.sum() > 100
    recoil = np.median((lost - np.median(lost[~hard]))[hard] / (pt[hard] ** 2 / (2 * PROTON)))
    assert recoil == pytest.approx(1, abs=0.1)
