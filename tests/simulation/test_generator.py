import numpy as np
import pandas as pd
import pytest

from parkf.io.errors import ParkfError
from parkf.io.files import sha256
from parkf.simulation.generate.collisions import (
    EVENTS_PER_CHUNK,
    EVENTS_PER_FORK,
    accepted,
    generate,
    stable_particles,
)
from parkf.simulation.generate.collisions import collisions as collisions_of
from parkf.simulation.generate.pythia import SOFT_COLLISIONS, initialised
from parkf.training.rows import select


def _momentum(particles):
    return np.sqrt(particles.px**2 + particles.py**2 + particles.pz**2)


def test_the_same_seed_gives_the_same_bytes_on_one_core_and_two(tmp_path, geometry):
    paths = [tmp_path / f"{workers}.parquet" for workers in (1, 2)]
    # There are two forks, which run one after the other or side by side.
    common = {"beam": geometry.beam, "events": EVENTS_PER_FORK + 10, "seed": 3, "pile_up": 5.5}
    for workers, path in enumerate(paths, start=1):
        generate(path, workers=workers, **common)
    assert sha256(paths[0]) == sha256(paths[1])


def test_another_seed_gives_other_events_and_fewer_events_the_same_first_chunk(
    tmp_path, geometry, collisions
):
    few = tmp_path / "few.parquet"
    generate(few, beam=geometry.beam, events=EVENTS_PER_CHUNK, seed=3, pile_up=5.5, workers=2)
    other = tmp_path / "other.parquet"
    generate(other, beam=geometry.beam, events=EVENTS_PER_CHUNK, seed=4, pile_up=5.5, workers=2)
    first = collisions.particles[collisions.particles.event < EVENTS_PER_CHUNK]
    assert pd.read_parquet(few).equals(first)
    assert not np.array_equal(pd.read_parquet(other).px.to_numpy()[:50], first.px.to_numpy()[:50])


def test_a_range_of_events_is_the_same_part_of_the_sample(tmp_path, geometry):
    whole, part = tmp_path / "whole.parquet", tmp_path / "part.parquet"
    arguments = {"beam": geometry.beam, "seed": 3, "pile_up": 5.5, "workers": 2}
    generate(whole, events=EVENTS_PER_FORK + 10, **arguments)
    generate(part, first=EVENTS_PER_FORK, events=10, **arguments)
    particles = pd.read_parquet(whole)
    expected = particles[particles.event >= EVENTS_PER_FORK].reset_index(drop=True)
    assert pd.read_parquet(part).equals(expected)
    with pytest.raises(ParkfError, match="first: got 25, expected a multiple of 50"):
        generate(tmp_path / "other.parquet", first=25, events=5, **arguments)


def test_particles_are_numbered_from_zero_in_each_event(collisions):
    for _, event in collisions.particles.groupby("event"):
        assert np.array_equal(event.particle, np.arange(len(event)))


def test_spectrum_and_multiplicity_are_those_of_lhc_collisions(collisions):
    particles = collisions.particles
    p = _momentum(particles)
    eta = np.arctanh(particles.pz / p)
    prompt = (np.hypot(particles.x, particles.y) < 0.5) & (particles.pdg_id.abs() != 11)
    inside = prompt & (eta > 2) & (eta < 5)
    # LHCb's full simulation: about 15 a collision above 300 MeV.
    per_collision = inside.sum() / (5.5 * collisions.events)
    assert 10 < per_collision < 20
    assert 4_000 < p[inside & (p > 2_000)].median() < 10_000
    kinds = particles[inside].pdg_id.abs().value_counts(normalize=True)
    assert 0.75 < kinds[211] < 0.9
    assert 0.05 < kinds[321] < 0.15


def test_vertices_follow_the_beam_spot(collisions, geometry):
    particles = collisions.particles
    prompt = particles[(np.hypot(particles.x, particles.y) < 0.2)]
    vertices = prompt.groupby(["event", "collision"])[["x", "y", "z"]].median()
    assert abs(vertices.z.std() - geometry.beam.sigma_z) < 8
    assert abs(vertices.x.std() - geometry.beam.sigma_x) < 0.006
    assert abs(vertices.x.mean()) < 0.01


