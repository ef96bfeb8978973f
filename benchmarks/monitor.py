"""What `parkf monitor` says of samples whose detector is known, for 20 seeds, and how fast it says so.

Run: python -m benchmarks.monitor [RUN] [--pairs FOLDER] [--json FILE] [--seeds N]

The candidates are those of a run's training and validation samples. For each seed they are split at random
into 100,000 candidates and the rest, from which the reference's means are taken. Responses are computed once,
on 10,000 candidates. The detector of the 100,000 is changed:

- `SciFi layer 5, 30 µm`: its hits are moved. `UT errors +10 %`: errors are added to the UT hits.
- `noise × 1.1`: kicks are added at every step, by the set's own noise, along straight lines behind them.
  Errors and kicks are drawn five times, and each draw is split four times.
- `wrong polarity`: the polarity that the candidates record is turned.
- `wrong set`: the SciFi stands 5 mm further downstream than the set assumes; its hits are moved along the
  fitted directions.
- `field × 1.002`: pairs of a J/ψ sample that was simulated in a field stronger by 2‰, beside pairs of a
  sample in the set's field. Both are the same decays, split at random for each seed. FOLDER has
  `nominal_up`, `nominal_down`, `scaled_up` and `scaled_down` (.parquet).

The sequential test takes batches of 1,000 usable candidates: 20 unchanged, then changed ones, none of them
twice. For false alarms, batches are drawn with replacement from unchanged candidates.
"""

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.command import parser, write

from parkf.data.changes import changed
from parkf.data.equations import Floats
from parkf.data.histograms import Histograms
from parkf.data.masses import peak_of
from parkf.data.monitor import Sums, assessed, other_sign
from parkf.data.quantities import measure, usable
from parkf.data.reference import Reference, make_reference
from parkf.data.sequential import BATCH, Detector
from parkf.data.tracks import read_batches
from parkf.fit import fit
from parkf.fit.candidates import Candidates
from parkf.fit.displaced import joined
from parkf.fit.fitted import Fitted
from parkf.fit.residuals import fit_residuals
from parkf.io.arrow import numbers
from parkf.io.planes import SCIFI_LAYERS
from parkf.params.parameter_set import ParameterSet, load

COUNT = 100_000
SIZES = {
    "SciFi layer 5, 30 µm": ("x of SciFi layer 5", 0.03),
    "UT errors +10 %": ("hit errors of the UT", 0.1),
    "noise × 1.1": ("noise of all steps", 0.1),
}
DOWNSTREAM = 5.0  # mm
SCALE = 0.002
FIELD = "field × 1.002, by J/ψ"
DRAWS = 5
BEFORE = 20  # unchanged batches
FALSE_ALARMS = 1  # times 10⁷ candidates
RATE_OF_SEEDS = 0.05
"""Share of the seeds that may be judged wrongly."""


# For each seed: which candidates are of the sample, (n,), and the reference from the others.
Splits = list[tuple[np.ndarray, Reference]]


class Pool:
    """All candidates, and their quantities with and without a change."""

    def __init__(self, parameters: ParameterSet, tracks: Candidates) -> None:
        self.parameters, self.tracks = parameters, tracks
        self.reference = make_reference(parameters, tracks)
        self.values, self.rows = self._measured(tracks)

    def _measured(self, tracks: Candidates) -> tuple[Floats, np.ndarray]:
        values, fitted = measure(self.parameters, tracks, self.reference.stations)
        return values, np.flatnonzero(usable(fitted))

    def changed(self, name: str, draw: int) -> tuple[Floats, np.ndarray]:
        """Quantities of the usable candidates of a changed detector, and which candidates they are."""
        what, size = SIZES[name]
        change = next(one for one in self.reference.changes if one.name == what)
        random = np.random.default_rng([7, draw])
        tracks = changed(self.parameters, self.tracks, change, size, self.reference.stations, random)
        return self._measured(next(iter(tracks)))

    def split(self, seed: int) -> tuple[np.ndarray, Reference]:
        """Whether each candidate is of the sample, (n,), and the reference from the others."""
        order = np.random.default_rng([11, seed]).permutation(self.tracks.count)
        own = np.zeros(self.tracks.count, bool)
        own[order[:COUNT]] = True
        rest = self.values[~own[self.rows]]
        mean, covariance = rest.mean(axis=0), np.cov(rest.T)
        return own, replace(self.reference, count=len(rest), mean=mean, covariance=covariance)


def verdict(
    pool: Pool, reference: Reference, values: Floats, tracks: Candidates, turned: float = 0.0
) -> dict[str, Any]:
    """Judge a sample as `parkf monitor` does."""
    histograms = Histograms.empty(reference.stations)
    histograms.count, histograms.all = len(values), COUNT
    sums = Sums(tracks.rows(slice(0, 1000)), turned, histograms)
    sums.add(values)
    return assessed(pool.parameters, reference, sums)


