"""Speed and accuracy of field maps, on one core.

Run: python -m benchmarks.transport
Errors are differences in x at z = 8.5 m, for tracks from the origin, from a cubic map with half the spacing.
"""

import time
from argparse import ArgumentParser
from pathlib import Path

import numpy as np

from parkf.detector.field import FieldMap, make_field_map
from parkf.detector.transport import propagate
from parkf.io.option_types import Interpolation

ROOT = Path(__file__).parents[1]
COUNT = 20000
BEHIND_MAGNET = 8500.0  # mm
MOMENTA = ((3.0, 5.0), (5.0, 10.0), (20.0, 50.0))  # GeV


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
    exact = made(50.0, "cubic")
    for grid in (made(100.0, "linear"), made(100.0, "cubic"), made(50.0, "linear")):
        for momenta in MOMENTA:
            behind_the_magnet(grid, exact, *momenta)
