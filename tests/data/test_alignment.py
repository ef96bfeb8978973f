"""Alignment: derivatives by moving planes in space, and shifts that are put back."""

import dataclasses

import numpy as np
import pytest
from kalman_toy import generate

from parkf.data.align import Displacements, align, displaced
from parkf.data.elements import FREEDOMS, Elements, derivatives
from parkf.detector.alignment import Alignment, Displacement, Motion
from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, VELO_PLANES, load_geometry
from parkf.fit.residuals import COORDINATES, SLOT_OF, fit_residuals
from parkf.imports.geometry.conditions import export_alignment, import_alignment, read_conditions
from parkf.io.errors import ParkfError
from parkf.io.project import PROJECT
from parkf.io.tables import CANDIDATES, VELO_SLOTS

from ..rows import candidates as rows

UT = np.array([0.03, -0.02, 0.05, 0.0])
SCIFI = np.array([0.05, -0.03, 0.02, 0, 0.04, 0, 0, -0.06, 0.03, 0, 0, 0])


@pytest.fixture(scope="module")
def geometry():
    return load_geometry(PROJECT / "data/geometry/run3.yaml")


def moved(toy):
    """Candidates of a detector whose UT and SciFi layers are displaced along x."""
    tracks = toy.candidates("float64")
    ut, scifi = ((x - shift, *rest) for (x, *rest), shift in ((tracks.ut, UT), (tracks.scifi, SCIFI)))
    return dataclasses.replace(tracks, ut=ut, scifi=scifi)


def local(frame, motion, state, z):
    """Where the straight track (x, y, tx, ty) at z meets a moved element, in its coordinates: x and y."""
    x, y, tx, ty = state
    direction = np.array([tx, ty, 1.0])
    point = np.array([x, y, z])
    # Undo the motion of the element, and meet the plane where it is assumed.
    back = motion.inverse
    start, along = back(point), back.rotation @ direction
    normal = np.cross(frame.axis_u, frame.axis_v)
    way = normal @ (frame.origin - start) / (normal @ along)
    return (start + way * along)[:2]


def test_derivatives_are_those_of_finite_displacements(geometry):
    """A track meets the displaced element elsewhere; 1e-5 of the derivative."""
    toy = generate(40, 9000.0, seed=2, efficiency=0.95)
    tracks, elements = toy.candidates("float64"), Elements.of(geometry)
    fitted, residuals = fit_residuals(toy.parameters, tracks)
    element, slopes = derivatives(tracks, fitted, residuals, elements)
    frames = [geometry.frames[plane] for plane in (*VELO_PLANES, *UT_PLANES, *SCIFI_PLANES)]
    checked = 0
    for number in range(40):
        for c in np.flatnonzero(residuals.has[:, number]):
            frame, state = frames[element[c, number]], residuals.state[SLOT_OF[c], :, number]
            height = frame.plane @ np.array([1.0, state[0], state[1]])
            for i, freedom in enumerate(FREEDOMS):
                step = 1e-3 if freedom in "xyz" else 1e-6
                up, down = (
                    local(
                        frame,
                        Motion.of(Displacement(**{freedom: way * step}), elements.centre[element[c, number]]),
                        state,
                        height,
                    )
                    for way in (1, -1)
                )
                x, y = (up - down) / (2 * step)
                slope = residuals.dxdy[c - 2 * VELO_SLOTS, number] if c >= 2 * VELO_SLOTS else 0.0
                expected = y if VELO_SLOTS <= c < 2 * VELO_SLOTS else x - slope * y
                size = 1.0 if freedom in "xyz" else 1000.0
                assert slopes[c, i, number] == pytest.approx(expected, rel=1e-5, abs=1e-5 * size)
                checked += 1
    assert checked > 5000