def named(result: dict[str, Any], what: str, size: float) -> dict[str, Any]:
    """Whether a verdict names one change alone, and its size in errors from the truth."""
    found = result["found"]
    right = len(found) == 1 and found[0]["what"] == what
    pull = (found[0]["size"] - size) / found[0]["error"] if right else None
    return {"named": right, "pull": pull, "size": found[0]["size"] if right else None} | {
        "error": found[0]["error"] if right else None,
        "sentences": result["sentences"],
    }


def sequence(reference: Reference, before: Floats, after: Floats, what: str) -> dict[str, Any]:
    """Run the sequential test over unchanged and then changed candidates."""
    detector = Detector(reference)
    alarm = detector.add(before[: BEFORE * BATCH]) or detector.add(after)
    if alarm is None:
        return {"found_after": None, "what": None, "changed_at": None}
    after_change = alarm["found_at"] - BEFORE * BATCH
    return {"found_after": after_change, "right": alarm["what"] == what, "changed_at": alarm["changed_at"]}


def unchanged(pool: Pool, splits: Splits) -> list[dict[str, Any]]:
    """Judge the samples as they are."""
    results = []
    for own, reference in splits:
        result = verdict(pool, reference, pool.values[own[pool.rows]], pool.tracks.rows(own))
        results.append({"named": result["verdict"] == "fits", "sentences": result["sentences"]})
    return results


def draws_of(name: str) -> int:
    """How often errors or kicks are drawn; a displacement is not drawn."""
    return 1 if SIZES[name][0].startswith("x of ") else DRAWS


