"""Scattering and energy loss are like those of LHCb's detector, for each step of the Kalman filter."""

import numpy as np
import pandas as pd
import pytest
from beam import pions

from parkf.detector.field import FieldMap
from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, VELO_PLANES, Z_IN, Z_OUT, Geometry
from parkf.detector.transport import propagate, track_through

COUNT = 20000


@pytest.fixture(scope="module")
def beam() -> pd.DataFrame:
    return pions(COUNT, seed=2, p_min=3000.0, an_event=COUNT)


@pytest.fixture(scope="module")
def states(field: FieldMap, geometry: Geometry, beam: pd.DataFrame) -> pd.DataFrame:
    states = pd.DataFrame(track_through(field, -1, geometry, beam, seed=3))
    return states[states.active]


def _steps(states: pd.DataFrame, name: str) -> pd.DataFrame:
    """Pairs of states at both ends of a step."""
    velo = states[states.plane.isin(VELO_PLANES)]
    if name == "V":
        hit = velo.groupby("particle").cumcount()
        return velo.assign(hit=hit).merge(
            velo.assign(hit=hit - 1), on=["particle", "hit"], suffixes=("0", "1")
        )
    first, last = {
        "VUT": (velo.groupby("particle").tail(1), UT_PLANES[0]),
        "UT": (UT_PLANES[1], UT_PLANES[2]),
        "UTTF": (Z_IN, Z_OUT),
        "T.gap1": (SCIFI_PLANES[1], SCIFI_PLANES[2]),
        "T.gap3": (SCIFI_PLANES[3], SCIFI_PLANES[4]),
    }[name]
    origin = first if isinstance(first, pd.DataFrame) else states[states.plane == first]
    return origin.merge(states[states.plane == last], on="particle", suffixes=("0", "1"))


def _core(values: pd.Series) -> float:
    """Width of the normal distribution that has the same content within two widths."""
    width = np.quantile(abs(values), 0.68)
    for _ in range(30):
        width = values[abs(values) < 2 * width].std() / 0.87963
    return float(width)


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("V", 1.17, 1.27),
        ("VUT", 5.2, 5.6),
        ("UT", 1.15, 1.25),
        ("UTTF", 2.65, 2.95),
        ("T.gap1", 1.2, 1.5),
        ("T.gap3", 1.3, 1.55),
    ],
)
def test_scattering_per_step(
    field: FieldMap,
    geometry: Geometry,
    beam: pd.DataFrame,
    states: pd.DataFrame,
    name: str,
    low: float,
    high: float,
) -> None:
    """Core width of the difference between slope and Runge-Kutta's slope, times p, in MeV."""
    steps = _steps(states, name)
    p = beam.p.to_numpy()[steps.particle]
    qop = beam.charge.to_numpy()[steps.particle] / steps.p0
    start = np.column_stack([steps.x0, steps.y0, steps.tx0, steps.ty0, qop])
    ends = propagate(field, -1, start, steps.z0, tuple(geometry.planes()[steps.plane1].T))
    widths = [
        _core((steps[f"t{c}1"] - ends.states[:, i])[ends.ok] * p[ends.ok]) for c, i in (("x", 2), ("y", 3))
    ]
    assert low < np.mean(widths) < high


def test_mean_loss_before_the_magnet(beam: pd.DataFrame, states: pd.DataFrame) -> None:
    at = states[states.plane == Z_IN]
    p = beam.p.to_numpy()[at.particle]
    few = (p > 3000.0) & (p < 6000.0)
    assert 16.0 < (p - at.p)[few].mean() < 19.0


def test_a_track_leaves_enough_hits(states: pd.DataFrame) -> None:
    hits = states[states.plane.isin(VELO_PLANES)].groupby("particle").size()
    assert (hits >= 3).mean() > 0.97
    assert 8.0 < hits.mean() < 11.0
