"""Speed and accuracy of Runge-Kutta, of field maps, and of the way through the detector, on one core.

Run: python -m benchmarks.transport
Errors of steps are differences from tracks with a tolerance of 1e-9 mm on the same map, scaled to 5 GeV.
Errors of maps are differences in x at z = 8.5 m, for tracks from the origin, from a cubic map with half the
spacing.
"""

import time
from argparse import ArgumentParser
from pathlib import Path

import numpy as np

from parkf.detector.field import FieldMap, make_field_map
from parkf.detector.geometry import load_geometry
from parkf.detector.transport import propagate, track_through
from parkf.io.option_types import Interpolation

ROOT = Path(__file__).parents[1]
COUNT = 20000
Z_IN, Z_OUT = 2665.0, 7826.0
BEHIND_MAGNET = 8500.0  # mm
MOMENTA = ((3.0, 5.0), (5.0, 10.0), (20.0, 50.0))  # GeV


def sample() -> np.ndarray:
    rng = np.random.default_rng(1)
    tx, ty = rng.uniform(-0.25, 0.25, COUNT), rng.uniform(-0.2, 0.2, COUNT)
    p = np.exp(rng.uniform(np.log(2000.0), np.log(50000.0), COUNT))
    return np.column_stack([tx * Z_IN, ty * Z_IN, tx, ty, rng.choice([-1.0, 1.0], COUNT) / p])


def through_the_magnet(field: FieldMap, states: np.ndarray) -> None:
    plane = (Z_OUT, 0.0, 0.0)
    reference = propagate(field, -1, states, Z_IN, plane, tolerance=1e-9)
    baseline = 0.0
    for tolerance in (1e-4, 1e-3, 1e-2):
        begin = time.perf_counter()
        ends = propagate(field, -1, states, Z_IN, plane, tolerance=tolerance, threads=1)
        microseconds = 1e6 * (time.perf_counter() - begin) / COUNT
        baseline = baseline or microseconds
        ok = ends.ok & reference.ok
        error = abs(ends.states - reference.states)[ok, 0] / (5000.0 * abs(states[ok, 4]))
        print(
            f"{field.interpolation:7s} tolerance {tolerance:.0e} mm: {microseconds:6.1f} us a track, "
            f"{microseconds / baseline:.2f} of 1e-4's; error in x: 68% {1e3 * np.quantile(error, 0.68):.4f}, "
            f"largest {1e3 * error.max():.3f} um"
        )


def through_the_detector(field: FieldMap, states: np.ndarray) -> None:
    norm = np.sqrt(1 + states[:, 2] ** 2 + states[:, 3] ** 2)
    p = 1 / abs(states[:, 4])
    zeros = np.zeros(COUNT)
    particles = {
        "event": np.zeros(COUNT, dtype=np.int32),
        "particle": np.arange(COUNT),
        "charge": np.sign(states[:, 4]),
        "mass": zeros + 139.57,
        "x": zeros,
        "y": zeros,
        "z": zeros,
        "px": p * states[:, 2] / norm,
        "py": p * states[:, 3] / norm,
        "pz": p / norm,
        "z_end": np.full(len(p), np.inf),
    }
    geometry = load_geometry(ROOT / "data/geometry/run3.yaml")
    begin = time.perf_counter()
    rows = len(track_through(field, -1, geometry, particles, seed=1, threads=1)["z"])
    microseconds = 1e6 * (time.perf_counter() - begin) / COUNT
    print(f"{field.interpolation:7s} detector: {microseconds:.1f} us a particle, {rows / COUNT:.1f} states")


def from_the_origin(low: float, high: float) -> np.ndarray:
    """States (n, 5) of tracks at all angles of the acceptance, with momenta in GeV."""
    rng = np.random.default_rng(1)
    slope = 1 / np.sinh(rng.uniform(2.2, 4.8, COUNT))
    azimuth = rng.uniform(0, 2 * np.pi, COUNT)
    p = 1e3 * np.exp(rng.uniform(np.log(low), np.log(high), COUNT))
    directions = [slope * np.cos(azimuth), slope * np.sin(azimuth)]
    return np.column_stack([np.zeros((COUNT, 2)), *directions, rng.choice([-1.0, 1.0], COUNT) / p])


def behind_the_magnet(field: FieldMap, exact: FieldMap, low: float, high: float) -> None:
    states, plane = from_the_origin(low, high), (BEHIND_MAGNET, 0.0, 0.0)
    reference = propagate(exact, -1, states, 0.0, plane, tolerance=1e-6)
    begin = time.perf_counter()
    ends = propagate(field, -1, states, 0.0, plane, tolerance=1e-3, threads=1)
    microseconds = 1e6 * (time.perf_counter() - begin) / COUNT
    error = abs(ends.states - reference.states)[ends.ok & reference.ok, 0]
    q68, q95 = np.quantile(error, (0.68, 0.95))
    name = f"{field.interpolation:7s} map of {field.spacing[0]:.0f} mm, {low:g} to {high:g} GeV"
    print(f"{name}: {microseconds:5.1f} us a track; x off by 68% {q68:.4f}, 95% {q95:.4f} mm")


def made(spacing: float, interpolation: Interpolation) -> FieldMap:
    source = ROOT / "data/field/dipole.json"
    return make_field_map(source, spacing=spacing, interpolation=interpolation, outside="error")


if __name__ == "__main__":
    ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    tracks = sample()
    exact = made(50.0, "cubic")
    for grid in (made(100.0, "linear"), made(100.0, "cubic"), made(50.0, "linear")):
        for momenta in MOMENTA:
            behind_the_magnet(grid, exact, *momenta)
    for grid in (made(100.0, "linear"), made(100.0, "cubic")):
        through_the_magnet(grid, tracks)
        through_the_detector(grid, tracks)