@pytest.fixture(scope="module")
def sides():
    """Forward particles of 600 collisions, and backward ones turned round, before field and material."""
    pythia = initialised(SOFT_COLLISIONS)
    pythia.rndm.init(7)
    both = accepted(stable_particles(pythia, collisions_of(pythia, 600)))
    return [select(both, both["collision"] // 600 == side) for side in (0, 1)]


def test_both_sides_of_a_collision_look_alike(sides):
    """Protons meet protons: numbers of particles, their momenta and charges are the same within errors."""

    def figures(side):
        charged = side["charge"] != 0
        number = np.bincount(side["collision"][charged] % 600, minlength=600)
        across = np.hypot(side["px"], side["py"])[charged]
        return [(number, 1.0), (across, 1.5), (side["pz"][charged], 1.5), (side["charge"][charged], 1.0)]

    for (one, _), (other, correlated) in zip(*map(figures, sides), strict=True):
        error = np.hypot(one.std() / np.sqrt(len(one)), other.std() / np.sqrt(len(other)))
        assert abs(one.mean() - other.mean()) < 4 * correlated * error
    # The two sides of a collision have different numbers, so neither is a copy of the other.
    assert not np.isin(np.abs(sides[0]["px"]), np.abs(sides[1]["px"])).any()


def test_what_flies_backward_is_turned_about_the_vertical_axis():
    """In a turned copy of the same collisions x and z have the opposite sign; all else is the same."""
    pythia = initialised(SOFT_COLLISIONS)
    pythia.rndm.init(8)
    both = stable_particles(pythia, collisions_of(pythia, 20))
    final = ~np.isfinite(both["z_end"])
    one, other = (select(both, final & (both["collision"] // 20 == side)) for side in (0, 1))
    for name in ("x", "z", "px", "pz"):
        assert np.array_equal(one[name], -other[name])
    for name in ("y", "py", "mass", "pdg_id", "charge", "mother"):
        assert np.array_equal(one[name], other[name])
    # Decays stay physical: turned particles also end downstream of their origin.
    ended = both["z_end"][~final] - both["z"][~final]
    assert (ended > 0).all()
    assert 0.3 < (both["collision"][~final] >= 20).mean() < 0.7


def test_a_side_in_another_azimuth():
    """A use is the one before it of the same side, a quarter of a turn further."""
    pythia = initialised(SOFT_COLLISIONS)
    pythia.rndm.init(9)
    particles = stable_particles(pythia, collisions_of(pythia, 20), azimuths=4)
    uses = [select(particles, particles["collision"] // 20 == use) for use in range(8)]
    for before, turned in zip(uses[:-2], uses[2:], strict=True):
        for along, across in (("x", "y"), ("px", "py")):
            assert np.array_equal(turned[across], before[along])
            assert np.array_equal(turned[along], -before[across])
        for name in ("z", "z_end", "pz", "mass", "pdg_id", "charge", "mother"):
            assert np.array_equal(turned[name], before[name])
        assert np.array_equal(turned["collision"], before["collision"] + 40)


def test_long_lived_neutrals_decay_and_their_products_know_it(collisions):
    particles = collisions.particles
    from_kaon = particles[particles.mother == 310]
    assert len(from_kaon) > 50
    assert (np.hypot(from_kaon.x, from_kaon.y) > 2).mean() > 0.5


def test_some_tracks_end(collisions):
    particles = collisions.particles
    ended = particles[np.isfinite(particles.z_end)]
    assert (ended.z_end > ended.z).all()
    hadrons = particles[(particles.pdg_id.abs() > 100) & (particles.z < 200)]
    # Before the magnet 16% interact, and a few per cent of the kaons decay.
    assert 0.12 < (hadrons.z_end < 2800).mean() < 0.25
    # Behind the UT only pions and kaons end, when they decay: 2 to 5% of them.
    late = hadrons[(hadrons.z_end > 2800) & np.isfinite(hadrons.z_end)]
    assert set(late.pdg_id.abs()) == {211, 321}
    assert 9000 < late.z_end.max() < 9500
    assert 0.02 < len(late) / len(hadrons) < 0.06
    assert (particles[particles.pdg_id.abs() == 13].mother.abs().isin([211, 321])).mean() > 0.9


@pytest.mark.parametrize(("events", "pile_up"), [(0, 5.0), (10, 0.0), (10, float("nan"))])
def test_impossible_requests_are_refused(tmp_path, geometry, events, pile_up):
    with pytest.raises(ParkfError, match="must be positive"):
        generate(tmp_path / "x.parquet", beam=geometry.beam, events=events, seed=1, pile_up=pile_up)
    assert list(tmp_path.iterdir()) == []


def test_masses_are_in_mev(collisions):
    masses = collisions.particles.groupby(collisions.particles.pdg_id.abs()).mass.median()
    assert masses[[211, 321, 2212]].tolist() == pytest.approx([139.57, 493.68, 938.27], abs=0.01)
