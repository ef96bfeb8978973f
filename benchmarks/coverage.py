"""How often the errors of paired figures cover the truth, on toys that are drawn from a run's crossings.

Run: python -m benchmarks.coverage [RUN] [--json FILE]

The run's validation candidates are fitted by its set and in the trigger's arithmetic; both stand for two
sets. All crossings together are the truth. A toy has as many crossings, drawn with replacement, which is what
other data of the same detector look like. `one` and `two` are the fractions of differences within one and two
of their errors; a Gaussian has 68.3 and 95.4 %. `n` is the number of differences: of 200 toys in every bin,
and of 2,000 toys of the ghosts.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from benchmarks.command import parser, write

from parkf.fit.sample import VARIANCES, Sample, chi2_per_ndof, load_sample
from parkf.fit.truth import Files
from parkf.proof.validation.figures import event_of
from parkf.proof.validation.pairing import compare_fits
from parkf.proof.validation.separation import ghosts_kept

FITS, SAMPLES = ("parkf", "trigger"), ("validation_up", "validation_down")
TOYS, TOYS_OF_GHOSTS, SEED = 200, 2000, 59
_COLUMNS = (
    *("file", "event", "purity", "p_true", "pdg_id", "z_end", "status", "polarity"),
    *(column for name, variance in VARIANCES.items() for column in (name, variance, f"true_{name}")),
    *(f"{what}_{name}" for what in ("chi2", "ndof") for name in ("velo", "ut", "scifi")),
)

Both = Sequence[Sample]
Figures = list[dict[str, Any]]


def load(run: Path) -> list[Sample]:
    """Load both fits of a run's validation candidates."""
    found = []
    for fit in FITS:
        files = [
            Files(run / f"particles/{name}.parquet", run / f"candidates/{name}.parquet", path)
            for name in SAMPLES
            if (path := run / f"fitted/{fit}/{name}.parquet")
        ]
        rows = load_sample(files).rows
        found.append(Sample(pd.DataFrame({name: np.asarray(rows[name]) for name in _COLUMNS})))
    return found


def toys(both: Both, count: int) -> Iterator[Both]:
    """Draw crossings with replacement, the same of both fits."""
    print(f"seed {SEED}")
    event, random = event_of(both[0].rows), np.random.default_rng(SEED)
    order = np.argsort(event, kind="stable")
    ends = np.searchsorted(event[order], np.arange(event.max() + 2))
    for _ in range(count):
        chosen = random.integers(0, event.max() + 1, event.max() + 1)
        rows = np.concatenate([order[ends[one] : ends[one + 1]] for one in chosen])
        number = np.repeat(np.arange(len(chosen)), ends[chosen + 1] - ends[chosen])
        yield [Sample(fit.rows.iloc[rows].assign(file=0, event=number)) for fit in both]


def ghosts_alone(own: Sample, other: Sample) -> Figures:
    """Measure the difference of the ghosts that two fits keep."""
    one, two = (ghosts_kept(fit, -chi2_per_ndof(fit.rows)) for fit in (own, other))
    difference = two.minus(one)
    error = difference.error(event_of(own.rows))
    return [{"figure": "ghosts", "own": one.value, "published": two.value, "error": error}]


def coverage(both: Both, count: int, measure: Callable[[Sample, Sample], Figures]) -> dict[str, Any]:
    """Measure how often differences lie within one and two of their errors, by figure."""

    def places(figures: Figures) -> dict[tuple[Any, ...], dict[str, Any]]:
        return {
            tuple(one.get(key) for key in ("figure", "p_min", "tx", "bend", "component")): one
            for one in figures
        }

    truth, off = places(measure(*both)), defaultdict(list)
    for toy in toys(both, count):
        for place, one in places(measure(*toy)).items():
            expected = truth[place]["published"] - truth[place]["own"]
            name = f"{place[0]} of a cell" if place[2] else place[0]
            off[name].append(abs(one["published"] - one["own"] - expected) / one["error"])
    return {
        name: {
            "n": len(each),
            "one": float(np.mean(np.less(each, 1))),
            "two": float(np.mean(np.less(each, 2))),
        }
        for name, each in off.items()
    }


def main(run: Path) -> dict[str, Any]:
    """Print the coverage of every figure, and return it."""
    both = load(run)
    found = coverage(both, TOYS, lambda *toy: compare_fits(*toy)["figures"])
    found |= coverage(both, TOYS_OF_GHOSTS, ghosts_alone)
    for name, one in found.items():
        print(f"{name:16}{one['n']:7}  {one['one']:.1%}  {one['two']:.1%}")
    return found


if __name__ == "__main__":
    options = parser(__doc__, run="results/default").parse_args()
    write(options.json, main(options.run))
