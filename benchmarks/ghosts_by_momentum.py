"""Ghosts that a cut on χ²/ndof keeps, by momentum: several sets beside LHCb's older numbers in the trigger.

Run: python -m benchmarks.ghosts_by_momentum [RUN] [SHARED] [--json FILE]

RUN is a finished run with production's forms, whose validation is the embedded sample. SHARED has LHCb's
ten events (data/lhcb_fullsim) and LHCb's older numbers (reference/lhcb_params), which are completed with the
table of the newest set for the trigger.

One cut for all momenta hides how a set treats soft tracks: it may keep fewer ghosts since it loses soft
genuine tracks. Here a set has a cut of its own in each bin of the fitted momentum. It keeps as many of the
bin's genuine tracks as LHCb's older numbers do with one cut that keeps 91 % of all. The ghosts of both are
the same candidates, so that the error of their difference comes from those that only one of both keeps.

The trigger has one number for each track, χ²/ndof, and the momentum. `cut` is what a bound that follows the
momentum gains, χ²/ndof < c · (min(p, 40 GeV) / 5 GeV)^POWER. Its power was chosen on embedded tracks.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.command import parser, write
from benchmarks.trigger_client import fit_samples, found_in_lhcb
from numpy.typing import NDArray

from parkf.fit.sample import Sample, chi2_per_ndof
from parkf.io.files import scratch_folder
from parkf.io.option_types import Scheme
from parkf.io.project import PROJECT
from parkf.params.exchange import import_text_files
from parkf.params.parameter_set import ParameterSet, load
from parkf.proof.validation.figures import WORKING_POINT
from parkf.proof.validation.fitting import validation_files

EDGES = (0.0, 2.5, 3.5, 5.0, 8.0, 15.0, np.inf)  # GeV
POWER, LARGEST = 0.2, 40.0  # of the cut's bound, and GeV
OLDER = "LHCb's older numbers"
FOR_THE_TRIGGER = ("r010", "r016", "r019")
FOR_THE_SMOOTHER = ("r019", "r018")


@dataclass(frozen=True)
class Candidates:
    """Fitted candidates: χ²/ndof, the fitted momentum in GeV, masks of genuine tracks and of ghosts."""

    chi2: NDArray[np.float64]
    p: NDArray[np.float64]
    genuine: NDArray[np.bool_]
    ghosts: NDArray[np.bool_]

    @property
    def bins(self) -> list[NDArray[np.bool_]]:
        """Mask of each bin of momentum; candidates without one are in the first."""
        return [(self.p >= low) & (self.p < high) for low, high in pairwise(EDGES)]

    def below(
        self, fraction: float, values: NDArray[np.float64], within: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Return the candidates of a mask whose values keep this fraction of its genuine tracks, (n,)."""
        genuine = np.sort(values[within & self.genuine])
        number = min(max(round(fraction * len(genuine)), 1), len(genuine) - 1)
        # Few genuine tracks leave gaps; a cut in the middle of a gap favours neither side.
        return within & (values <= genuine[number - 1 : number + 1].mean())


def candidates_of(sample: Sample) -> Candidates:
    """Return what the comparison needs of a fitted sample."""
    with np.errstate(divide="ignore"):
        p = 1e-3 / np.abs(np.asarray(sample.rows["qop"], np.float64))
    return Candidates(
        chi2_per_ndof(sample.rows), np.where(np.isfinite(p), p, 0), sample.is_genuine, sample.is_ghost
    )


def sets(shared: Path) -> Iterator[tuple[str, ParameterSet, Scheme]]:
    """Yield name, set and scheme of each fit; the older numbers first."""
    published = {
        name: load(PROJECT / f"params/2026-run3-like-2-{name}") for name in (*FOR_THE_TRIGGER, "r018")
    }
    yield (
        OLDER,
        import_text_files(shared / "reference/lhcb_params", rest=published[FOR_THE_TRIGGER[-1]]),
        "trigger",
    )
    for name in FOR_THE_TRIGGER:
        yield f"{name}, trigger", published[name], "trigger"
    for name in FOR_THE_SMOOTHER:
        yield f"{name}, smoother", published[name], "smoother"


