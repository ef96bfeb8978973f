from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from parkf.detector.field import DipoleSources, evaluate_on_grid
from parkf.detector.geometry import Z_IN, load_geometry
from parkf.io.errors import ParkfError
from parkf.io.files import sha256
from parkf.io.tables import PARTICLES, STATES, STEP_DATA
from parkf.simulation.response.simulate import simulate
from parkf.training.datasets.builder import build_rows
from parkf.training.datasets.checks import FEWEST_ROWS, check_dataset
from parkf.training.datasets.gather import gather_rows
from parkf.training.datasets.legs import SETS, TOGETHER
from parkf.training.datasets.lottery import draw, find_thresholds

from ...gun import shoot

DATA = Path(__file__).parents[3] / "data"
STEPS = sorted(SETS)


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    """Pions of both charges in both polarities."""
    folder = tmp_path_factory.mktemp("samples")
    geometry = load_geometry(DATA / "geometry/run3.yaml")
    field = evaluate_on_grid(DipoleSources.load(DATA / "field/dipole.json"))
    particles, states = [], []
    for polarity in (1, -1):
        particles.append(folder / f"particles{polarity}.parquet")
        states.append(folder / f"states{polarity}.parquet")
        columns = shoot(events=120, per_event=20, seed=5 + polarity)
        with PARTICLES.writer(particles[-1]) as writer:
            writer.write_table(pa.table(columns, schema=PARTICLES.schema))
        simulate(
            particles[-1],
            states[-1],
            None,
            geometry=geometry,
            field=field,
            polarity=polarity,
            seed=polarity + 1,
        )
    return SimpleNamespace(particles=particles, states=states, geometry=geometry, field=field)


def _build(samples, folder, max_rows=400_000, threads=2):
    """Datasets of all samples: lottery, thresholds, rows of each, gathered."""
    chunks = list(zip(samples.particles, samples.states, strict=True))
    beam, thresholds = samples.geometry.beam, folder / "thresholds.json"
    draws = [folder / f"draws/{number}.npz" for number in range(len(chunks))]
    for path, (particles, states) in zip(draws, chunks, strict=True):
        draw(particles, states, path, beam=beam, max_rows=max_rows)
    find_thresholds(draws, thresholds, max_rows=max_rows)
    for number, (particles, states) in enumerate(chunks):
        build_rows(
            particles,
            states,
            thresholds,
            folder / f"rows/{number}",
            beam=beam,
            field=samples.field,
            threads=threads,
        )
    for step in STEPS:
        parts = [folder / f"rows/{number}/{step}.parquet" for number in range(len(chunks))]
        gather_rows(parts, folder / f"{step}.parquet", step)
    return folder


def _cut(samples, bounds, folder):
    """Cut the samples into chunks, at these numbers of events."""
    cut = SimpleNamespace(**vars(samples) | {"particles": [], "states": []})
    for name, table in (("particles", PARTICLES), ("states", STATES)):
        for path in getattr(samples, name):
            rows = table.open(path).read()
            event = rows["event"].to_numpy()
            for begin, end in pairwise(bounds):
                getattr(cut, name).append(folder / f"{path.stem}-{begin}.parquet")
                with table.writer(getattr(cut, name)[-1]) as writer:
                    writer.write_table(rows.filter((event >= begin) & (event < end)))
    return cut


@pytest.fixture(scope="module")
def folder(samples, tmp_path_factory):
    return _build(samples, tmp_path_factory.mktemp("datasets"))


@pytest.fixture(scope="module")
def datasets(folder):
    return {step: STEP_DATA.open(folder / f"{step}.parquet").read().to_pandas() for step in STEPS}


def _core(values):
    low, high = np.quantile(values, [0.1587, 0.8413])
    return (high - low) / 2


@pytest.mark.parametrize("step", STEPS)
def test_every_dataset_passes_the_checks_for_a_users_own(folder, step):
    left, _ = check_dataset(folder / f"{step}.parquet", step)
    assert (left.findings(), left.rows >= FEWEST_ROWS) == ([], True)


