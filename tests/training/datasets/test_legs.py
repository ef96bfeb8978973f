"""Pairs of states go into the set of their origin, and only particles from the beam go to the beam line."""

import numpy as np
import pyarrow as pa
import pytest

from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, Z_IN, Z_OUT
from parkf.io.tables import PARTICLES, STATES
from parkf.training.datasets.legs import BEAM_LINE_SET, _pairs, read_pieces

PLANES = (*range(30, 36), *UT_PLANES, Z_IN, Z_OUT, *SCIFI_PLANES)
Z = np.array([*range(300, 420, 20), 2327, 2372, 2597, 2642, 2665, 7826])
Z = np.append(Z, [7827, 7896, 7966, 8036, 8508, 8578, 8648, 8718, 9193, 9263, 9333, 9403])
# Slopes and production vertices of straight tracks of 10 GeV. The vertices' x and y are in mm.
TRACKS = {
    "from the beam": (0.1, 0.05, 0.0, 0.0),
    "still from the beam": (-0.1, 0.05, 0.3, -0.3),
    "displaced in x": (0.1, -0.05, 0.7, 0.0),
    "displaced in y": (0.1, -0.05, 0.0, -0.7),
    "through y = 0 in the SciFi": (0.1, 0.05, 0.0, -0.05 * 8560),
}


@pytest.fixture(scope="module")
def piece(geometry, tmp_path_factory):
    folder = tmp_path_factory.mktemp("legs")
    tx, ty, x, y = np.array(list(TRACKS.values())).T
    count, planes = len(tx), len(PLANES)
    pz = 10_000.0 / np.sqrt(1 + tx**2 + ty**2)
    beam = geometry.beam
    particles = dict.fromkeys(PARTICLES.schema.names, np.zeros(count)) | {
        "particle": np.arange(count),
        "pdg_id": np.full(count, 211),
        "charge": np.ones(count),
        "mass": np.full(count, 139.57),
        "x": beam.x + x,
        "y": beam.y + y,
        "px": tx * pz,
        "py": ty * pz,
        "pz": pz,
        "z_end": np.full(count, np.inf),
    }
    states = {
        "event": np.zeros(count * planes),
        "particle": np.repeat(np.arange(count), planes),
        "plane": np.tile(PLANES, count),
        "active": np.tile([plane not in (Z_IN, Z_OUT) for plane in PLANES], count),
        "z": np.tile(Z, count),
        "x": (beam.x + x[:, None] + tx[:, None] * Z).ravel(),
        "y": (beam.y + y[:, None] + ty[:, None] * Z).ravel(),
        "tx": np.repeat(tx, planes),
        "ty": np.repeat(ty, planes),
        "p": np.full(count * planes, 10_000.0),
        "polarity": np.ones(count * planes),
    }
    paths = []
    for table, columns in ((PARTICLES, particles), (STATES, states)):
        paths.append(folder / f"{table.name}.parquet")
        arrays = [pa.array(columns[name]).cast(kind) for name, kind in table.columns]
        with table.writer(paths[-1]) as writer:
            writer.write_table(pa.Table.from_arrays(arrays, schema=table.schema))
    (piece,) = read_pieces(*paths, beam)
    return piece


def test_a_hop_belongs_to_the_side_that_it_begins_on(piece):
    """The set of a hop in the SciFi is twice its gap, and one more if the track begins at negative y."""
    origin, target, sets = piece.legs["T"]
    np.testing.assert_array_equal(piece.states["plane"][origin] - SCIFI_PLANES[0], sets // 2)
    np.testing.assert_array_equal(piece.states["plane"][target], piece.states["plane"][origin] + 1)
    begins, ends = piece.states["y"][origin] < 0, piece.states["y"][target] < 0
    # One track passes y = 0 within a gap. Only this hop tells the two sides apart.
    assert (begins != ends).sum() == 1
    np.testing.assert_array_equal(sets % 2 == 1, begins)


def test_only_particles_from_the_beam_go_to_the_beam_line(piece):
    """Half a millimetre is the limit. A displaced particle does not begin on the beam line."""
    origin, target, sets = piece.legs["BEAM"]
    last = sets == BEAM_LINE_SET
    assert piece.states["particle"][origin[last]].tolist() == [0, 1]
    # These rows begin at the track's first VELO hit. Their target is no plane.
    np.testing.assert_array_equal(origin[last], target[last])
    assert set(piece.states["plane"][origin[last]]) == {30}
    # All tracks make backward hops in the VELO.
    assert set(piece.states["particle"][origin[~last]]) == set(range(len(TRACKS)))


def test_hops_in_front_of_the_scifi_join_neighbouring_planes(piece):
    plane = piece.states["plane"]
    pairs = {step: {tuple(pair) for pair in plane[piece.legs[step][:2]].T.tolist()} for step in piece.legs}
    assert pairs["VUT"] == {(35, UT_PLANES[0])}
    forward = {(52, 53): 0, (53, 54): 1, (54, 55): 2}
    expected = forward | {(after, before): 3 + gap for (before, after), gap in forward.items()}
    origin, target, sets = piece.legs["UT"]
    found = set(zip(plane[origin].tolist(), plane[target].tolist(), sets.tolist(), strict=True))
    assert found == {(*pair, number) for pair, number in expected.items()}
    assert pairs["UTTF"] == {(Z_IN, Z_OUT)}
    assert pairs["TFT"] == {(Z_OUT, SCIFI_PLANES[0])}
    origin, target, sets = piece.legs["V"]
    np.testing.assert_array_equal(plane[target] - plane[origin], np.where(sets == 0, 1, -1))


def test_states_that_are_left_out_belong_to_no_hop(piece):
    """Those of the last track are there twice, and the second time they are of no track."""
    count = len(PLANES)
    again = {name: np.concatenate([values, values[-count:]]) for name, values in piece.states.items()}
    track, from_beam = np.repeat(np.arange(len(TRACKS)), count), np.ones(len(TRACKS), bool)
    left_out = np.concatenate([track, np.full(count, -1)])
    found, expected = _pairs(again, left_out, from_beam), _pairs(piece.states, track, from_beam)
    for step, legs in expected.items():
        np.testing.assert_array_equal(found[step], legs, err_msg=step)
