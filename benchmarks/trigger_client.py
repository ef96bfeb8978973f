"""Parameter sets and fits in the trigger's arithmetic, on the embedded simulation and on ten LHCb events.

    python -m benchmarks.trigger_client results/default ../shared > benchmarks/results/trigger_client.json

The first folder is a finished run with production's forms. The second has LHCb's events
(data/lhcb_fullsim) and LHCb's older numbers (reference/lhcb_params), which are completed with our table.
"""

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.command import lhcb_events, parser, write

from parkf.fit import fit_file
from parkf.fit.sample import Sample
from parkf.fit.truth import Files
from parkf.io.files import scratch_folder
from parkf.io.option_types import Precision, Scheme
from parkf.io.project import PROJECT
from parkf.params.exchange import import_text_files
from parkf.params.parameter_set import ParameterSet, load, with_blobs
from parkf.proof.trigger_client import measure_client, read_back
from parkf.proof.validation.fitting import fitted_samples, validation_files
from parkf.simulation.pattern import find_candidates

TRAINED = "2026-run3-like-2-r019"
# The same forms, trained in the field of dipole.json.
BEFORE = "2026-run3-like-2-r010"
# Numbers of each block's noise that are widths.
WIDTHS = {
    "V": (0, 1),
    "VUT": (1, 4, 8, 13),
    "UT": (1, 3, 8, 10),
    "UTTF": (12, 13, 15, 16),
    "T": (1, 3, 8, 10),
}
Samples = list[Files]


def scaled(parameters: ParameterSet, block: str, factor: float) -> ParameterSet:
    """Return the set with the widths of one block's scattering multiplied."""
    constant, layout = parameters.constant.copy(), parameters.layout
    place = layout.block_slice(block)
    numbers = constant[place].reshape(layout.block(block).shape).copy()
    numbers[:, list(WIDTHS[block])] *= factor
    constant[place] = numbers.ravel()
    return with_blobs(parameters.manifest, constant, parameters.table)


def replaced(parameters: ParameterSet, by: ParameterSet, block: str = "T") -> ParameterSet:
    """Return the set with one block of another set, whose steps were trained in another field."""
    constant, place = parameters.constant.copy(), parameters.layout.block_slice(block)
    constant[place] = by.constant[place]
    return with_blobs(parameters.manifest, constant, parameters.table)


def found_in_lhcb(shared: Path, folder: Path) -> Samples:
    """Particles and candidates of LHCb's ten events; the segments are found with the hits alone."""
    geometry, field, hits, particles = lhcb_events(shared / "data/lhcb_fullsim", folder)
    candidates = folder / "candidates.parquet"
    find_candidates(hits, candidates, geometry=geometry, field=field, polarity=-1, segments="found")
    return [Files(particles, candidates)]


def fit_samples(
    parameters: ParameterSet, scheme: Scheme, samples: Samples, folder: Path, precision: Precision = "float32"
) -> Sample:
    """Fit the candidates of samples, with a set as the trigger reads it where it is the trigger's fit."""
    used = read_back(parameters, folder / "exported") if scheme == "trigger" else parameters
    used.save(folder / "set")
    fit = partial(fit_file, folder / "set", scheme=scheme, precision=precision, trust=True)
    return fitted_samples(samples, fit)


def fitter(samples: Samples, folder: Path) -> Callable[..., dict[str, Any]]:
    """Make a function that fits the samples and measures the outcome, without its bins of momentum."""

    def run(parameters: ParameterSet, scheme: Scheme, precision: Precision = "float32") -> dict[str, Any]:
        found = measure_client(fit_samples(parameters, scheme, samples, folder, precision))
        return {name: value for name, value in found.items() if name != "momentum"}

    return run


def figures(samples: Samples, folder: Path, older: ParameterSet) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each set's and fit's name with its measured figures."""
    run, trained = fitter(samples, folder), load(PROJECT / "params" / TRAINED)
    before = load(PROJECT / "params" / BEFORE)
    yield f"trigger, {TRAINED}", run(trained, "trigger")
    yield f"trigger in float64, {TRAINED}", run(trained, "trigger", "float64")
    yield f"smoother, {TRAINED}", run(trained, "smoother")
    yield f"trigger, {BEFORE}", run(before, "trigger")
    yield f"smoother, {BEFORE}", run(before, "smoother")
    yield f"trigger, {TRAINED}, SciFi steps of LHCb's older numbers", run(replaced(trained, older), "trigger")
    yield "trigger, LHCb's older numbers", run(older, "trigger")
    for block in WIDTHS:
        for factor in (0.7, 1.2):
            yield f"trigger, noise of {block} × {factor:g}", run(scaled(trained, block, factor), "trigger")
    tighter = scaled(scaled(trained, "VUT", 0.7), "UT", 0.7)
    yield "trigger, noise of VUT and UT × 0.7", run(tighter, "trigger")


def table(figures: dict[str, Any]) -> str:
    """Write the figures of each set and fit, without changes of noise, as Markdown; LHCb's events last."""
    lines = [
        "| sample | fit | core of δp/p | mean of δp/p | q/p pull | ghosts at 91 %, average | NaN, genuine |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    for sample, fits in figures.items():
        for name, one in fits.items():
            if "noise" in name:
                continue
            widths = f"{100 * one['core']:.3f} ± {100 * one['core_error']:.3f} %"
            mean = f"{100 * one['bias']:+.3f} ± {100 * one['bias_error']:.3f} %".replace("-", "−")
            ghosts = (
                f"{100 * one['kept']:.1f} ± {100 * one['kept_error']:.1f}, {100 * one['kept_average']:.1f} %"
            )
            cells = (
                sample,
                name.replace("2026-run3-like-2-", ""),
                widths,
                mean,
                f"{one['pull']:.2f}",
                ghosts,
            )
            lines.append(f"| {' | '.join(cells)} | {100 * one['not_finite']['genuine']:.2f} % |")
    return "\n".join(lines)


def main(results: Path, shared: Path) -> dict[str, Any]:
    """Print the measured figures as JSON, and return them."""
    rest = load(PROJECT / "params" / TRAINED)
    older = import_text_files(shared / "reference/lhcb_params", rest=rest)
    with scratch_folder() as name:
        folder = Path(name)
        samples = {"embedded": validation_files(results), "LHCb's ten events": found_in_lhcb(shared, folder)}
        found = {sample: dict(figures(files, folder, older)) for sample, files in samples.items()}
    print(json.dumps(found, indent=1))
    return found


if __name__ == "__main__":
    options = parser(__doc__, results="results/default", shared="../shared").parse_args()
    write(options.json, main(options.results, options.shared))