def test_elements_of_hits(geometry):
    """VELO hits belong to the module of their z, strips to their layers."""
    toy = generate(60, 9000.0, seed=2)
    tracks, elements = toy.candidates("float64"), Elements.of(geometry)
    _, residuals = fit_residuals(toy.parameters, tracks)
    element = elements.of_hits(tracks, residuals)
    z = elements.centre[element[:VELO_SLOTS], 2]
    has = residuals.has[:VELO_SLOTS]
    planes = np.sort(elements.centre[:52, 2])
    assert np.abs(z - tracks.velo[2].T)[has].max() <= np.diff(planes).max() / 2 + 1e-9
    np.testing.assert_array_equal(element[2 * VELO_SLOTS :, 0], np.arange(52, 68))
    assert element.shape == (COORDINATES, 60)


def equations_of(toys, elements, freedoms):
    equations = Displacements(elements, freedoms)
    for toy in toys:
        tracks = moved(toy)
        fitted, residuals = fit_residuals(toy.parameters, tracks, covariances=True)
        use = (fitted.status == 0) & (fitted.chi2 < 3 * fitted.ndof)
        equations.add_tracks(tracks, fitted, residuals, use)
    return equations


def test_displaced_layers_are_found(geometry, tmp_path):
    """Sizes within errors; the alignment file and LHCb's conditions have them."""
    toys = [generate(500, p, seed=3 + i, efficiency=0.97) for i, p in enumerate((5000.0, 15000.0, 40000.0))]
    elements = Elements.of(geometry)
    solution = equations_of(toys, elements, ["x"]).displacements({"x": 0.1})
    off = solution.value[52:] - np.concatenate([UT, SCIFI])
    assert np.abs(off / solution.error[52:]).max() < 4
    # Differences between neighbours do not depend on weak modes, and are known to some µm.
    covariance = solution.covariance[52:, 52:]
    for a, b in ((0, 1), (2, 3), (4, 7), (8, 11), (12, 15)):
        error = np.sqrt(covariance[a, a] + covariance[b, b] - 2 * covariance[a, b])
        assert error < 0.006
        assert abs(off[a] - off[b]) < 4 * error
    before = Alignment(
        tag="a", velo_halves={}, velo_modules={}, ut_layers={1: Displacement(x=0.2)}, scifi_layers={}
    )
    after = displaced(before, solution, "b")
    assert after.ut_layers[1].x == pytest.approx(0.2 + solution.value[53])
    assert after.scifi_layers[7].x == pytest.approx(solution.value[63])
    export_alignment(after, tmp_path / "lhcb.yml")
    again, _ = import_alignment(read_conditions(tmp_path / "lhcb.yml"), geometry, tag="b")
    assert again["scifi_layers"][7]["x"] == pytest.approx(solution.value[63], abs=1e-9)


def test_errors_are_the_scatter_of_tracks(geometry):
    """Hits that are twice as wrong as they say: layers differ between samples as their errors say."""
    elements, solutions = Elements.of(geometry), []
    for seed in range(8):
        toy = generate(500, 15000.0, seed=100 + seed)
        tracks = toy.candidates("float64")
        *measured, sigma = tracks.scifi
        tracks = dataclasses.replace(tracks, scifi=(*measured, 0.5 * sigma))
        equations = Displacements(elements, ["x"])
        fitted, residuals = fit_residuals(toy.parameters, tracks, covariances=True)
        equations.add_tracks(tracks, fitted, residuals, np.ones(tracks.count, bool))
        solutions.append(equations.displacements({"x": 0.1}))
    # What residuals tell best does not depend on the survey. By the information alone, pulls are 2.
    modes = np.zeros((6, len(elements.names)))
    modes[:, 56:] = np.linalg.eigh(equations.matrix[56:, 56:])[1][:, -6:].T
    pulls = [modes @ one.value / np.sqrt(np.diag(modes @ one.covariance @ modes.T)) for one in solutions]
    assert 0.7 < np.sqrt(np.mean(np.square(pulls))) < 1.3


