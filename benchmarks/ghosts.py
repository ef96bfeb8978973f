"""Which ghosts the cuts of a run keep, in its own simulation and LHCb's, and what limits their rejection.

Run: python -m benchmarks.ghosts [RUN] [--json FILE]

RUN is the run of fullsim.yaml. Its candidates are made of segments that were found in hits. In each sample
the cuts keep 91 % of the genuine tracks. A ghost's class is the kind of particle that left most of its SciFi
hits. If a pion or kaon decays behind the UT, the hits of its daughter count as its own in both samples, as in
LHCb's programs. Its track is therefore no ghost, but no genuine track either, since it has two momenta.

- `as_many`: samples with as many embedded crossings as LHCb's sample has, drawn with repetition. They show
  how much the figures scatter, and how often they reach LHCb's.
- `same_cut`: the fractions of LHCb's genuine tracks and ghosts that the embedded sample's cuts keep.
- `retrained`: the run's scores, trained again from other random starts. None of them is selected.
- `own`: the ghosts that a logistic regression keeps. It learns from LHCb's own candidates, four fifths at a
  time. It shows how well these features can separate ghosts there, as far as so few candidates can show it.
  No parameter set contains it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from benchmarks.command import parser, write
from numpy.typing import NDArray

from parkf.fit import cpu, is_good
from parkf.fit.hits import from_arrow
from parkf.fit.sample import GHOST_PURITY
from parkf.io.tables import CANDIDATES, HITS, PARTICLES
from parkf.params.ghost_score import FEATURES, HIDDEN, NAMES, OWN, count
from parkf.params.parameter_set import ParameterSet, load
from parkf.proof.validation.figures import WORKING_POINT
from parkf.proof.validation.likeness import hits_of
from parkf.training.ghost_score.train import train_network

F64 = NDArray[np.float64]

SAMPLES = {"embedded": "validation", "lhcb": "lhcb"}
INPUTS = {NAMES[0]: OWN, NAMES[1]: FEATURES}
BARS = {NAMES[0]: ("score without p and η", 8.0), NAMES[1]: ("score with p and η", 5.0)}
ELECTRON = 11
SEEDS = 6
DRAWS = 2000
FOLDS, REPETITIONS, STRENGTHS = 5, 6, (1e-3, 1e-2, 1e-1)


@dataclass(frozen=True)
class Seen:
    """Genuine tracks and ghosts of a sample whose fits succeeded.

    Attributes
    ----------
    rows : DataFrame
        `event`, `genuine`, `kind` of ghosts, and a column for each discriminant. Genuine tracks tend to
        have larger discriminants.
    features : (n, 17) float32
        Inputs of the scores.
    """

    rows: pd.DataFrame
    features: NDArray[np.float32]


def odds(numbers: NDArray[np.float32], features: NDArray[Any]) -> F64:
    """Return the log odds that the network with these numbers computes from features (n, m), (n,)."""
    m = features.shape[1]
    rows = numbers[: HIDDEN * (m + 1)].reshape(HIDDEN, m + 1).astype(np.float64)
    units = np.maximum(features @ rows[:, :m].T + rows[:, m], 0)
    return np.asarray(units @ numbers[-HIDDEN - 1 : -1] + numbers[-1], np.float64)


def stored(numbers: NDArray[np.float32]) -> dict[str, NDArray[np.float32]]:
    """Numbers of each network of a set."""
    first = count(len(OWN))
    return dict(zip(NAMES, (numbers[:first], numbers[first:]), strict=True))


def read(run: Path, name: str, candidates: str, parameters: ParameterSet) -> Seen:
    """Fit the candidates of a sample's first polarity and join them with their particles."""
    path = sorted((run / "candidates").glob(f"{candidates}_*.parquet"))[0]
    sample = f"{name}_{path.stem.split('_')[1]}.parquet"
    table = CANDIDATES.open(path).read()
    tracks = from_arrow(table.combine_chunks(), np.dtype(np.float32))
    fitted = cpu.fit(parameters, tracks, smoother=True, features=True, threads=1)
    features = np.stack(list(fitted.more.values()))
    particles = PARTICLES.open(run / "particles" / sample).read().to_pandas()
    particles["p"] = np.sqrt(particles.px**2 + particles.py**2 + particles.pz**2)
    found = table.to_pandas()
    truth = found[["event", "particle"]].merge(
        particles[["event", "particle", "pdg_id", "p", "z_end"]], on=["event", "particle"], how="left"
    )
    ghost = (found.purity < GHOST_PURITY).to_numpy()
    genuine = (
        ~ghost & (truth.p > 2000) & (truth.pdg_id.abs() != ELECTRON) & (truth.z_end == np.inf)
    ).to_numpy()
    pieces = ("velo", "ut", "scifi")
    ndof = np.maximum(sum(getattr(fitted, f"ndof_{piece}") for piece in pieces), 1)
    rows = truth.assign(
        genuine=genuine,
        kind=np.full(len(ghost), ""),
        chi2=-sum(getattr(fitted, f"chi2_{piece}") for piece in pieces) / ndof,
    )
    if (run / "hits" / sample).exists():
        rows["kind"] = _kinds(found, run / "hits" / sample, particles)
    if parameters.score is not None:
        for score, numbers in stored(parameters.score.numbers).items():
            rows[score] = odds(numbers, features[: len(INPUTS[score])].T)
    used = (genuine | ghost) & is_good(fitted.status)
    return Seen(rows[used].reset_index(drop=True), np.ascontiguousarray(features.T[used], np.float32))


