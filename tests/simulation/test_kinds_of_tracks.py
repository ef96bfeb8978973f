"""Candidates of other kinds than long tracks: whose hits they have, and their first momenta."""

import numpy as np
import pyarrow as pa
import pytest

from parkf.io.kinds import KINDS
from parkf.io.tables import CANDIDATES, PARTICLES, STATES
from parkf.simulation.pattern import find_candidates
from parkf.simulation.response.simulate import simulate

from ..gun import shoot

# mm; where the pions of each kind are born, and their least momentum, MeV.
BORN = {"downstream": 1500.0, "scifi": 3500.0}
EVENTS, EACH = 12, 25


def born_at(z, columns):
    """The same pions, born on their lines at z (mm)."""
    slopes = {axis: columns[f"p{axis}"] / columns["pz"] for axis in "xy"}
    return (
        columns | {axis: slope * z for axis, slope in slopes.items()} | {"z": np.full(len(columns["z"]), z)}
    )


def simulated(folder, geometry, field, z):
    paths = {name: folder / f"{name}.parquet" for name in ("particles", "hits", "crossings")}
    columns = shoot(events=EVENTS, per_event=EACH, seed=8, p_range=(4000.0, 30_000.0))
    columns = born_at(z, columns) if z else columns
    with PARTICLES.writer(paths["particles"]) as writer:
        writer.write_table(pa.table(columns, schema=PARTICLES.schema))
    detector = {"geometry": geometry, "field": field, "polarity": -1}
    simulate(paths["particles"], None, paths["hits"], None, paths["crossings"], **detector, seed=8, threads=2)
    return paths, columns, detector


@pytest.mark.parametrize("kind", BORN)
def test_tracks_born_behind_a_detector_have_no_hits_there(tmp_path, geometry, field, kind):
    paths, columns, detector = simulated(tmp_path, geometry, field, BORN[kind])
    find_candidates(paths["hits"], tmp_path / "found.parquet", **detector, matched=True, kind=KINDS[kind])
    rows = CANDIDATES.open(tmp_path / "found.parquet").read().to_pandas()
    assert len(rows) > EVENTS * EACH / 3
    assert (rows.purity == 1).all()
    assert (rows.velo_n == 0).all()
    in_ut = np.isfinite(np.stack(rows.ut_x)).sum(1)
    assert (in_ut >= 3).all() if kind == "downstream" else (in_ut == 0).all()
    # The first q/p has the charge's sign, and is right to its size.
    row = EACH * rows.event + rows.particle
    p = np.sqrt(columns["px"] ** 2 + columns["py"] ** 2 + columns["pz"] ** 2)
    ratio = rows.qop * (p / columns["charge"])[row]
    assert np.median(ratio) == pytest.approx(1, abs={"downstream": 0.05, "scifi": 0.15}[kind])
    assert np.quantile(np.abs(ratio / np.median(ratio) - 1), 0.68) < {"downstream": 0.05, "scifi": 0.5}[kind]
    # Long tracks, and those of the other kinds, are not among them.
    for other in KINDS.values():
        if other.name != kind:
            find_candidates(paths["hits"], tmp_path / "other.parquet", **detector, matched=True, kind=other)
            assert CANDIDATES.open(tmp_path / "other.parquet").metadata.num_rows < len(rows) / 10


def test_true_states_in_first_layers(tmp_path, geometry, field):
    """Every particle that reaches them crosses the UT at its first layer, and has lost momentum by then."""
    paths, columns, _ = simulated(tmp_path, geometry, field, 0.0)
    states = STATES.open(paths["crossings"]).read().to_pandas()
    assert set(states.plane) == {52, 58}
    first = states[states.plane == 52]
    assert np.abs(first.z - 2327.5).max() < 1e-6
    p = np.sqrt(columns["px"] ** 2 + columns["py"] ** 2 + columns["pz"] ** 2)
    lost = p[EACH * first.event + first.particle] - first.p
    assert (lost > 0).all()
    # 14 MeV at the median: a tenth of a radiation length, mostly light material (Bethe).
    assert 8 < np.median(lost) < 20
