"""Width of the core of a sum of similar steps, in units of the quadratic sum of their σ.

Run: python -m benchmarks.sums [RUN] [--json FILE]

The distribution of (form − truth)/σ of single steps is convolved with itself n times. The result describes n
steps in a row that scatter alike and independently of each other, as real steps do. ``training.noise_scale``
of improved forms comes from here.
"""

from pathlib import Path

import numpy as np
from benchmarks.command import parser, write

from parkf.io.events import select
from parkf.model.steps import FORMS
from parkf.training import MOST_ROWS
from parkf.training.magnet_hop import Trained, through_magnet
from parkf.training.magnet_table import load_table
from parkf.training.result import load_results
from parkf.training.rows import COMPONENTS, F64, read_batches, residuals
from parkf.training.spread import BINS, core_width

COUNTS = (1, 2, 4, 8, 16)
STEPS = ("V", "VUT", "UT", "UTTF", "T")
"""Kinds of steps between hits."""
# Lowest momentum, GeV. Below it, the misfit of a step's form may exceed the scattering.
LOWEST = BINS[1][0]
# Values farther out, in σ, are counted in the last bin. They do not belong to the core for any number of
# steps.
_REACH, _STEPS = 40.0, 4001
_EDGES = np.linspace(-_REACH, _REACH, _STEPS + 1)


def widths_of_sums(counts: F64) -> list[dict[str, float]]:
    """Return the core widths of sums of n independent numbers, divided by √n, for each n of `COUNTS`.

    `counts` (4001,) is the histogram of one such number from −40 to 40.
    """
    # Rotate the histogram so that the middle bin, at zero, is the first. Convolutions are then not shifted.
    one = np.fft.rfft(np.fft.ifftshift(counts / counts.sum()))
    widths = []
    for n in COUNTS:
        folded = np.maximum(np.fft.fftshift(np.fft.irfft(one**n, len(counts))), 0.0)
        widths.append({"steps": n, "width": core_width(folded, _EDGES / np.sqrt(n))})
    return widths


def measure_sums(trained: Trained, name: str) -> dict[str, list[dict[str, float]]]:
    """Measure one of `STEPS`, over all its sets together, from 3 to 100 GeV.

    Return, by component, a list of {steps, width}, for each of `COUNTS`.
    """
    counts = np.zeros((len(COMPONENTS), _STEPS))
    joined = trained.forms.steps[name].joined
    for batch in read_batches(trained.dataset(name), most=MOST_ROWS):
        momentum = 1e-3 / np.abs(batch["qop"])
        inside = (momentum >= LOWEST) & (momentum < BINS[-1][1])
        numbers = np.where(inside, batch["set"] // joined, -1)
        for number in range(len(trained.results[name].sets)):
            rows = select(batch, numbers == number)
            if not len(rows["qop"]):
                continue
            functions, p = trained.step(name, number)
            if name == "UTTF":
                rows = through_magnet(functions, trained.table, rows, p)
            truth, noise = residuals(functions.predict(p, rows), rows, "1"), functions.noise(p, rows)
            for i, c in enumerate(COMPONENTS):
                pull = np.clip(truth[c] / noise[c], -_EDGES[-2], _EDGES[-2])
                counts[i] += np.histogram(pull, _EDGES)[0]
    return {component: widths_of_sums(counts[i]) for i, component in enumerate(COMPONENTS)}


def trained_in(run: Path) -> Trained:
    """Load the fits of a run's steps."""
    results = load_results(run / "fits")
    return Trained(
        FORMS[results["UTTF"].forms], results, load_table(run / "table/table.npz"), run / "datasets"
    )


def main() -> None:
    """Run the command line."""
    arguments = parser(__doc__, run="results/default").parse_args()
    trained = trained_in(arguments.run)
    found = {name: measure_sums(trained, name) for name in STEPS}
    for name, components in found.items():
        for component, widths in components.items():
            print(f"{name:5s} {component:3s}", *(f"{one['steps']}: {one['width']:.3f}" for one in widths))
    write(arguments.json, found)


if __name__ == "__main__":
    main()