def test_what_a_reference_shows_too_is_no_displacement(geometry):
    """A sample beside itself has not moved, with errors of both; without a reference little is known."""
    elements = Elements.of(geometry)
    equations = equations_of([generate(600, 15000.0, seed=3)], elements, ["x"])
    alone, beside = (one.displacements({"x": 0.1}) for one in (equations, equations.beside(equations)))
    assert np.abs(alone.value).max() > 0.01
    np.testing.assert_allclose(beside.value, 0.0, atol=1e-9)
    np.testing.assert_allclose(equations.beside(equations).matrix, 0.5 * equations.matrix)
    nothing = equations.beside(Displacements(elements, ["x"]))
    np.testing.assert_allclose(nothing.matrix * (1 + equations.tracks), equations.matrix)


def test_without_a_survey_the_bend_of_all_scifi_layers_is_weak(geometry):
    """Shifts in proportion to the distance from the magnet change q/p alone: data cannot tell them."""
    toys = [generate(300, p, seed=3 + i) for i, p in enumerate((5000.0, 40000.0))]
    solution = equations_of(toys, Elements.of(geometry), ["x"]).displacements()
    weak = [mode for mode in solution.weak if all(name.startswith("scifi") for name in mode)]
    assert len(weak) == 1
    signs = {np.sign(part) for part in weak[0].values()}
    assert len(signs) == 1
    assert "scifi_layers 11 x" in weak[0]


def test_displacements_bend_tracks_as_the_equations_say(geometry):
    """∂(q/p)/∂α of MagUp tracks, by fits of the displaced hits; a measurement of it adds to what is known."""
    toy = generate(600, 15000.0, seed=8)
    tracks = toy.candidates("float64")
    fitted, residuals = fit_residuals(toy.parameters, tracks, covariances=True)
    equations = Displacements(Elements.of(geometry), ["x"])
    equations.add_tracks(tracks, fitted, residuals, np.ones(tracks.count, bool))
    lever = np.array([frame.origin[2] - 5200.0 for frame in (geometry.frames[p] for p in SCIFI_PLANES)])
    shifts = 0.05 * lever / lever[-1]
    x, *rest = tracks.scifi
    moved, _ = fit_residuals(toy.parameters, dataclasses.replace(tracks, scifi=(x - shifts, *rest)))
    seen = ((moved.qop - fitted.qop) * tracks.polarity).mean()
    row = equations.bend / equations.tracks
    assert seen == pytest.approx(row[-12:] @ shifts, rel=0.01)
    # With the information as noise, means by it are the best.
    equations.noise = equations.matrix.copy()
    before = equations.displacements({"x": 0.1})
    equations.measure_bend(float(seen), 1e-9)
    after = equations.displacements({"x": 0.1})
    # The weighted mean of two measurements of one number.
    weight, more = 1 / (row @ before.covariance @ row), 1e18
    assert weight < 0.2 * more
    assert 1 / (row @ after.covariance @ row) == pytest.approx(weight + more, rel=1e-3)
    mean = (weight * (row @ before.value) + more * seen) / (weight + more)
    assert row @ after.value == pytest.approx(mean, rel=1e-3)


def test_unknown_freedoms_and_few_tracks_are_refused(geometry):
    with pytest.raises(ParkfError, match="freedoms: got w"):
        Displacements(Elements.of(geometry), ["x", "w"])
    few = equations_of([generate(499, 15000.0, seed=3)], Elements.of(geometry), ["x"])
    with pytest.raises(ParkfError, match=r"alignment: 4\d\d tracks with a good fit, expected at least 500"):
        few.displacements()


def test_the_row_of_a_wrong_candidate_is_named(geometry, tmp_path):
    toy = generate(30, 9000.0, seed=2)
    path = tmp_path / "candidates.parquet"
    with CANDIDATES.writer(path) as writer:
        writer.write_table(rows(toy, polarity=np.where(np.arange(30) == 17, 0, 1)))
    with pytest.raises(ParkfError, match=r"candidates\.parquet: column 'polarity', row 17: got 0"):
        align(toy.parameters, [path], geometry, freedoms=["x"])
