"""Electrons of a run and of LHCb's full simulation: what they radiate, and where photons convert.

Run: python -m benchmarks.electrons [RUN] [LHCB] [--json FILE]

LHCB is the folder of ten events of LHCb's full simulation.

- `median`: median of δp/p of the fits of candidates whose hits are an electron's, above 2 GeV, for 2 < η < 5.
  The run's set fits both samples.
- `beyond`: share of them that lost more than 5 % of the true momentum.
- `electrons`: electrons with a hit in the SciFi by z of their origin, for ten events.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
from benchmarks.command import LHCB, parser, write

from parkf.detector.field import DipoleSources, evaluate_on_grid
from parkf.detector.geometry import SCIFI_PLANES, load_geometry
from parkf.fit import fit_file, is_good
from parkf.fit.sample import GHOST_PURITY, load_sample, momentum_residual
from parkf.fit.truth import Files
from parkf.imports.hits.take import take_tables
from parkf.io.events import particle_key
from parkf.io.files import scratch_folder
from parkf.io.project import PROJECT
from parkf.io.tables import HITS, PARTICLES
from parkf.simulation.particles import ELECTRON
from parkf.simulation.pattern import find_candidates

Z = (-300.0, 100.0, 330.0, 1200.0, 2250.0, 2700.0)  # mm
ETA, P_MIN, LOSS = (2.0, 5.0), 2000.0, 0.05


def losses(files: list[Files]) -> dict[str, Any]:
    """Measure δp/p of electrons with a good fit, of one sample or of several."""
    rows = load_sample(files).rows
    eta = np.arcsinh(1.0 / np.hypot(rows["true_tx"], rows["true_ty"]))
    keep = (np.abs(rows["pdg_id"]) == ELECTRON) & (rows["purity"] >= GHOST_PURITY) & is_good(rows["status"])
    keep &= (rows["p_true"] > P_MIN) & (eta > ETA[0]) & (eta < ETA[1])
    lost = momentum_residual(rows[keep])
    beyond, count = float(np.mean(lost < -LOSS)), len(lost)
    low, middle, high = np.quantile(lost, [0.5 - 0.5 / count**0.5, 0.5, 0.5 + 0.5 / count**0.5])
    return {
        "tracks": count,
        "median": float(middle),
        "median_error": float(high - low) / 2,
        "beyond": beyond,
        "beyond_error": float(np.sqrt(beyond * (1 - beyond) / count)),
    }


def by_origin(hits: list[Path], particles: list[Path]) -> list[float]:
    """Count electrons with a hit in the SciFi by z of their origin, for ten events."""
    counts, events = np.zeros(len(Z) - 1), 0
    for hits_path, particles_path in zip(hits, particles, strict=True):
        table = HITS.open(hits_path).read(["event", "particle", "plane"])
        there = table.filter(pc.greater_equal(table["plane"], SCIFI_PLANES.start))
        of = {name: np.asarray(there[name]) for name in ("event", "particle")}
        all_of = {
            name: np.asarray(column)
            for name, column in zip(
                ("event", "particle", "pdg_id", "z"),
                PARTICLES.open(particles_path).read(["event", "particle", "pdg_id", "z"]).columns,
                strict=True,
            )
        }
        chosen = (np.abs(all_of["pdg_id"]) == ELECTRON) & np.isin(particle_key(all_of), particle_key(of))
        # Events behind the last one with hits have particles alone.
        counts += np.histogram(all_of["z"][chosen], Z)[0]
        events += len(np.unique(np.asarray(table["event"])))
    return [float(count) for count in 10 * counts / events]


def lhcb(folder: Path, parameters: Path, scratch: Path) -> dict[str, Any]:
    """Measure LHCb's ten events with a parameter set."""
    hits, particles, candidates, fitted = (
        scratch / f"{name}.parquet" for name in ("hits", "particles", "candidates", "fitted")
    )
    geometry = load_geometry(PROJECT / "data/geometry/run3_fullsim.yaml")
    field = evaluate_on_grid(DipoleSources.load(PROJECT / "data/field/dipole.json"))
    take_tables(folder / "hits.parquet", folder / "tracks.parquet", hits_to=hits, particles_to=particles)
    find_candidates(hits, candidates, geometry=geometry, field=field, polarity=-1, workers=2, matched=True)
    fit_file(parameters, candidates, fitted, trust=True)
    measured = losses([Files([particles], [candidates], [fitted])])
    return measured | {"electrons": by_origin([hits], [particles])}


def embedded(run: Path) -> dict[str, Any]:
    """Measure the validation samples of a finished run."""
    names = [path.name for path in sorted(run.glob("candidates/validation_*.parquet"))]
    paths = {
        kind: [run / kind / name for name in names]
        for kind in ("hits", "particles", "candidates", "fitted/parkf")
    }
    files = [
        Files([particles], [candidates], [fitted])
        for particles, candidates, fitted in zip(
            paths["particles"], paths["candidates"], paths["fitted/parkf"], strict=True
        )
    ]
    return losses(files) | {"electrons": by_origin(paths["hits"], paths["particles"])}


def main() -> None:
    options = parser(__doc__, run="results/default", lhcb=LHCB).parse_args()
    with scratch_folder() as scratch:
        samples = {
            "embedded": embedded(options.run),
            "lhcb": lhcb(options.lhcb, options.run / "set", Path(scratch)),
        }
    for name, one in samples.items():
        print(
            f"{name:8}  {one['tracks']:5} electrons  median δp/p {100 * one['median']:+.1f} ±"
            f" {100 * one['median_error']:.1f} %  beyond 5 %: {100 * one['beyond']:.1f} ±"
            f" {100 * one['beyond_error']:.1f} %  by z of origin: "
            + ", ".join(f"{count:.1f}" for count in one["electrons"])
        )
    write(options.json, {"run": str(options.run), "z": Z, **samples})


if __name__ == "__main__":
    main()
