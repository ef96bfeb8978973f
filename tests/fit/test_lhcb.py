"""The full fit of LHCb's own simulation, with embedded field and material; the data are not embedded."""

from pathlib import Path

import pytest

from parkf.detector.field import DipoleSources, evaluate_on_grid
from parkf.detector.geometry import load_geometry
from parkf.fit import fit_file_full
from parkf.fit.sample import load_sample
from parkf.fit.truth import Files
from parkf.imports.hits.take import take_tables
from parkf.proof.validation.measure import measure
from parkf.simulation.pattern import find_candidates

ROOT = Path(__file__).parents[2]
LHCB = ROOT / "../shared/data/lhcb_fullsim"


@pytest.mark.skipif(not LHCB.is_dir(), reason=f"LHCb's full simulation is not at {LHCB}")
def test_momenta_of_lhcbs_simulation_come_out_right(tmp_path):
    names = ("hits", "particles", "candidates", "fitted")
    hits, particles, candidates, fitted = (tmp_path / f"{name}.parquet" for name in names)
    geometry = load_geometry(ROOT / "data/geometry/run3_fullsim.yaml")
    field = evaluate_on_grid(DipoleSources.load(ROOT / "data/field/dipole.json"))
    take_tables(LHCB / "hits.parquet", LHCB / "tracks.parquet", hits_to=hits, particles_to=particles)
    find_candidates(hits, candidates, geometry=geometry, field=field, polarity=-1, workers=2, matched=True)
    fit_file_full(candidates, fitted, geometry=geometry, field=field, threads=2)
    figures = measure(load_sample([Files([particles], [candidates], [fitted])]))
    # Of 612 tracks with enough hits of their own, one belongs to a kaon that decays in the SciFi.
    assert figures["counts"] == {"tracks": 611, "failed": 0}
    (middle,) = (entry for entry in figures["momentum"] if entry["p_min"] == 5.0)
    # The bending power of the field is known to 3e-4, and the energy loss to a tenth.
    assert middle["half_width"] < 0.0065
    assert abs(middle["bias"]) < 0.0015
    assert 0.85 < middle["pull_width"] < 1.25
    assert 0.8 < figures["chi2"]["all"]["median"] < 1.3
    # The UT's χ² tests whether particles scatter between VELO and UT where the geometry has material.
    assert 0.8 < figures["chi2"]["ut"]["median"] < 1.15