def compare(one: Candidates, older: Candidates) -> dict[str, Any]:
    """Return the ghosts with one cut, with the older numbers' efficiencies, and with a cut that follows p."""
    everywhere = np.ones(len(one.p), bool)
    kept, theirs, bins = np.zeros(len(one.p), bool), np.zeros(len(one.p), bool), []
    with_one_cut = older.below(WORKING_POINT, older.chi2, everywhere)
    for (low, high), mine, of_theirs in zip(pairwise(EDGES), one.bins, older.bins, strict=True):
        efficiency = float(with_one_cut[of_theirs & older.genuine].mean())
        kept |= one.below(efficiency, one.chi2, mine)
        theirs |= older.below(efficiency, older.chi2, of_theirs)
        flat = one.below(WORKING_POINT, one.chi2, mine)
        ghosts = mine & one.ghosts
        bins.append(
            {"low": low, "high": min(high, 1000.0), "genuine": int((mine & one.genuine).sum())}
            | {"ghosts": int(ghosts.sum()), "efficiency": efficiency}
            | {"kept": float(kept[ghosts].mean()), "kept_at_91": float(flat[ghosts].mean())}
        )
    number, only = one.ghosts.sum(), (kept != theirs) & one.ghosts
    follows = one.chi2 * (np.minimum(np.maximum(one.p, 1e-3), LARGEST) / 5) ** -POWER
    with_p = one.below(WORKING_POINT, follows, everywhere)
    return {
        "genuine": int(one.genuine.sum()),
        "ghosts": int(number),
        "one_cut": float(one.below(WORKING_POINT, one.chi2, everywhere)[one.ghosts].mean()),
        "as_older": float(kept[one.ghosts].mean()),
        "minus_older": float((kept[one.ghosts].sum() - theirs[one.ghosts].sum()) / number),
        "minus_older_error": float(np.sqrt(only.sum()) / number),
        "cut": {
            "bound_at_5_gev": float(follows[with_p & one.genuine].max()),
            "kept": float(with_p[one.ghosts].mean()),
            "efficiency": [float(with_p[mask & one.genuine].mean()) for mask in one.bins],
        },
        "bins": bins,
    }


def table(figures: dict[str, Any]) -> str:
    """Write the ghosts of each fit as Markdown, LHCb's events first."""
    lines = [
        "| sample | fit | one cut | as efficient as the older in each bin | minus the older | bound with p |",
        "|---|---|--:|--:|--:|--:|",
    ]
    for sample, fits in figures.items():
        for name, one in fits.items():
            difference = f"{100 * one['minus_older']:+.1f} ± {100 * one['minus_older_error']:.1f}"
            error = "" if name == OLDER else difference.replace("-", "−")
            kept = (f"{100 * value:.1f} %" for value in (one["one_cut"], one["as_older"]))
            lines.append(
                f"| {sample} | {name} | {' | '.join(kept)} | {error} | {100 * one['cut']['kept']:.1f} % |"
            )
    return "\n".join(lines)


def bins(figures: dict[str, Any]) -> str:
    """Write the ghosts that each fit keeps at 91 % in each bin of momentum as Markdown."""
    first = next(iter(figures.values()))[OLDER]["bins"]
    heads = [f"{one['low']:g}–{one['high']:g} GeV" for one in first[:-1]] + [
        f"above {first[-1]['low']:g} GeV"
    ]
    lines = [f"| sample | fit | {' | '.join(heads)} |", "|---|---|" + "--:|" * len(heads)]
    for sample, fits in figures.items():
        for name, one in fits.items():
            cells = [f"{100 * row['kept_at_91']:.0f} % of {row['ghosts']}" for row in one["bins"]]
            lines.append(f"| {sample} | {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main(run: Path, shared: Path) -> dict[str, Any]:
    """Print the comparison of each sample and fit, and return it."""
    found: dict[str, Any] = {}
    with scratch_folder() as name:
        folder = Path(name)
        samples = {"LHCb's ten events": found_in_lhcb(shared, folder), "embedded": validation_files(run)}
        for sample, files in samples.items():
            fits = {
                of: candidates_of(fit_samples(one, scheme, files, folder)) for of, one, scheme in sets(shared)
            }
            found[sample] = {of: compare(one, fits[OLDER]) for of, one in fits.items()}
    print(table(found), bins(found), sep="\n\n")
    return found


if __name__ == "__main__":
    options = parser(__doc__, run="results/default", shared="../shared").parse_args()
    write(options.json, main(options.run, options.shared))