@pytest.mark.parametrize("step", STEPS)
def test_both_polarities_and_charges_are_there(datasets, step):
    data = datasets[step]
    assert set(data.polarity) == {-1, 1}
    assert set(data.charge) == {-1, 1}
    assert set(data.set) == set(range(SETS[step]))


# Scattering of each step, sigma of a slope times p in MeV, as LHCb's own parameters have it.
@pytest.mark.parametrize(
    ("step", "expected"),
    # Between z_in and z_out alone it would be 2.8 MeV; half a UT layer in front makes it 2.93 MeV.
    [("V", 1.22), ("VUT", 5.4), ("UT", 1.2), ("UTTF", 2.93), ("T", 1.38)],
)
def test_truth_scatters_about_the_extrapolation(datasets, step, expected):
    data = datasets[step]
    for slope in ("tx", "ty"):
        scatter = (data[f"{slope}1"] - data[f"{slope}e"]) * data.p_true
        assert abs(_core(scatter) / expected - 1) < 0.15
        assert abs(np.median(scatter)) < 0.2 * expected


def test_the_hop_through_the_magnet_starts_in_the_last_ut_layer(datasets, samples):
    """The half UT layer in front of z_in belongs to the step: 0.53 mm of silicon, by Highland's formula."""
    pieces = [STATES.open(path).read().to_pandas() for path in samples.states]
    columns = ["polarity", "event", "particle"]
    at_z_in = pd.concat(pieces)[lambda s: s.plane == Z_IN].set_index(columns)
    uttf = datasets["UTTF"]
    recorded = at_z_in.loc[pd.MultiIndex.from_frame(uttf[columns])].reset_index(drop=True)
    radiation_lengths = 1.06 / 93.7
    expected = 13.6 * np.sqrt(radiation_lengths / 2) * (1 + 0.038 * np.log(radiation_lengths))
    for slope in ("tx", "ty"):
        t2 = recorded.tx**2 + recorded.ty**2
        # In MeV at normal incidence: the path grows as N, and the slope changes by N·√(1 + t²) per angle.
        per_turn = (1 + t2) ** 0.75 * np.sqrt(1 + recorded[slope] ** 2)
        turn = (recorded[slope] - uttf[f"{slope}0"]) * recorded.p / per_turn
        outside = np.hypot(recorded.x, recorded.y) > 60
        assert _core(turn[outside]) == pytest.approx(expected, rel=0.04)
    assert np.abs(recorded.x - uttf.x0).max() < 1.0


def test_there_is_no_material_between_z_out_and_the_first_layer(datasets):
    data = datasets["TFT"]
    for name in ("x", "y", "tx", "ty"):
        assert np.allclose(data[f"{name}1"], data[f"{name}e"], atol=1e-4)


