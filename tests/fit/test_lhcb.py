"""The full fit of LHCb's own simulation, with embedded field and material; the data are not embedded."""

from pathlib import Path

import numpy as np
import pytest

from parkf.data.align import align
from parkf.data.field.inspection import biases
from parkf.data.field.measure import measure as measure_field
from parkf.data.field.nuisances import changed_field
from parkf.data.field.tracks import read_true_tracks
from parkf.data.monitor import reference_of
from parkf.detector.field import DipoleSources, evaluate_on_grid
from parkf.detector.geometry import load_geometry
from parkf.fit import fit_file_full
from parkf.fit.sample import load_sample
from parkf.fit.truth import Files
from parkf.imports.hits.take import take_tables
from parkf.io.errors import ParkfError
from parkf.params.parameter_set import load
from parkf.proof.validation.likeness import measure_tracks
from parkf.simulation.pattern import find_candidates

ROOT = Path(__file__).parents[2]
LHCB = ROOT / "../shared/data/lhcb_fullsim"
FIELDS = ("field_before", "field_middle", "field_behind")


pytestmark = pytest.mark.skipif(not LHCB.is_dir(), reason=f"LHCb's full simulation is not at {LHCB}")


@pytest.fixture(scope="module")
def lhcb(tmp_path_factory):
    """Geometry and field, and the files of particles and of their candidates."""
    folder = tmp_path_factory.mktemp("lhcb")
    hits, particles, candidates = (folder / f"{name}.parquet" for name in ("hits", "particles", "candidates"))
    geometry = load_geometry(ROOT / "data/geometry/run3_fullsim.yaml")
    field = evaluate_on_grid(DipoleSources.load(ROOT / "data/field/dipole.json"))
    take_tables(LHCB / "hits.parquet", LHCB / "tracks.parquet", hits_to=hits, particles_to=particles)
    find_candidates(hits, candidates, geometry=geometry, field=field, polarity=-1, workers=2, matched=True)
    return geometry, field, particles, candidates


def test_momenta_of_lhcbs_simulation_come_out_right(lhcb, tmp_path):
    geometry, field, particles, candidates = lhcb
    fitted = tmp_path / "fitted.parquet"
    fit_file_full(candidates, fitted, geometry=geometry, field=field, threads=2)
    figures = measure_tracks(load_sample([Files(particles, candidates, fitted)]))
    # Of 612 tracks with enough hits of their own, one belongs to a kaon that decays in the SciFi.
    assert figures["counts"] == {"tracks": 611, "failed": 0}
    (middle,) = (entry for entry in figures["momentum"] if entry["p_min"] == 5.0)
    # The bending power of the field is known to 3e-4, and the energy loss to a tenth.
    assert middle["width68"] < 0.0065
    assert abs(middle["bias"]) < 0.0015
    assert 0.85 < middle["pulls"]["qop"]["width"] < 1.25
    assert 0.8 < figures["chi2"]["all"]["median"] < 1.3
    # The UT's χ² tests whether particles scatter between VELO and UT where the geometry has material.
    assert 0.8 < figures["chi2"]["ut"]["median"] < 1.15


def test_a_field_measured_on_one_half_corrects_the_other(lhcb):
    """The energy loss stays what it is, and no charge is left with a bias."""
    geometry, field, particles, candidates = lhcb
    tracks = read_true_tracks(candidates, particles)
    halves = [tracks.select(tracks.event % 2 == parity) for parity in (0, 1)]
    found = measure_field(halves[0], geometry, field, names=FIELDS)
    stronger = changed_field(field, found.nuisances.by_name)
    scale = np.sum(found.error**-2) ** -0.5
    figures = biases(measure_field(halves[1], geometry, stronger, names=FIELDS))
    for name in ("bias of p", "bias of p of positive charge", "bias of p of negative charge"):
        bias, error, _ = figures[f"{name}, before"]
        assert abs(bias) < 3 * np.hypot(error, scale) < 0.0025, name
    loss = measure_field(tracks, geometry, field).nuisances
    assert abs(loss.by_name["loss"]) < 3 * loss.error[list(loss.names).index("loss")]


def test_lhcbs_tracks_move_nothing_and_are_too_few_for_a_monitor(lhcb):
    """None of the shifts along x is beyond two errors; errors of layers are below 50 µm."""
    geometry, _, _, candidates = lhcb
    parameters = load(ROOT / "params/2026-run3-like-2-r012")
    solution = align(parameters, [candidates], geometry, freedoms=["x"], survey={"x": 0.1})
    pull = np.abs(solution.value / solution.error)
    layers, errors = np.abs(solution.value[52:]), solution.error[52:]
    assert (solution.tracks, len(pull)) == (678, 68)
    assert pull.max() < 1.95
    assert layers.max() < 0.0065
    assert 0.025 < errors.min() <= errors.max() < 0.045
    with pytest.raises(ParkfError, match="candidates, expected at least 2000"):
        reference_of(ROOT / "params/2026-run3-like-2-r012", parameters, [candidates])
