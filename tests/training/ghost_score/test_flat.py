"""The flat cut: the same fraction of genuine tracks at every pT, η and distance, and storage."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from parkf.io.errors import ParkfError
from parkf.params.flat_cut import check, flat_score, variables
from parkf.params.ghost_score import NUMBERS, Score, load_score, read_score
from parkf.params.manifest import Constants, FlatAxis, FlatCut
from parkf.params.set_folder import SetFolder
from parkf.training.ghost_score.flat import fit_flat_cut

CONSTANTS = Constants(velo_sigma=0.0125, beam_x=0.3, beam_y=-0.2)


def sculpted(n, seed):
    """Tracks whose score falls with 1/pT, with the distance and at large η, and scatters more there."""
    random = np.random.default_rng(seed)
    of = {
        "pt": random.lognormal(-0.7, 0.9, n),
        "eta": random.uniform(2, 5, n),
        "displacement": random.lognormal(-2, 2, n),
    }
    soft, far = np.minimum(0.1 / of["pt"], 2), np.log1p(of["displacement"])
    score = 3 - 2 * soft - 0.5 * far - 0.3 * (of["eta"] - 3.5) ** 2
    return score + random.normal(size=n) * (1 + soft), of


@pytest.fixture(scope="module")
def cut():
    return fit_flat_cut(*sculpted(12000, 1), genuine=0.88)


def test_the_efficiency_is_flat_where_a_constant_cut_sculpts(cut):
    score, of = sculpted(12000, 2)
    kept = {"flat": flat_score(cut, score, of) >= 0, "constant": score >= np.quantile(score, 0.12)}
    assert kept["flat"].mean() == pytest.approx(0.88, abs=0.015)
    edges = {"pt": (0, 0.15, 0.3, 0.6, 1.2, 9), "eta": (2, 3, 4, 4.5, 5), "displacement": (0, 0.1, 1, 10, 30)}
    lowest = {"flat": 1.0, "constant": 1.0}
    for name, bounds in edges.items():
        for low, high in pairwise(bounds):
            here = (of[name] >= low) & (of[name] < high)
            for which, passed in kept.items():
                lowest[which] = min(lowest[which], passed[here].mean() + 3 * 0.33 / np.sqrt(here.sum()))
    assert lowest["flat"] > 0.87
    assert lowest["constant"] < 0.7


def test_the_variables_are_those_of_a_known_line():
    """The line x = 0.3 + 3, y = -0.2 + 0.4·(z − z₀) passes the beam line in 3 mm."""
    line = SimpleNamespace(x=[3.3], y=[-0.2], tx=[0.0], ty=[0.4], qop=[-1 / 5000])
    of = variables(line, CONSTANTS)
    assert of["displacement"] == pytest.approx([3.0])
    assert of["pt"] == pytest.approx([5 * np.sin(np.arctan(0.4))])
    assert of["eta"] == pytest.approx([-np.log(np.tan(0.5 * np.arctan(0.4)))])


def test_the_variables_are_the_same_after_a_turn_about_the_beam_line():
    angle = np.linspace(0, 2 * np.pi, 8)
    cos, sin = np.cos(angle), np.sin(angle)
    turned = SimpleNamespace(
        x=0.3 + 3 * cos - 2 * sin,
        y=-0.2 + 3 * sin + 2 * cos,
        tx=0.1 * cos - 0.2 * sin,
        ty=0.1 * sin + 0.2 * cos,
        qop=np.full(8, 1e-4),
    )
    for values in variables(turned, CONSTANTS).values():
        np.testing.assert_allclose(values, values[0])


@pytest.mark.filterwarnings("error")
def test_a_state_that_is_no_number_has_no_flat_score(cut):
    """Along the beam line, η is infinite and the distance 0/0; nothing warns, and no cut keeps the track."""
    bad = SimpleNamespace(
        x=[np.nan, 0.3, 1.0],
        y=[0.0, -0.2, 1.0],
        tx=[0.1, 0.0, 0.1],
        ty=[0.1, 0.0, 0.1],
        qop=[1e-4, 1e-4, 0.0],
    )
    found = flat_score(cut, np.full(3, 9.0, np.float32), variables(bad, CONSTANTS))
    assert found.dtype == np.float32
    assert not (found[:2] >= 0).any()
    # A straight track has an infinite pT; the cut is that of the last knot.
    assert np.isfinite(found[2])


@given(values=arrays(np.float64, (3, 5), elements=st.floats(1e-6, 1e6)))
def test_outside_the_knots_the_cut_is_constant(values):
    axes = [
        FlatAxis(name=name, knots=[1.0, 2.0, 4.0], cuts=[0.5, -1.0, 2.0])
        for name in ("pt", "eta", "displacement")
    ]
    cut = FlatCut(genuine=0.9, axes=axes)
    of = dict(zip(("pt", "eta", "displacement"), values, strict=True))
    inside = {name: np.clip(value, 1.0, 4.0) for name, value in of.items()}
    zero = np.zeros(5)
    np.testing.assert_allclose(flat_score(cut, zero, of), flat_score(cut, zero, inside))
    assert (np.abs(flat_score(cut, zero, of)) <= 6.0 + 1e-9).all()


def test_a_score_keeps_its_flat_cut(cut, tmp_path):
    score = Score(np.ones(NUMBERS, np.float32), 1000, 500, cut)
    score.save(tmp_path / "score.json")
    assert load_score(tmp_path / "score.json").flat == cut
    assert score.description().flat == cut
    (tmp_path / "ghosts.f32").write_bytes(score.numbers.tobytes())
    assert read_score(SetFolder(tmp_path), score.description()).flat == cut


@pytest.mark.parametrize(
    ("knots", "cuts", "problem"),
    [
        ([1.0, 2.0], [0.0], "1 cuts at 2 knots"),
        ([1.0], [0.0], "1 cuts at 1 knots"),
        ([2.0, 1.0], [0.0, 0.0], "expected ascending ones"),
        ([0.0, 1.0], [0.0, 0.0], "above 0 for a logarithm"),
    ],
)
def test_a_wrong_flat_cut_is_refused(knots, cuts, problem, tmp_path):
    flat = FlatCut(genuine=0.88, axes=[FlatAxis(name="pt", knots=knots, cuts=cuts)])
    assert problem in check(flat)
    score = Score(np.ones(NUMBERS, np.float32), 1000, 500, flat)
    (tmp_path / "ghosts.f32").write_bytes(score.numbers.tobytes())
    with pytest.raises(ParkfError, match=r"manifest\.json: ghost_score\.flat: pt: "):
        read_score(SetFolder(tmp_path), score.description())
