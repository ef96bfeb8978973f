"""What `parkf monitor` says of samples whose detector is known: eighteen scenarios.

Run: python -m benchmarks.monitor [RUN] [--set SET] [--json FILE] [--seeds N] [--only NAME] [--jobs N]

The candidates are those of a run's training and validation samples in the default field, and its J/ψ for the
field's scale. Whole events are dealt out: each seed has about 4,000 candidates and 700 pairs, which all
scenarios share, and 24,000 candidates where a loss is measured to half a per cent. The reference has 50,000
others. Hits of a sample are moved, made worse or removed:

- a module or layer at larger x has its hits at smaller x. A layer that is turned or moved along z has its
  hits where the fitted tracks meet it.
- in a stronger field, hits are further from the straight line that the track had in the VELO.
- errors and kicks are drawn as the monitor's responses are, with other random numbers.
- hits that are lost are removed at random.

A sample is named rightly if the verdict names what was changed and nothing else. A statement is untrue if it
names what was not changed, without the true change among those that the data do not tell from it, or if it
says that no change explains the sample, or that it is of another geometry.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.command import parser, write

from parkf.data.changes import FACTORS, changed
from parkf.data.equations import Solution
from parkf.data.masses import measure_decays
from parkf.data.monitor import assess
from parkf.data.moving import shifted
from parkf.data.parts import STAVE
from parkf.data.reference import Reference, make_reference
from parkf.data.tracks import read_tracks
from parkf.fit.candidates import Candidates
from parkf.fit.residuals import fit_residuals
from parkf.io.project import PROJECT
from parkf.io.tables import VELO_SLOTS
from parkf.io.workers import forked_map
from parkf.params.parameter_set import ParameterSet, load

SET = PROJECT / "params/2026-run3-like-2-r017"
COUNT, MANY, REFERENCE = 4_000, 24_000, 50_000  # candidates
OF_MANY = "20 % of T2's hits lost"
PAIRS = 4_000  # candidates of J/ψ
MODULE = 24  # number of a VELO module in the order of z

Made = Callable[["Changer", Candidates, np.random.Generator], Candidates]


@dataclass(frozen=True)
class Changer:
    """Changes candidates by what a set says of their hits."""

    parameters: ParameterSet
    reference: Reference

    def states(self, tracks: Candidates) -> np.ndarray:
        """Fitted x, y, tx, ty at UT and SciFi layers, (n, 16, 4)."""
        return fit_residuals(self.parameters, tracks)[1].state[VELO_SLOTS:].transpose(2, 0, 1)

    def velo(self, tracks: Candidates, own: np.ndarray, x: Any, y: Any) -> Candidates:
        """Add x and y (mm, or arrays of the hits) to the hits of modules for which `own` (m,) is true."""
        here = own[self.reference.stations.number(np.nan_to_num(tracks.velo[2]))]
        return shifted(tracks, x=np.where(here, x, 0.0), y=np.where(here, y, 0.0))


def strips(tracks: Candidates, first: int, by: np.ndarray) -> Candidates:
    """Add x (n, layers) of the hits of layers from `first`, of 4 in the UT and 12 in the SciFi."""
    more = np.zeros((tracks.count, 16))
    more[:, first : first + by.shape[-1]] = by
    return shifted(tracks, strips=more)


def slopes(tracks: Candidates) -> np.ndarray:
    """Return dx/dy of the hits, (n, 16)."""
    return np.nan_to_num(np.concatenate([tracks.ut[2], tracks.scifi[2]], axis=1))


def velo_half(of: Changer, tracks: Candidates, random: np.random.Generator) -> Candidates:
    """Move a half by 20 µm, in MagUp."""
    return of.velo(tracks, of.reference.stations.left, -0.02 * (tracks.polarity > 0)[:, None], 0.0)


def turned_half(of: Changer, tracks: Candidates, random: np.random.Generator) -> Candidates:
    """Turn a half of the VELO by 0.5 mrad about the beam."""
    x, y, _ = np.nan_to_num(tracks.velo)
    return of.velo(tracks, of.reference.stations.left, 5e-4 * y, -5e-4 * x)


def module(of: Changer, tracks: Candidates, random: np.random.Generator) -> Candidates:
    """Move a VELO module by 30 µm."""
    return of.velo(tracks, np.arange(len(of.reference.stations.z)) == MODULE, -0.03, 0.0)


def turned(first: int, own: Callable[[Candidates], np.ndarray], turn: float) -> Made:
    """Turn layers about the beam."""

    def made(of: Changer, tracks: Candidates, random: np.random.Generator) -> Candidates:
        here = own(tracks)
        part = slice(first, first + here.shape[-1])
        x, y = of.states(tracks)[:, part, :2].transpose(2, 0, 1)
        return strips(tracks, first, np.where(here, turn * (y + slopes(tracks)[:, part] * x), 0.0))

    return made


def along_z(size: float, *numbers: int) -> Made:
    """Move SciFi layers along z."""

    def made(of: Changer, tracks: Candidates, random: np.random.Generator) -> Candidates:
        tx, ty = of.states(tracks)[:, 4:, 2:].transpose(2, 0, 1)
        return strips(tracks, 4, size * layers(*numbers) * (tx - slopes(tracks)[:, 4:] * ty))

    return made


def shifted_strips(first: int, size: float, own: Callable[[Candidates], np.ndarray]) -> Made:
    """Move layers along x."""
    return lambda of, tracks, random: strips(tracks, first, -size * own(tracks))


def lost_strips(detector: str, share: float, own: np.ndarray) -> Made:
    """Lose a share of the hits of layers."""

    def lost(of: Changer, tracks: Candidates, random: np.random.Generator) -> Candidates:
        hits = getattr(tracks, detector)
        gone = own & (random.random(hits[0].shape) < share)
        return replace(tracks, **{detector: tuple(np.where(gone, np.nan, one) for one in hits)})

    return lost


def worse(name: str, size: float) -> Made:
    """Enlarge hit errors or noise."""
    change = next(one for one in FACTORS if one.what == name)
    return lambda of, tracks, random: next(iter(changed(of.parameters, tracks, change, size, random)))


def stronger_field(of: Changer, tracks: Candidates, random: np.random.Generator) -> Candidates:
    """Strengthen the field by 0.1 %: all that a track bends, in proportion."""
    state = fit_residuals(of.parameters, tracks)[1].state.transpose(2, 0, 1)
    last = tracks.velo_n - 1
    rows = np.arange(tracks.count)
    x, _, tx, _ = state[rows, last].T
    z = np.concatenate([tracks.ut[1], tracks.scifi[1]], axis=1) - tracks.velo[2][rows, last][:, None]
    return strips(tracks, 0, np.nan_to_num(1e-3 * (state[:, VELO_SLOTS:, 0] - x[:, None] - tx[:, None] * z)))


def layers(*numbers: int) -> np.ndarray:
    """Whether a SciFi layer is one of these, (12,)."""
    return np.isin(np.arange(12), numbers)


def both(first: Made, second: Made) -> Made:
    """Make two changes."""
    return lambda of, tracks, random: second(of, first(of, tracks, random), random)


def on_stave(tracks: Candidates) -> np.ndarray:
    """Hits on a stave of UT layer 1."""
    x = tracks.ut[0]
    return (np.arange(4) == 1) & (x > 2 * STAVE) & (x < 3 * STAVE)


def half_layer(tracks: Candidates) -> np.ndarray:
    """Hits on a half of SciFi layer 5."""
    return layers(5) & (tracks.scifi[0] > 0)


def quarter(of: Changer, tracks: Candidates, random: np.random.Generator) -> Candidates:
    """Move a quarter of SciFi layer 7 by 100 µm."""
    below = (of.states(tracks)[:, 4 + 7, 1] < 0)[:, None]
    return strips(tracks, 4, -0.1 * (layers(7) & (tracks.scifi[0] > 0) & below))


SCENARIOS: dict[str, tuple[Made, dict[str, float]]] = {
    "no change": (lambda of, tracks, random: tracks, {}),
    "VELO half by 20 µm, MagUp": (velo_half, {"x of the VELO half at x > 0 in MagUp": 0.02}),
    "UT stave turned by 1 mrad": (
        turned(0, on_stave, 1e-3),
        {"rz of the stave at x = 239 mm of UT layer 1": 1e-3},
    ),
    "half a SciFi layer by 100 µm": (
        shifted_strips(4, 0.1, half_layer),
        {"x of SciFi layer 5 at x > 0": 0.1},
    ),
    "T3 turned by 0.2 mrad": (
        turned(4, lambda tracks: layers(8, 9, 10, 11)[None], 2e-4),
        {"rz of T3": 2e-4},
    ),
    "20 % of T2's hits lost": (
        lost_strips("scifi", 0.2, layers(4, 5, 6, 7)),
        {"hit efficiency of T2": -0.2},
    ),
    "SciFi layer by 100 µm": (
        shifted_strips(4, 0.1, lambda tracks: layers(8)[None]),
        {"x of SciFi layer 8": 0.1},
    ),
    "T1 by 0.5 mm in z": (along_z(0.5, 0, 1, 2, 3), {"z of T1": 0.5}),
    "UT layer by 50 µm": (
        shifted_strips(0, 0.05, lambda tracks: np.arange(4)[None] == 3),
        {"x of UT layer 3": 0.05},
    ),
    "VELO half turned by 0.5 mrad": (turned_half, {"rz of the VELO half at x > 0": 5e-4}),
    "VELO module by 30 µm": (module, {"x of {module}": 0.03}),
    "UT errors × 1.2": (worse("hit errors of the UT", 0.2), {"hit errors of the UT": 0.2}),
    "field + 0.1 %": (stronger_field, {"scale of the field": 1e-3}),
    "quarter of a SciFi layer by 100 µm": (quarter, {"x of SciFi layer 7 at x > 0, y < 0": 0.1}),
    "noise in the magnet × 1.2": (
        worse("noise of the steps in magnet", 0.2),
        {"noise of the steps in magnet": 0.2},
    ),
    "10 % of a UT layer's hits lost": (
        lost_strips("ut", 0.1, np.arange(4) == 2),
        {"hit efficiency of UT layer 2": -0.1},
    ),
    "C side of SciFi by 200 µm": (
        shifted_strips(4, 0.2, lambda tracks: tracks.scifi[0] < 0),
        {"x of SciFi at x < 0": 0.2},
    ),
    "SciFi layer by ±50 µm in MagUp, MagDown": (
        lambda of, tracks, random: strips(tracks, 4, -0.05 * layers(3) * tracks.polarity[:, None]),
        {"x of SciFi layer 3 in MagUp": 0.05, "x of SciFi layer 3 in MagDown": -0.05},
    ),
    "half a layer by 100 µm, 10 % of another lost": (
        both(shifted_strips(4, 0.1, half_layer), lost_strips("scifi", 0.1, layers(2))),
        {"x of SciFi layer 5 at x > 0": 0.1, "hit efficiency of SciFi layer 2": -0.1},
    ),
}


def told(found: dict[str, Any], truth: dict[str, float]) -> dict[str, Any]:
    """Compare a verdict with the truth."""
    sizes = {one["what"]: one for one in found["found"]}
    untrue = [what for what, one in sizes.items() if not truth.keys() & {what, *one["others"]}]
    untrue += [found["verdict"]] if found["verdict"] in ("not explained", "not this geometry") else []
    return {
        "named": not untrue and sizes.keys() == truth.keys(),
        "pulls": [(one["size"] - truth[what]) / one["error"] for what, one in sizes.items() if what in truth],
        "untrue": untrue,
        "sentences": found["sentences"][:-2],
    } | {key: {what: one[key] for what, one in sizes.items()} for key in ("size", "error")}


def table(found: dict[str, Any]) -> str:
    """Write the figures as a table for a page."""
    lines = [
        "| sample | named rightly | untrue statements | size found, mean | its error | pulls, mean | width |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, seeds in found["scenarios"].items():
        sizes, errors = [], []
        for what in found["truth"][name]:
            own = [(one["size"][what], one["error"][what]) for one in seeds if what in one["size"]]
            if own:
                size, error = np.mean(own, axis=0)
                sizes.append(_size(what, size))
                errors.append(_size(what, error).lstrip("+"))
        lines.append(_line(name, seeds, [", ".join(sizes) or "–", ", ".join(errors) or "–"]))
    every = [one for seeds in found["scenarios"].values() for one in seeds]
    return "\n".join([*lines, _line("all", every, ["", ""])])


def _line(name: str, seeds: list[dict[str, Any]], middle: list[str]) -> str:
    """Write a row; the width of pulls is about their mean."""
    right, untrue = sum(one["named"] for one in seeds), sum(len(one["untrue"]) for one in seeds)
    pulls = np.array([pull for one in seeds for pull in one["pulls"]])
    last = ["–", "–"]
    if len(pulls) > 1:
        last = [
            f"{pulls.mean():+.2f}",
            f"{pulls.std(ddof=1):.2f} ± {pulls.std() / np.sqrt(2 * len(pulls)):.2f}",
        ]
    return f"| {' | '.join([name, f'{right} of {len(seeds)}', str(untrue), *middle, *last])} |"


def _size(what: str, value: float) -> str:
    kind = what.partition(" of ")[0]
    if kind in ("x", "y", "z"):
        return f"{1e3 * value:+.1f} µm"
    return f"{1e3 * value:+.3f} mrad" if kind.startswith("r") else f"{100 * value:+.2f} %"


Pairs = tuple[np.ndarray, Candidates]


def deal(files: list[Path], count: int, seeds: int, most: int) -> list[Pairs]:
    """Deal events: up to `most` candidates to the reference, the first, and about `count` to each seed."""
    event, tracks = read_tracks(files)
    place = np.random.default_rng(1).random(int(event.max()) + 1)[event] * tracks.count
    edges = most + count * np.arange(seeds + 1)
    order = np.argsort(place, kind="stable")
    parts = np.split(order, np.searchsorted(place[order], edges))[: seeds + 1]
    return [(event[rows], tracks.rows(rows)) for rows in parts]


@dataclass(frozen=True)
class Study:
    """The samples of all seeds, of which each has its own events, and what judges them."""

    changer: Changer
    tracks: list[Candidates]
    decays: list[Pairs]
    momenta: list[Solution]  # what the decays show

    @classmethod
    def of_run(cls, run: Path, parameters: ParameterSet, seeds: int) -> "Study":
        """Deal the events of a run's samples to the seeds, and measure the reference."""
        files = [
            run / f"candidates/{sample}_{side}.parquet"
            for sample in ("training", "validation")
            for side in ("up", "down")
        ]
        (event, tracks), *others = deal(files, MANY, seeds, REFERENCE)
        decays = deal(
            [run / f"candidates/jpsi_{side}.parquet" for side in ("up", "down")], PAIRS, seeds, 8 * PAIRS
        )
        first, *momenta = (measure_decays(parameters, {"jpsi": one})["jpsi"] for one in decays)
        reference = make_reference(parameters, tracks, event, pairs={"jpsi": first})
        return cls(Changer(parameters, reference), [one for _, one in others], decays[1:], momenta)

    def judge(self, name: str, seed: int) -> dict[str, Any]:
        """Change the sample of a seed, and judge it; the pairs show what the field does."""
        made, random, of = SCENARIOS[name][0], np.random.default_rng(seed), self.changer
        momenta = self.momenta[seed]
        if made is stronger_field:
            event, decays = self.decays[seed]
            decays = made(of, decays, random)
            momenta = measure_decays(of.parameters, {"jpsi": (event, decays)})["jpsi"]
        tracks = made(of, self.tracks[seed].rows(slice(0, MANY if name == OF_MANY else COUNT)), random)
        return told(assess(of.parameters, of.reference, tracks, {"jpsi": momenta}), self.truth(name))

    def truth(self, name: str) -> dict[str, float]:
        """Return the sizes of what a scenario changes, by their names."""
        module = self.changer.reference.stations.names[MODULE]
        return {what.format(module=module): size for what, size in SCENARIOS[name][1].items()}


