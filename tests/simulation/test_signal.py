"""Signal decays."""

import numpy as np
import pandas as pd
import pytest

from parkf.io.errors import ParkfError
from parkf.io.files import sha256
from parkf.io.tables import PARTICLES
from parkf.simulation.generate.decays import DECAYS
from parkf.simulation.generate.signal import COLLISIONS_PER_CHUNK, COLLISIONS_PER_FORK, generate_signal


@pytest.mark.parametrize(
    ("signal", "kinds"), [("jpsi", {13}), ("d0", {211, 321}), ("jpsi-ee", {11}), ("gamma-ee", {11})]
)
def test_pairs_have_the_mass_of_their_mother(tmp_path, geometry, signal, kinds):
    path = tmp_path / "particles.parquet"
    pairs = generate_signal(path, signal=signal, beam=geometry.beam, number=600, seed=3, workers=2)
    rows = PARTICLES.open(path).read().to_pandas()
    assert len(rows) == 2 * pairs
    # Numbers have no gaps in a chunk, so they do not depend on other chunks.
    for first in (0, COLLISIONS_PER_CHUNK):
        events = rows.event[(rows.event >= first) & (rows.event < first + COLLISIONS_PER_CHUNK)]
        assert np.array_equal(events, first + np.arange(len(events)) // 2)
    assert pairs > 10
    assert set(rows.pdg_id.abs()) == kinds
    rows["energy"] = np.sqrt(rows.px**2 + rows.py**2 + rows.pz**2 + rows.mass**2)
    total = rows.groupby("event")[["energy", "px", "py", "pz", "charge"]].sum()
    assert (total.charge == 0).all()
    # Rounding may make the square of a photon's mass negative.
    mass = np.sqrt(np.maximum(total.energy**2 - total.px**2 - total.py**2 - total.pz**2, 0))
    # Photons may be radiated. Electrons of a photon are parallel, and their masses are the pair's.
    assert np.median(mass) == pytest.approx(DECAYS[signal].mass, abs=3.0 if signal == "gamma-ee" else 0.2)
    assert rows.groupby("event")[["x", "y", "z"]].nunique().max().max() == 1


def test_a_range_of_collisions_is_the_same_part_of_the_sample(tmp_path, geometry):
    common = {"signal": "d0", "beam": geometry.beam, "seed": 3, "workers": 2}
    generate_signal(tmp_path / "whole.parquet", number=COLLISIONS_PER_FORK + 200, **common)
    generate_signal(tmp_path / "part.parquet", first=COLLISIONS_PER_FORK, number=200, **common)
    whole = pd.read_parquet(tmp_path / "whole.parquet")
    expected = whole[whole.event >= COLLISIONS_PER_FORK].reset_index(drop=True)
    assert pd.read_parquet(tmp_path / "part.parquet").equals(expected)
    with pytest.raises(ParkfError, match="first: got 500, expected a multiple of 2000"):
        generate_signal(tmp_path / "other.parquet", first=500, number=500, **common)


def test_same_seed_same_bytes_on_one_core_or_two(tmp_path, geometry):
    paths = [tmp_path / f"{workers}.parquet" for workers in (1, 2)]
    common = {"signal": "d0", "beam": geometry.beam, "number": COLLISIONS_PER_FORK + 600, "seed": 3}
    for workers, path in enumerate(paths, start=1):
        generate_signal(path, workers=workers, **common)
    assert sha256(paths[0]) == sha256(paths[1])
