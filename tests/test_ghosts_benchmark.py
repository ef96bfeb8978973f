"""The benchmark on ghosts: classes, cuts and random draws for samples with known answers."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from benchmarks import ghosts

from parkf.io.tables import HITS
from parkf.params.ghost_score import NAMES

LAYERS = 10


def sample(count, seed, *, lost=0.3):
    """Genuine tracks and ghosts in crossings of 20; a fraction `lost` of the ghosts looks genuine.

    All discriminants have the same value.
    """
    random = np.random.default_rng(seed)
    genuine = random.random(count) < 0.8
    looks = genuine | (random.random(count) < lost)
    value = random.random(count) + looks
    rows = pd.DataFrame({"event": np.arange(count) // 20, "genuine": genuine})
    rows["kind"] = np.where(random.random(count) < 0.25, "electron", "hadron")
    return ghosts.Seen(
        rows.assign(**dict.fromkeys(("chi2", *NAMES), value)), np.empty((count, 0), np.float32)
    )


def test_ghosts_are_classified_by_who_left_their_scifi_hits(tmp_path):
    particles = pd.DataFrame({"event": 0, "particle": [0, 1, 2, 3, 4], "pdg_id": [-13, 11, 211, -11, 2212]})
    # Candidate i has the hits of particle i, except that two are its neighbour's.
    x = np.arange(5)[:, None] * 100.0 + np.arange(LAYERS)
    owner = np.repeat(np.arange(5), LAYERS)
    hits = {name: np.zeros(len(owner)) for name in HITS.schema.names}
    hits |= {
        "plane": 58 + np.tile(np.arange(LAYERS), 5),
        "particle": owner,
        "x": x.ravel(),
        "z": 8000.0 + 0 * x.ravel(),
    }
    order = np.lexsort((hits["x"], hits["plane"]))
    with HITS.writer(tmp_path / "hits.parquet") as writer:
        arrays = [pa.array(hits[name][order]).cast(kind) for name, kind in HITS.columns]
        writer.write_table(pa.Table.from_arrays(arrays, schema=HITS.schema))
    taken = x.copy()
    taken[:, :2] = np.roll(x, 1, axis=0)[:, :2]
    taken[:, -1] = np.nan
    found = pd.DataFrame({"event": np.zeros(5, int)})
    found["scifi_x"] = list(taken.astype(np.float32))
    found["scifi_z"] = list(np.where(np.isfinite(taken), 8000.0, np.nan).astype(np.float32))
    kinds = ghosts._kinds(found, tmp_path / "hits.parquet", particles)
    assert kinds.tolist() == ["hadron", "electron", "hadron", "electron", "hadron"]


def test_shares_and_their_scatter():
    embedded, few = sample(8000, 1), sample(400, 2)
    # Genuine tracks lie in a unit interval and the cut in its lowest tenth. The cut keeps all but 9 % of the
    # ghosts that look genuine.
    told = ghosts.shares(embedded)
    of = told["score"]
    assert of["all"]["kept"] == pytest.approx(100 * 0.3 * 0.91, abs=4 * of["all"]["error"])
    assert of["electron"]["n"] + of["hadron"]["n"] == of["all"]["n"] == told["ghosts"]
    assert ghosts.same_cut(embedded, embedded)["chi2"]["genuine"] == pytest.approx(91.0, abs=0.1)
    drawn = ghosts.as_many(embedded, few, 20)["score"]
    # 80 ghosts in 20 crossings; the fluctuation of the cut adds little.
    assert drawn["spread"] == pytest.approx(100 * np.sqrt(0.273 * 0.727 / 80), rel=0.15)
    assert drawn["mean"] == pytest.approx(of["all"]["kept"], abs=1.0)
    assert ghosts.as_many(embedded, sample(400, 3, lost=0.9), 20)["score"]["as_large"] == 0.0