def main() -> None:
    """Print the figures, and write them as JSON if asked."""
    line = parser(__doc__, run="results/paper_improved")
    line.add_argument("--set", type=Path, default=SET)
    line.add_argument("--seeds", type=int, default=8)
    line.add_argument("--jobs", type=int)
    line.add_argument("--only", choices=SCENARIOS, action="append")
    given = line.parse_args()
    begin = time.time()
    study, names = Study.of_run(given.run, load(given.set), given.seeds), given.only or list(SCENARIOS)
    print(f"reference after {time.time() - begin:.0f} s")
    items = [(name, seed) for name in names for seed in range(given.seeds)]
    content: dict[str, Any] = {
        **{"run": given.run.name, "set": given.set.name, "candidates": COUNT},
        "reference": study.changer.reference.count,
        "truth": {name: study.truth(name) for name in names},
        "scenarios": {name: [] for name in names},
    }
    for (name, _), one in zip(
        items, forked_map(lambda item: study.judge(*item), items, given.jobs), strict=True
    ):
        content["scenarios"][name].append(one)
        if len(content["scenarios"][name]) == given.seeds:
            write(given.json, content)
            own = {"truth": content["truth"], "scenarios": {name: content["scenarios"][name]}}
            print(table(own).splitlines()[2], flush=True)
    print(table(content).splitlines()[-1])
    print(f"{time.time() - begin:.0f} s")


if __name__ == "__main__":
    main()