def _kinds(found: pd.DataFrame, hits: Path, particles: pd.DataFrame) -> NDArray[Any]:
    """For each candidate, the class of the particle that left most of its SciFi hits, (n,)."""
    scifi = hits_of(HITS.open(hits).read(["event", "plane", "particle", "x", "z"]).to_pandas(), "scifi")
    x, z = (np.stack(found[f"scifi_{name}"].to_list()) for name in "xz")
    row, slot = np.nonzero(np.isfinite(x))
    taken = pd.DataFrame(
        {"row": row, "event": found.event.to_numpy()[row], "x": x[row, slot], "z": z[row, slot]}
    )
    owners = taken.merge(scifi.astype({"x": np.float32, "z": np.float32}), on=["event", "x", "z"])
    most = owners[owners.particle >= 0].groupby(["row", "event"]).particle.agg(lambda of: of.mode().iloc[0])
    of = most.reset_index().merge(particles, on=["event", "particle"], how="left").set_index("row")
    of = of.reindex(range(len(found)))
    return np.where(of.pdg_id.abs() == ELECTRON, "electron", "hadron")


def kept(values: F64, genuine: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the rows that a cut keeps, where the cut keeps 91 % of the genuine ones."""
    return values >= np.quantile(values[genuine], 1 - WORKING_POINT, method="lower")


def shares(seen: Seen) -> dict[str, Any]:
    """Fractions of ghosts that each discriminant keeps (%), for each kind and all, with binomial errors."""
    genuine, ghost = seen.rows.genuine.to_numpy(), ~seen.rows.genuine.to_numpy()
    result: dict[str, Any] = {"genuine": int(genuine.sum()), "ghosts": int(ghost.sum())}
    for name in ("chi2", *NAMES):
        passed = kept(seen.rows[name].to_numpy(np.float64), genuine)
        kinds = {kind: ghost & (seen.rows.kind == kind).to_numpy() for kind in ("electron", "hadron")}
        result[name] = {kind: _share(passed[of]) for kind, of in (kinds | {"all": ghost}).items()}
    return result


def _share(of: NDArray[np.bool_]) -> dict[str, float]:
    share = float(of.mean())
    error = np.sqrt(max(share * (1 - share), 1 / len(of)) / len(of))
    return {"n": len(of), "kept": round(100 * share, 1), "error": round(float(100 * error), 1)}


def as_many(embedded: Seen, lhcb: Seen, crossings: int) -> dict[str, Any]:
    """Mean and spread of the ghosts kept (%) in embedded samples, and how often they reach LHCb's."""
    random = np.random.default_rng(91)
    events, which = np.unique(embedded.rows.event, return_inverse=True)
    genuine = embedded.rows.genuine.to_numpy()
    result = {}
    for name in ("chi2", *NAMES):
        values = embedded.rows[name].to_numpy(np.float64)
        order = np.argsort(values)
        got = []
        for _ in range(DRAWS):
            times = np.bincount(random.integers(0, len(events), crossings), minlength=len(events))
            weight = times[which][order]
            sums = np.cumsum(weight * genuine[order])
            first = np.searchsorted(sums, (1 - WORKING_POINT) * sums[-1])
            ghosts = weight * ~genuine[order]
            got.append(ghosts[first:].sum() / max(ghosts.sum(), 1))
        theirs = ~lhcb.rows.genuine.to_numpy()
        reached = kept(lhcb.rows[name].to_numpy(np.float64), ~theirs)[theirs].mean()
        result[name] = {
            "mean": round(100 * float(np.mean(got)), 1),
            "spread": round(100 * float(np.std(got)), 1),
            "as_large": float(np.mean(np.array(got) >= reached)),
        }
    return result


def same_cut(embedded: Seen, lhcb: Seen) -> dict[str, dict[str, float]]:
    """Fractions (%) of LHCb's tracks that pass the embedded sample's cuts."""
    result = {}
    genuine = lhcb.rows.genuine.to_numpy()
    for name in ("chi2", *NAMES):
        values = embedded.rows[name].to_numpy(np.float64)
        passed = (
            lhcb.rows[name].to_numpy(np.float64)
            >= values[kept(values, embedded.rows.genuine.to_numpy())].min()
        )
        result[name] = {
            "genuine": round(100 * float(passed[genuine].mean()), 1),
            "ghosts": round(100 * float(passed[~genuine].mean()), 1),
        }
    return result


def retrained(training: Seen, samples: Mapping[str, Seen]) -> dict[str, Any]:
    """Mean and spread of the ghosts kept (%) by scores that were trained from other random starts."""
    genuine = training.rows.genuine.to_numpy()
    result: dict[str, Any] = {}
    for name, inputs in INPUTS.items():
        of: dict[str, list[float]] = {sample: [] for sample in samples}
        for seed in range(SEEDS):
            numbers = train_network(
                np.ascontiguousarray(training.features[:, : len(inputs)]), genuine, hidden=HIDDEN, seed=seed
            )
            for sample, seen in samples.items():
                there = seen.rows.genuine.to_numpy()
                passed = kept(odds(numbers, seen.features[:, : len(inputs)]), there)
                of[sample].append(100 * float(passed[~there].mean()))
        result[name] = {
            sample: {"mean": round(float(np.mean(v)), 1), "spread": round(float(np.std(v, ddof=1)), 1)}
            for sample, v in of.items()
        }
    return result


def own(lhcb: Seen) -> dict[str, float]:
    """Ghosts kept (%) by cross-validated logistic regressions, for the best of three regularisations."""
    genuine = lhcb.rows.genuine.to_numpy()
    result = {}
    for name, inputs in INPUTS.items():
        terms = lhcb.features[:, : len(inputs)].astype(np.float64)
        terms = np.column_stack([np.ones(len(terms)), (terms - terms.mean(0)) / terms.std(0)])
        found = []
        for strength in STRENGTHS:
            got = []
            for seed in range(REPETITIONS):
                fold = np.random.default_rng(seed).integers(0, FOLDS, len(terms))
                values = np.zeros(len(terms))
                for number in range(FOLDS):
                    here = fold == number
                    values[here] = terms[here] @ _logistic(terms[~here], genuine[~here], strength)
                got.append(100 * kept(values, genuine)[~genuine].mean())
            found.append(float(np.mean(got)))
        result[name] = round(min(found), 1)
    return result


def _logistic(terms: F64, genuine: NDArray[np.bool_], strength: float) -> F64:
    """Coefficients of a logistic regression, by Newton's method; both classes have the same weight."""
    weight = np.where(genuine, 0.5 / genuine.sum(), 0.5 / (~genuine).sum())
    at = np.zeros(terms.shape[1])
    for _ in range(40):
        probability = 1 / (1 + np.exp(-terms @ at))
        gradient = terms.T @ (weight * (genuine - probability)) - strength * at
        curvature = (terms * (weight * probability * (1 - probability))[:, None]).T @ terms
        at = at + np.linalg.solve(curvature + strength * np.eye(len(at)), gradient)
    return at


def table(figures: dict[str, Any]) -> str:
    """Write the ghosts that the scores keep in both samples as Markdown, beside what is asked for."""
    lines = ["| ghosts kept at 91 % | embedded | LHCb's hits | asked for | apart |", "|---|--:|--:|--:|--:|"]
    for name, (what, most) in BARS.items():
        embedded, lhcb = (figures[sample][name]["all"] for sample in SAMPLES)
        cells = []
        for one in (embedded, lhcb):
            beyond = (one["kept"] - most) / one["error"]
            cells.append(
                f"{one['kept']} ± {one['error']} %" + (f", {beyond:.1f} errors above" if beyond > 0 else "")
            )
        apart = (lhcb["kept"] - embedded["kept"]) / np.hypot(lhcb["error"], embedded["error"])
        lines.append(f"| {what} | {' | '.join(cells)} | ≤ {most:g} % | {apart:.1f} errors |")
    return "\n".join(lines)


def main() -> None:
    """Measure, print and write."""
    given = parser(__doc__, run="results/fullsim").parse_args()
    parameters = load(given.run / "set")
    samples = {name: read(given.run, of, f"found-{of}", parameters) for name, of in SAMPLES.items()}
    embedded, lhcb = samples["embedded"], samples["lhcb"]
    training = read(given.run, "training", "training", parameters)
    result = {
        **{name: shares(seen) for name, seen in samples.items()},
        "as_many": as_many(embedded, lhcb, lhcb.rows.event.nunique()),
        "same_cut": same_cut(embedded, lhcb),
        "retrained": retrained(training, samples),
        "own": own(lhcb),
    }
    print(json.dumps(result, indent=1))
    write(given.json, result)


if __name__ == "__main__":
    main()
