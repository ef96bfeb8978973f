"""The closure of a published set removes its bias by direction, and a further pass changes little."""

import numpy as np
import pytest
from closure_toys import SEED

from parkf.fit import fit, is_good
from parkf.io.errors import ParkfError
from parkf.model.steps import FORMS
from parkf.params.parameter_set import with_blobs
from parkf.training.closure.bias import Widths
from parkf.training.closure.close import close_table
from parkf.training.closure.sample import read_sample
from parkf.training.closure.targets import measure_response
from parkf.training.magnet_table.form import polynomials
from parkf.training.magnet_table.train import CHANGE


@pytest.fixture(scope="module")
def closed(trained, samples, geometry, field):
    detector = {"geometry": geometry, "field": field}
    return close_table(trained, samples, **detector, rays=40_000, passes=2, seed=SEED, threads=2)


def biases(parameters, samples, scheme="smoother"):
    """Slopes, p (MeV) and the q/p of fits over that of full fits, less their own bias, of all tracks."""
    parts = []
    for tracks in read_sample(samples):
        found = fit(parameters, tracks.candidates, scheme=scheme, precision="float64", threads=2)
        full = np.where(is_good(found.status), tracks.full_qop, np.nan)
        parts.append(
            (tracks.slopes, 1 / np.abs(tracks.true_qop), found.qop / full - 1, full / tracks.true_qop)
        )
    slopes, p, difference, full = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    own = Widths()
    own.add(p, np.nan_to_num(full, nan=1.0) - 1)
    return slopes, p, difference + own.core(p)[0]


def core(slopes, p, difference, p_min, *, vertical=False):
    """Median of tracks from this momentum (GeV) on, and its error; those that go up, if `vertical`."""
    eta, phi = np.arcsinh(1 / np.hypot(*slopes.T)), np.arctan2(slopes[:, 1], slopes[:, 0])
    seen = (p > 1000 * p_min) & np.isfinite(difference) & (eta > 2) & (eta < 5)
    if vertical:
        seen &= (eta < 3) & (phi > np.pi / 4) & (phi < 3 * np.pi / 4)
    low, middle, high = np.quantile(difference[seen], (0.16, 0.5, 0.84))
    return middle, 1.25 * (high - low) / 2 / np.sqrt(seen.sum())


def closed_set(trained, closed):
    constants = trained.manifest.constants.model_copy(update={"velo_loss": closed[0].velo_loss})
    manifest = trained.manifest.model_copy(update={"constants": constants})
    return with_blobs(manifest, trained.constant, closed[0].coefficients)


def test_the_bias_by_direction_goes(closed, trained, samples):
    # Around φ = 90°, the magnet bends along the fibres' slopes, and production's gaps bend too little.
    before, _ = core(*biases(trained, samples), 10, vertical=True)
    after, error = core(*biases(closed_set(trained, closed), samples), 10, vertical=True)
    assert before > 2.5e-3
    assert abs(after) < 2e-4 + 3 * error


def test_the_bias_of_the_triggers_own_fit_goes(trained, samples, geometry, field):
    detector = {"geometry": geometry, "field": field}
    closed = close_table(
        trained, samples, **detector, scheme="trigger", rays=40_000, passes=2, seed=SEED, threads=2
    )
    before, _ = core(*biases(trained, samples, "trigger"), 5)
    after, error = core(*biases(closed_set(trained, closed), samples, "trigger"), 5)
    assert abs(after) < 2e-4 + 3 * error
    assert abs(after) < 0.5 * abs(before)


def test_only_tx_of_the_table_changes(closed, trained):
    """Its terms with u_x and u_y change up to the degrees of the change."""
    pieces = polynomials(FORMS["production"].table, "tx").values()
    own = {n for piece, degree in zip(pieces, CHANGE, strict=True) for n in range(80)[piece][:degree]}
    changed = (closed[0].coefficients != trained.table).any(axis=(0, 1))
    assert set(np.flatnonzero(changed)) == own
    assert closed[0].closed_with == trained.manifest.blobs.constant.sha256


def test_accuracy_is_against_the_new_targets(closed):
    figures = {(row["p_min"], row["component"]): row for row in closed[1]["fiducial"]}
    # The closure moved tx by half a per cent of the bend, 6 MeV over p. The table follows that to a fifth.
    assert figures[20.0, "tx"]["q68"] < 1.5 / 20e3
    assert "Runge-Kutta" in closed[1]["targets"]


def test_nothing_depends_on_cores(trained, samples, monkeypatch):
    monkeypatch.setattr("parkf.training.closure.sample.ROWS", 3000)
    tracks = next(read_sample(samples))
    bend = np.full(len(tracks), -1200.0)
    one, two = (measure_response(trained, tracks, bend, threads=threads) for threads in (1, 2))
    np.testing.assert_array_equal(one.share, two.share)
    np.testing.assert_array_equal(one.gain, two.gain)
    # The fit answers to the bend as one for one. There is one derivative for each of the twelve layers.
    assert ((one.gain > 0.4) & (one.gain < 1.1)).all()
    assert one.share.shape[1] == 12


def test_too_few_tracks_are_refused(trained, samples, geometry, field, tmp_path):
    import pyarrow.parquet as pq

    few = tmp_path / "few.parquet"
    table = pq.read_table(samples[0])
    pq.write_table(table.slice(0, 100), few)
    with pytest.raises(
        ParkfError, match=r"closure: \d+ tracks .* expected 2000; raise training.closure.tracks"
    ):
        close_table(trained, [few], geometry=geometry, field=field, rays=1000, passes=1, seed=SEED, threads=1)
