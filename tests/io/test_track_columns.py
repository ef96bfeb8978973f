"""Tables of many tracks on disk."""

import numpy as np
import pytest

import parkf.io.track_columns as module
from parkf.io.track_columns import Tracks
from parkf.io.workers import parallel_map


@pytest.mark.parametrize("at_once", [1, 5, 1000])
def test_rows_come_back_as_they_were_added(monkeypatch, at_once) -> None:
    monkeypatch.setattr(module, "_ROWS_AT_ONCE", at_once)
    tracks, x = Tracks(), np.arange(20.0)
    for begin in range(0, 20, 4):
        tracks.append({"x": x[begin : begin + 4], "n": np.arange(begin, begin + 4, dtype=np.int32)})
        # Reading, and choosing rows, between two additions is allowed.
        np.testing.assert_array_equal(tracks["x"], x[: begin + 4])
    chosen = tracks[x % 2 == 1]
    assert (len(tracks), len(chosen), "x" in chosen, "y" in chosen) == (20, 10, True, False)
    np.testing.assert_array_equal(chosen["x"], x[1::2])
    np.testing.assert_array_equal(chosen[chosen["x"] > 9]["n"], np.arange(11, 20, 2))
    assert chosen["n"].dtype == np.int32


def test_several_processes_read_the_same_columns():
    """A few rows wait in memory until they are written; else each process would append them to the files."""
    tracks = Tracks()
    tracks.append({"x": np.arange(5.0)})
    tracks.write()
    found = parallel_map(lambda _: tracks["x"].tolist(), range(3), 3)
    assert list(found) == [[0.0, 1.0, 2.0, 3.0, 4.0]] * 3
    assert tracks["x"].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
