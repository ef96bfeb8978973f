"""The two schemes of the fit, its precisions and its builds, on toys that follow the step functions exactly.

Run: python benchmarks/kalman.py
Baselines: production's scheme (forward_backward) for resolutions, the scalar build for speeds.
"""

import sys
import time
from pathlib import Path

import numpy as np
import parkf._fitter as _fitter

from parkf.kalman import Fitted, cpu, fit
from parkf.kalman.candidates import Candidates, from_arrays

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "kalman"))
from kalman_toy import Toy, generate

STATE = ("x", "y", "tx", "ty", "qop")
# A batch whose hits stay in the second-level cache, so that the arithmetic is measured.
CACHED = 1024


def widths(toy: Toy, fitted: Fitted) -> np.ndarray:
    return np.array([np.std(pull) for pull in toy.pulls(fitted).values()])


def resolutions(toy: Toy, fitted: Fitted) -> np.ndarray:
    residuals = [pull * np.sqrt(getattr(fitted, n * 2)) for n, pull in toy.pulls(fitted).items()]
    return np.array([np.std(residual) for residual in residuals])


def schemes() -> None:
    print(
        "Pull widths of x, y, tx, ty, q/p, and resolutions relative to forward_backward, 20,000 tracks each"
    )
    for momentum in (3000.0, 10000.0, 50000.0):
        toy = generate(20000, momentum, seed=1)
        tracks = toy.candidates("float64")
        fits = {
            s: fit(toy.parameters, tracks, scheme=s, precision="float64")
            for s in ("forward_backward", "smoother")
        }
        baseline = resolutions(toy, fits["forward_backward"])
        for name, fitted in fits.items():
            ratio = resolutions(toy, fitted) / baseline
            print(f"  {momentum / 1e3:3.0f} GeV {name:16s}", widths(toy, fitted).round(3), ratio.round(3))
        single, double = fit(toy.parameters, toy.candidates("float32")), fits["smoother"]
        shifts = [(getattr(single, n) - getattr(double, n)) / np.sqrt(getattr(double, n * 2)) for n in STATE]
        print(
            f"  {momentum / 1e3:3.0f} GeV float32 - float64, in σ: RMS",
            *(f"{np.std(s):.1e}" for s in shifts),
            f"largest {max(np.abs(s).max() for s in shifts):.1e}",
        )


def speed() -> None:
    print(f"Tracks a second on one core, {CACHED} tracks a batch; in brackets: times the scalar build")
    toy = generate(CACHED, 8000.0, seed=1)
    for precision in ("float32", "float64"):
        tracks = from_arrays(toy.arrays, precision)
        for scheme in ("smoother", "forward_backward"):
            rates = {build: rate(toy, tracks, scheme == "smoother", build) for build in _fitter.builds()}
            text = ", ".join(f"{b} {r / 1e6:.2f} M ({r / rates['plain']:.1f})" for b, r in rates.items())
            print(f"  {precision} {scheme:16s} {text}")


def rate(toy: Toy, tracks: Candidates, smoother: bool, build: str) -> float:
    best = np.inf
    for _ in range(10):
        begin = time.perf_counter()
        for _ in range(20):
            cpu.fit(toy.parameters, tracks, smoother=smoother, threads=1, build=build)
        best = min(best, (time.perf_counter() - begin) / (20 * tracks.count))
    return 1 / best


if __name__ == "__main__":
    schemes()
    speed()
