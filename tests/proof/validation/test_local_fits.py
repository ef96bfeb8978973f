"""Bending of tracks whose hits lie exactly on their path through a uniform field."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from parkf.detector.field import FieldMap
from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, load_geometry
from parkf.detector.transport import propagate
from parkf.proof.validation.local_fits import fit_locally

ROOT = Path(__file__).parents[3]
TESLA = 0.5
LAST_VELO = 770.0  # mm; the field begins here


def candidates_on_path(lines, qop, field, geometry):
    """Hits of vertical strips, exactly on the tracks."""
    n = len(qop)
    z = np.arange(200.0, 700.0, 50.0)
    back = z - LAST_VELO
    columns = {"velo_n": np.full(n, len(z)), "velo_z": list(np.tile(z, (n, 1)))}
    for i, name in enumerate(("x", "y")):
        columns[f"velo_{name}"] = list(lines[:, i, None] + lines[:, i + 2, None] * back)
    for name, planes in (("ut", UT_PLANES), ("scifi", SCIFI_PLANES)):
        frames = geometry.planes()[list(planes)]
        start = np.column_stack([lines, qop])
        x = [propagate(field, 1, start, np.full(n, LAST_VELO), tuple(plane)).states[:, 0] for plane in frames]
        columns[f"{name}_x"] = list(np.stack(x, axis=1))
        columns[f"{name}_z"] = list(np.tile(frames[:, 0], (n, 1)))
        columns[f"{name}_dxdy"] = list(np.zeros((n, len(planes))))
        columns[f"{name}_sigma"] = list(np.full((n, len(planes)), 0.1))
    return pd.DataFrame(columns)


def test_a_vertical_field_kicks_by_its_integral_whatever_the_direction():
    """Across the field dp = q ∫B dz, from the VELO to the middle of the second SciFi station."""
    geometry = load_geometry(ROOT / "data/geometry/run3_fullsim.yaml")
    values = np.zeros((2, 2, 2, 3), np.float32)
    values[..., 1] = TESLA
    field = FieldMap(np.array([-1e4, -1e4, -1e3]), np.full(3, 2e4), values)
    ty = np.array([-0.25, -0.1, 0.0, 0.1, 0.25])
    slopes = np.column_stack([np.full(5, 0.02), ty])
    lines = np.hstack([slopes * LAST_VELO, slopes])
    qop = np.array([1, -1, 1, -1, 1]) / 30_000.0
    found = fit_locally(
        candidates_on_path(lines, qop, field, geometry), qop, geometry=geometry, field=field, polarity=1
    )
    station = geometry.planes()[list(SCIFI_PLANES)[4:8]]
    # On the leaning planes z depends on y, and in y the tracks are almost straight lines.
    middle = station[:, 0].mean() / (1 - station[:, 2].mean() * ty)
    np.testing.assert_allclose(found.kick, 0.299792458 * TESLA * (middle - LAST_VELO), rtol=5e-4)
    np.testing.assert_allclose(found.bending, 1.0, rtol=1e-5)
    for residuals in (found.velo, found.ut, found.scifi):
        assert np.abs(residuals.distance) == pytest.approx(0.0, abs=1e-3)
