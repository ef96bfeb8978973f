"""Tracks of the closure are spread over the table, measured, and the same on any number of cores."""

import numpy as np
from closure_toys import SEED, STARTED

from parkf.proof.validation.core import fit_core
from parkf.training.closure.sample import read_sample, simulate_sample


def test_tracks_cover_the_table_and_their_full_fit_is_sound(samples):
    parts = list(read_sample(samples))
    state, full, true = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("state", "full_qop", "true_qop")
    )
    assert 0.4 * 2 * STARTED < len(true) < 0.8 * 2 * STARTED
    for column, edge in ((0, 0.25), (1, 0.2)):
        place = state[:, column] / 2665.0
        assert place.min() < -edge
        assert place.max() > edge
    hard = np.abs(true) < 1 / 5000
    core = fit_core((full / true - 1)[hard])
    assert abs(core.mean) < 5 * core.mean_error + 5e-4
    assert 0.003 < core.width < 0.006
    # Tracks lose some MeV in the twelve layers of fibres, so the loss is largest at the last layer.
    loss = np.nanmedian(np.concatenate([part.loss for part in parts]), axis=0)
    assert (np.diff(loss) > 0).all()
    assert 5 < loss[-1] - loss[0] < 30


def test_the_sample_does_not_depend_on_cores(geometry, field, tmp_path):
    paths = [tmp_path / f"{threads}.parquet" for threads in (1, 2)]
    for threads, path in enumerate(paths, start=1):
        detector = {"geometry": geometry, "field": field, "polarity": -1}
        simulate_sample(path, tracks=300, seed=SEED, **detector, threads=threads)
    assert paths[0].read_bytes() == paths[1].read_bytes()