def test_steps_start_and_end_at_their_planes(datasets, samples):
    planes = samples.geometry.planes()
    uttf = datasets["UTTF"]
    assert np.allclose(uttf.z0, samples.geometry.magnet.z_in)
    assert np.allclose(uttf.z1, samples.geometry.magnet.z_out)
    ut = datasets["UT"]
    for index in range(SETS["UT"]):
        origin, target = (52 + index, 53 + index) if index < 3 else (53 + index - 3, 52 + index - 3)
        rows = ut[ut.set == index]
        assert np.allclose(rows.z0, planes[origin, 0])
        assert np.allclose(rows.z1, planes[target, 0])
    t = datasets["T"]
    for index in (0, 1, 14, 21):
        rows = t[t.set == index]
        for z, y, plane in ((rows.z0, rows.y0, 58 + index // 2), (rows.z1, rows.y1, 59 + index // 2)):
            assert np.allclose(z, planes[plane, 0] + planes[plane, 2] * y, atol=1e-6)
        assert ((rows.y0 < 0) == (index % 2 == 1)).all()


def test_velo_steps_go_both_ways(datasets):
    velo = datasets["V"]
    assert (velo.z1 > velo.z0)[velo.set == 0].all()
    assert (velo.z1 < velo.z0)[velo.set == 1].all()
    assert (velo.set == 0).sum() == (velo.set == 1).sum()


def test_the_beam_step_ends_closest_to_the_beam(datasets, samples):
    beam = datasets["BEAM"]
    last = beam[beam.set == 1]
    at_target = last.tx0 * (last.x0 + last.tx0 * (last.z1 - last.z0)) + last.ty0 * (
        last.y0 + last.ty0 * (last.z1 - last.z0)
    )
    assert np.allclose(at_target, 0, atol=1e-6)
    # The gun shoots from the origin, so the true track is a straight line through it.
    assert np.allclose(last.x1, last.tx1 * last.z1, atol=1e-3)


def test_momentum_at_the_origin_is_less_than_at_production(datasets):
    uttf = datasets["UTTF"]
    loss = 1 / uttf.qop.abs() - uttf.p_true
    assert (loss > 0).all()
    assert 10 < loss.median() < 22


def test_positive_charges_bend_to_positive_x_in_magdown(datasets):
    uttf = datasets["UTTF"]
    assert (np.sign(uttf.tx1 - uttf.tx0) == -np.sign(uttf.qop * uttf.polarity)).mean() > 0.999


def test_a_cap_is_kept_and_thins_every_set_alike(samples, datasets, tmp_path):
    _build(samples, tmp_path, max_rows=4400)
    for step in STEPS:
        data = STEP_DATA.open(tmp_path / f"{step}.parquet").read().to_pandas()
        assert data.groupby("set").size().max() <= 4400 // SETS[step]
        whole = datasets[step]
        expected = np.minimum(whole.groupby("set").size(), 4400 // SETS[step])
        assert np.array_equal(data.groupby("set").size(), expected)


def test_threads_do_not_change_a_byte(samples, folder, tmp_path):
    _build(samples, tmp_path, threads=1)
    assert all(sha256(tmp_path / f"{step}.parquet") == sha256(folder / f"{step}.parquet") for step in STEPS)


@pytest.mark.parametrize("max_rows", [400_000, 4400])
def test_chunks_do_not_change_a_byte(samples, tmp_path, max_rows):
    whole = _build(samples, tmp_path / "whole", max_rows)
    chunks = _build(_cut(samples, (0, 50, 100, 120), tmp_path), tmp_path / "chunks", max_rows)
    for step in STEPS:
        assert sha256(chunks / f"{step}.parquet") == sha256(whole / f"{step}.parquet")


@pytest.mark.parametrize("step", STEPS)
def test_a_row_group_holds_one_set_in_the_order_of_samples_and_tracks(folder, step):
    file = STEP_DATA.open(folder / f"{step}.parquet")
    sets = []
    for number in range(file.num_row_groups):
        rows = file.read_row_group(number).to_pandas()
        sets.append(set(rows.set // TOGETHER.get(step, 1)))
        # Both polarities were simulated, up first.
        assert (rows.polarity.diff().dropna() <= 0).all()
        assert (rows.groupby("polarity").event.diff().dropna() >= 0).all()
    assert sets == [{number} for number in range(SETS[step] // TOGETHER.get(step, 1))]


def test_files_that_do_not_belong_together_are_refused(samples, tmp_path):
    other = tmp_path / "particles.parquet"
    columns = shoot(events=120, per_event=3, seed=1)
    with PARTICLES.writer(other) as writer:
        writer.write_table(pa.table(columns, schema=PARTICLES.schema))
    with pytest.raises(ParkfError, match=r"particle 3 of event 0 .* is missing"):
        draw(other, samples.states[0], tmp_path / "out/draws.npz", beam=samples.geometry.beam, max_rows=1000)
    assert not list(tmp_path.glob("out/*"))
