"""What `parkf monitor` says of samples whose detector is known.

Run: python -m benchmarks.monitor [RUN] [--json FILE] [--seeds N] [--only NAME]

The candidates are those of a run's training and validation samples, of both polarities, in random order. Each
seed has 8,000 of its own, the reference 60,000 others. Hits of a sample are moved, made worse or removed:

- a module or layer at larger x has its hits at smaller x. A layer that is turned or moved along z has its
  hits where the fitted tracks meet it.
- errors and kicks are drawn as the monitor's responses are, with other random numbers.
- hits that are lost are removed at random.

A sample is named rightly if the verdict names what was changed and nothing else. A statement is untrue if it
names what was not changed, without the true change among those that the data do not tell from it.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from benchmarks.command import parser, write

from parkf.data.changes import all_factors, changed
from parkf.data.evidence import Sample
from parkf.data.parts import STAVE
from parkf.data.reference import Reference, make_reference
from parkf.data.tracks import read_candidates
from parkf.data.verdict import judge
from parkf.detector.geometry import Geometry, load_geometry
from parkf.fit.candidates import Candidates
from parkf.fit.residuals import fit_residuals
from parkf.io.project import PROJECT
from parkf.io.tables import VELO_SLOTS
from parkf.params.parameter_set import ParameterSet, load

COUNT, REFERENCE = 8_000, slice(100_000, 160_000)

Made = Callable[["Changer", Candidates, np.random.Generator], Candidates]


class Changer:
    """Changes candidates by what a geometry says of their hits."""

    def __init__(self, parameters: ParameterSet, geometry: Geometry) -> None:
        self.parameters, modules = parameters, geometry.description.velo.modules
        self.z = np.array([z for z, _ in modules])
        self.left = np.array([side == "left" for _, side in modules])

    def states(self, tracks: Candidates) -> np.ndarray:
        """Fitted x, y, tx, ty at UT and SciFi layers, (n, 16, 4)."""
        return fit_residuals(self.parameters, tracks)[1].state[VELO_SLOTS:].transpose(2, 0, 1)

    def velo(self, tracks: Candidates, own: Callable[..., np.ndarray], x: Any, y: Any) -> Candidates:
        """Add x and y of the hits, mm or functions of (x, y), where `own` of their modules is true."""
        of = np.abs(np.nan_to_num(tracks.velo[2])[..., None] - self.z).argmin(-1)
        here, kind = own(of) * 1.0, tracks.qop.dtype
        old = tracks.velo[:2]
        by = (one(*old) if callable(one) else one for one in (x, y))
        new = ((value + here * more).astype(kind) for value, more in zip(old, by, strict=True))
        return replace(tracks, velo=(*new, tracks.velo[2]))


def strips(tracks: Candidates, detector: str, by: np.ndarray) -> Candidates:
    """Add x (n, layers) of the hits of the UT or SciFi."""
    x, *others = getattr(tracks, detector)
    return replace(tracks, **{detector: ((x + by).astype(x.dtype), *others)})


def lose(tracks: Candidates, detector: str, lost: np.ndarray) -> Candidates:
    """Remove hits (n, layers)."""
    return replace(
        tracks, **{detector: tuple(np.where(lost, np.nan, of) for of in getattr(tracks, detector))}
    )


def velo_half(of: Changer, tracks: Candidates, random: np.random.Generator) -> Candidates:
    """Move a half by 20 µm, in MagUp."""
    up = (tracks.polarity > 0)[:, None]
    return of.velo(tracks, lambda module: of.left[module] & up, -0.02, 0.0)


def turned(of: Changer, tracks: Candidates, detector: str, turn: float) -> np.ndarray:
    """Return what a turn of layers about the beam adds to x of their hits, (n, layers)."""
    part = {"ut": slice(0, 4), "scifi": slice(4, None)}[detector]
    x, y = of.states(tracks)[:, part, :2].transpose(2, 0, 1)
    return turn * (y + np.nan_to_num(getattr(tracks, detector)[2]) * x)


def turned_stave(of: Changer, tracks: Candidates, random: np.random.Generator) -> Candidates:
    """Turn a stave of UT layer 1 by 1 mrad."""
    x = tracks.ut[0]
    own = (np.arange(4) == 1) & (x > 2 * STAVE) & (x < 3 * STAVE)
    return strips(tracks, "ut", np.where(own, turned(of, tracks, "ut", 1e-3), 0.0))


def turned_station(of: Changer, tracks: Candidates, random: np.random.Generator) -> Candidates:
    """Turn T3 by 0.2 mrad."""
    return strips(tracks, "scifi", np.where(layers(8, 9, 10, 11), turned(of, tracks, "scifi", 2e-4), 0.0))


def along_z(of: Changer, tracks: Candidates, random: np.random.Generator) -> Candidates:
    """Move the SciFi by 1 mm."""
    states, slopes = of.states(tracks)[:, 4:], np.nan_to_num(tracks.scifi[2])
    return strips(tracks, "scifi", states[..., 2] - slopes * states[..., 3])


def shifted_strips(detector: str, size: float, own: Callable[[Candidates], np.ndarray]) -> Made:
    """Move layers along x."""
    return lambda of, tracks, random: strips(tracks, detector, -size * own(tracks))


def lost_strips(detector: str, share: float, own: Callable[[Candidates], np.ndarray]) -> Made:
    """Lose a share of the hits."""

    def lost(of: Changer, tracks: Candidates, random: np.random.Generator) -> Candidates:
        here = own(tracks) & (random.random(getattr(tracks, detector)[0].shape) < share)
        return lose(tracks, detector, here)

    return lost


def worse(name: str, size: float) -> Made:
    """Enlarge hit errors or noise."""
    change = next(one for one in all_factors() if one.what == name)
    return lambda of, tracks, random: next(iter(changed(of.parameters, tracks, change, size, random)))


def layers(*numbers: int) -> np.ndarray:
    """Whether a SciFi layer is one of these, (12,)."""
    return np.isin(np.arange(12), numbers)


def on_stave(tracks: Candidates) -> np.ndarray:
    """Hits on a stave of UT layer 2."""
    x = tracks.ut[0]
    return (np.arange(4) == 2) & (x > -2 * STAVE) & (x < -STAVE)


SCENARIOS: dict[str, tuple[Made, dict[str, float]]] = {
    "no change": (lambda of, tracks, random: tracks, {}),
    "VELO half by 20 µm, MagUp": (velo_half, {"x of the VELO half at x > 0 in MagUp": 0.02}),
    "UT stave turned by 1 mrad": (turned_stave, {"rz of the stave at x = 239 mm of UT layer 1": 1e-3}),
    "half a SciFi layer by 100 µm": (
        shifted_strips("scifi", 0.1, lambda tracks: layers(5) & (tracks.scifi[0] > 0)),
        {"x of SciFi layer 5 at x > 0": 0.1},
    ),
    "T3 turned by 0.2 mrad": (turned_station, {"rz of T3": 2e-4}),
    "20 % of T2's hits lost": (
        lost_strips("scifi", 0.2, lambda tracks: layers(4, 5, 6, 7)[None]),
        {"hit efficiency of T2": -0.2},
    ),
    "SciFi layer by 30 µm": (
        shifted_strips("scifi", 0.03, lambda tracks: layers(5)[None]),
        {"x of SciFi layer 5": 0.03},
    ),
    "UT errors +10 %": (worse("hit errors of the UT", 0.1), {"hit errors of the UT": 0.1}),
    "noise × 1.1": (worse("noise of all steps", 0.1), {"noise of all steps": 0.1}),
    "half of a UT stave's hits lost": (
        lost_strips("ut", 0.5, on_stave),
        {"hit efficiency of the stave at x = -143 mm of UT layer 2": -0.5},
    ),
    "SciFi by 1 mm in z": (along_z, {"z of SciFi": 1.0}),
    "half of the UT by 50 µm": (
        shifted_strips("ut", 0.05, lambda tracks: tracks.ut[0] > 0),
        {"x of the UT at x > 0": 0.05},
    ),
    "half a layer by 100 µm, 10 % of another lost": (
        lambda of, tracks, random: lost_strips("scifi", 0.1, lambda one: layers(2)[None])(
            of, SCENARIOS["half a SciFi layer by 100 µm"][0](of, tracks, random), random
        ),
        {"x of SciFi layer 5 at x > 0": 0.1, "hit efficiency of SciFi layer 2": -0.1},
    ),
}


def told(reference: Reference, sample: Sample, truth: dict[str, float]) -> dict[str, Any]:
    """Judge a sample, and compare the verdict with the truth."""
    verdict = judge(reference, sample)
    found = [one.as_json() for one in verdict.found]
    named = verdict.known and {one["what"] for one in found} == set(truth)
    pulls = [(one["size"] - truth[one["what"]]) / one["error"] for one in found if one["what"] in truth]
    untrue = [one["what"] for one in found if not truth.keys() & {one["what"], *one["others"]}]
    return {"named": named, "pulls": pulls, "untrue": untrue, "sentences": verdict.sentences()[:-2]} | {
        name: {one["what"]: one[name] for one in found} for name in ("size", "error")
    }


def table(found: dict[str, Any]) -> str:
    """Write the figures as a table for a page."""
    lines = [
        "| sample | named rightly | untrue statements | size found, mean | its error | pulls, rms |",
        "|---|---|---|---|---|---|",
    ]
    for name, seeds in found["scenarios"].items():
        right, untrue = sum(one["named"] for one in seeds), sum(len(one["untrue"]) for one in seeds)
        sizes, errors = [], []
        for what in SCENARIOS[name][1]:
            own = [(one["size"][what], one["error"][what]) for one in seeds if what in one["size"]]
            if own:
                size, error = np.mean(own, axis=0)
                sizes.append(_size(what, size))
                errors.append(_size(what, error).lstrip("+"))
        pulls = [pull for one in seeds for pull in one["pulls"]]
        width = f"{np.sqrt(np.mean(np.square(pulls))):.2f}" if pulls else "–"
        lines.append(
            f"| {name} | {right} of {len(seeds)} | {untrue} | {', '.join(sizes) or '–'} |"
            f" {', '.join(errors) or '–'} | {width} |"
        )
    return "\n".join(lines)


def _size(what: str, value: float) -> str:
    kind = what.partition(" of ")[0]
    if kind in ("x", "y", "z"):
        return f"{1e3 * value:+.1f} µm"
    return f"{1e3 * value:+.3f} mrad" if kind.startswith("r") else f"{100 * value:+.2f} %"


def main() -> None:
    """Print the figures, and write them as JSON if asked."""
    line = parser(__doc__, run="results/default")
    line.add_argument("--seeds", type=int, default=8)
    line.add_argument("--only", choices=SCENARIOS, action="append")
    given = line.parse_args()
    begin, parameters = time.process_time(), load(given.run / "set")
    files = [
        given.run / f"candidates/{sample}_{side}.parquet"
        for sample in ("training", "validation")
        for side in ("up", "down")
    ]
    tracks = read_candidates(files)
    tracks = tracks.rows(np.random.default_rng(1).permutation(tracks.count))
    reference = make_reference(parameters, tracks.rows(REFERENCE))
    geometry = load_geometry(
        PROJECT / "data/geometry/run3.yaml", PROJECT / "data/geometry/alignment_nominal.yaml"
    )
    changer, found = Changer(parameters, geometry), {}
    for name in given.only or SCENARIOS:
        made, truth = SCENARIOS[name]
        found[name] = []
        for seed in range(given.seeds):
            own = made(
                changer, tracks.rows(slice(seed * COUNT, (seed + 1) * COUNT)), np.random.default_rng(seed)
            )
            found[name].append(told(reference, Sample(parameters, own), truth))
        content = {
            "run": given.run.name,
            "candidates": COUNT,
            "reference": reference.count,
            "scenarios": found,
        }
        write(given.json, content)
        print(table({"scenarios": {name: found[name]}}).splitlines()[-1], flush=True)
    print(f"{time.process_time() - begin:.0f} s of processor time")


if __name__ == "__main__":
    main()