def changed_samples(pool: Pool, splits: Splits, name: str, draw: int) -> list[dict[str, Any]]:
    """Judge the samples of a changed detector, for the seeds that use this draw."""
    (what, size), results = SIZES[name], []
    values, rows = pool.changed(name, draw)
    for seed in range(draw, len(splits), draws_of(name)):
        own, reference = splits[seed]
        result = named(verdict(pool, reference, values[own[rows]], pool.tracks.rows(own)), what, size)
        # No candidate occurs twice: the first ones are unchanged, the others changed.
        early = np.random.default_rng([13, seed]).permutation(np.flatnonzero(own))[: COUNT // 3]
        before, after = np.isin(pool.rows, early), own[rows] & ~np.isin(rows, early)
        result["sequence"] = sequence(reference, pool.values[before], values[after], what)
        results.append(result)
    return results


def wrong_samples(pool: Pool, splits: Splits) -> dict[str, list[dict[str, Any]]]:
    """Judge samples of the other polarity, and of another geometry than the set's."""
    turned = replace(pool.tracks, polarity=-pool.tracks.polarity)
    _, residuals = fit_residuals(pool.parameters, pool.tracks)
    tx, ty = residuals.state[-SCIFI_LAYERS:, 2:].transpose(1, 2, 0)
    x, *others = pool.tracks.scifi
    there = replace(pool.tracks, scifi=(x + DOWNSTREAM * (tx - others[1] * ty), *others))
    results: dict[str, list[dict[str, Any]]] = {"wrong polarity": [], "wrong set": []}
    for name, tracks, expected in (
        ("wrong polarity", turned, "wrong polarity"),
        ("wrong set", there, "not this geometry"),
    ):
        values, fitted = measure(pool.parameters, tracks, pool.reference.stations)
        rows, share = np.flatnonzero(usable(fitted)), other_sign(tracks, fitted)
        for own, reference in splits:
            result = verdict(pool, reference, values[own[rows]], tracks.rows(own), turned=share)
            results[name].append({"named": result["verdict"] == expected, "sentences": result["sentences"]})
    return results


def field(parameters: ParameterSet, pairs: Path, seeds: int) -> list[dict[str, Any]]:
    """Measure the scale of the field by pairs of both samples."""
    samples: dict[str, tuple[Floats, Candidates, Fitted]] = {}
    for kind in ("nominal", "scaled"):
        batches = [
            (numbers(rows.column("event")).astype(np.float64) + 1e7 * number, tracks)
            for number, side in enumerate(("up", "down"))
            for rows, tracks in read_batches([pairs / f"{kind}_{side}.parquet"])
        ]
        tracks = joined([one for _, one in batches])
        samples[kind] = np.concatenate([one for one, _ in batches]), tracks, fit(parameters, tracks)
    results = []
    for seed in range(seeds):
        events = np.unique(samples["nominal"][0])
        chosen = np.random.default_rng([17, seed]).permutation(events)[: len(events) // 2]
        peaks = {}
        for kind, inside in (("nominal", True), ("scaled", False)):
            event, tracks, fitted = samples[kind]
            rows = np.flatnonzero(np.isin(event, chosen) == inside)
            of = Fitted(
                **{
                    n: getattr(fitted, n)[rows]
                    for n in fitted.__dataclass_fields__
                    if n not in ("before", "scores")
                }
            )
            peaks[kind] = peak_of("jpsi", event[rows], tracks.rows(rows), of)
        errors = [peak["mean_error"] for peak in peaks.values()]
        error = np.hypot(errors[0], errors[1]) / peaks["nominal"]["by_scale"]
        size = -(peaks["scaled"]["mean"] - peaks["nominal"]["mean"]) / peaks["nominal"]["by_scale"]
        sure = bool(abs(size) > max(3e-4, 3 * error))
        results.append({"named": sure, "size": size, "error": error, "pull": (size - SCALE) / error})
    return results


def false_alarms(pool: Pool, splits: Splits, seed: int) -> dict[str, Any]:
    """Count alarms in 10⁷ unchanged candidates, drawn with replacement."""
    own, reference = splits[seed]
    values = pool.values[own[pool.rows]]
    alarms, highest, batches = 0, 0.0, round(1e7) // BATCH
    detector, random = Detector(reference), np.random.default_rng([19, seed])
    for _ in range(batches):
        if detector.step(values[random.integers(0, len(values), BATCH)].mean(axis=0)):
            alarms += 1
            detector = Detector(reference)
        highest = max(highest, float(detector.statistic.mean()) / detector.limit)
    return {"candidates": batches * BATCH, "alarms": alarms, "highest": highest}


def table(found: dict[str, Any]) -> str:
    """Write the figures as a table for a page."""
    lines = [
        "| sample | named rightly | size found, median | largest distance from the truth, errors |"
        " found after, median (largest) |",
        "|---|---|---|---|---|",
    ]
    for name, of in found["scenarios"].items():
        right = sum(one["named"] for one in of)
        sizes = [one["size"] for one in of if one.get("size") is not None]
        pulls = [abs(one["pull"]) for one in of if one.get("pull") is not None]
        after = [one["sequence"]["found_after"] for one in of if "sequence" in one]
        size = _size(name, float(np.median(sizes))) if sizes else "–"
        pull = f"{max(pulls):.1f}" if pulls else "–"
        late = f"{np.median(after):,.0f} ({max(after):,.0f})" if after and None not in after else "–"
        lines.append(f"| {name} | {right} of {len(of)} | {size} | {pull} | {late} |")
    return "\n".join(lines)


def sentence(found: dict[str, Any]) -> str:
    """Write the false alarms of the sequential test for a page."""
    alarms, candidates = (sum(one[key] for one in found["false_alarms"]) for key in ("alarms", "candidates"))
    highest = max(one["highest"] for one in found["false_alarms"])
    return (
        f"The sequential test gave {alarms} false alarms in {candidates:,} candidates without a change, drawn"
        f" with replacement; its statistic reached {highest:.3f} of the limit."
    )


def _size(name: str, value: float) -> str:
    if "layer" in name:
        return f"{1e3 * value:.1f} µm"
    return f"{1e3 * value:.2f} ‰" if "field" in name else f"{100 * value:.1f} %"


def _files(run: Path) -> Iterator[Path]:
    for sample in ("training", "validation"):
        for side in ("up", "down"):
            yield run / f"candidates/{sample}_{side}.parquet"


def main() -> None:
    """Print the figures, and write them as JSON if asked."""
    line = parser(__doc__, run="results/improved")
    line.add_argument("--pairs", type=Path)
    line.add_argument("--seeds", type=int, default=20)
    given = line.parse_args()
    begin = time.process_time()
    parameters = load(given.run / "set")
    tracks = joined([batch for _, batch in read_batches([*_files(given.run)])])
    tracks = tracks.rows(np.random.default_rng(1).permutation(tracks.count))
    pool = Pool(parameters, tracks)
    splits = [pool.split(seed) for seed in range(given.seeds)]
    scenarios = {"no change": unchanged(pool, splits)}
    for name in SIZES:
        scenarios[name] = [
            one for draw in range(draws_of(name)) for one in changed_samples(pool, splits, name, draw)
        ]
    if given.pairs is not None:
        scenarios[FIELD] = field(parameters, given.pairs, given.seeds)
    scenarios |= wrong_samples(pool, splits)
    found = {
        "run": given.run.name,
        "candidates": COUNT,
        "reference_candidates": tracks.count - COUNT,
        "scenarios": scenarios,
        "false_alarms": [false_alarms(pool, splits, seed) for seed in range(FALSE_ALARMS)],
    }
    print(table(found))
    print(sentence(found))
    print(f"{time.process_time() - begin:.0f} s of processor time")
    write(given.json, found)


if __name__ == "__main__":
    main()
