"""Electrons of a run and of LHCb's full simulation: what they radiate, where photons convert, and their fit.

Run: python -m benchmarks.electrons [RUN] [LHCB] [--json FILE]

LHCB is the folder of ten events of LHCb's full simulation.

- `median`: median of δp/p of the fits of candidates whose hits are an electron's, above 2 GeV, for 2 < η < 5.
  The run's set fits both samples.
- `beyond`: share of them that lost more than 5 % of the true momentum.
- `electrons`: electrons with a hit in the SciFi by z of their origin, for ten events.
- `fits`: electrons that begin before the end of the VELO, fitted as pions and as electrons
  (:mod:`parkf.proof.validation.electrons`): of the run's validation (`collisions`), of simulated decays, of
  LHCb's events, and with ln p uniform (`uniform`), as in the training but of another seed. Of these,
  `closure` is the integral of the density at the truth: entries in ten bins, and the largest distance of its
  distribution from a uniform one.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
from benchmarks.command import LHCB, lhcb_events, parser, write

from parkf.detector.field import FieldMap
from parkf.detector.geometry import SCIFI_PLANES, Geometry, load_geometry
from parkf.fit import cpu, fit_file, is_good
from parkf.fit.candidates import from_arrays
from parkf.fit.electron import TrackSeen, as_electrons, density
from parkf.fit.sample import GHOST_PURITY, load_sample, momentum_residual
from parkf.fit.truth import Files
from parkf.io.events import particle_key
from parkf.io.files import scratch_folder
from parkf.io.kinds import KINDS
from parkf.io.project import PROJECT
from parkf.io.tables import HITS, PARTICLES
from parkf.params.parameter_set import load
from parkf.proof.validation.electrons import electrons_fitted, measure_electrons, momenta
from parkf.proof.validation.fitting import validation_files
from parkf.proof.validation.kinds import Simulated
from parkf.simulation.generate.decays import DECAYS as ALL_DECAYS
from parkf.simulation.generate.decays import ELECTRONS as DECAYS
from parkf.simulation.generate.signal import generate_signal
from parkf.simulation.particles import ELECTRON
from parkf.simulation.pattern import find_candidates
from parkf.simulation.response.simulate import simulate
from parkf.training.electron_sample import simulate_electrons

Z = (-300.0, 100.0, 330.0, 1200.0, 2250.0, 2700.0)  # mm
ETA, P_MIN, LOSS = (2.0, 5.0), 2000.0, 0.05
VELO_END = 750.0  # mm
# Electrons with ln p uniform, their seed, and their range of fitted momenta, MeV.
UNIFORM, SEED, P_RANGE = 60_000, 8, (2e3, 100e3)
COLLISIONS = {"jpsi-ee": 30_000, "gamma-ee": 6000}


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


def uniform(parameters: Path, geometry: Geometry, field: FieldMap) -> dict[str, Any]:
    """Fit electrons with ln p uniform, and measure them and the closure of the density."""
    numbers, parts, below = load(parameters), [], []
    for columns in simulate_electrons(geometry, field, tracks=UNIFORM, seed=SEED, threads=1):
        candidates = from_arrays(columns, np.float32)
        plain = cpu.fit(numbers, candidates, smoother=True, threads=1)
        seen, good = TrackSeen.of(
            plain, cpu.fit_kind(numbers, candidates, KINDS["upstream"], threads=1), candidates
        )
        p = 1 / np.abs(seen.qop)
        good &= (p > P_RANGE[0]) & (p < P_RANGE[1])
        fitted = as_electrons(numbers, candidates, plain, threads=1)
        true = columns["true_qop"]
        rows = {"p_true": 1 / np.abs(true), "true_qop": true, "qop": fitted.qop, **fitted.more}
        rows |= {"true_tx": fitted.tx, "true_ty": fitted.ty}
        parts.append({name: values[good] for name, values in rows.items()})
        assert numbers.electron is not None
        below.append(density(numbers.electron, seen.rows(good), -np.log(np.abs(true) * p)[good])[1])
    shares = np.sort(np.concatenate(below))
    steps = np.arange(1, len(shares) + 1) / len(shares)
    closure = {
        "content": np.histogram(shares, 10, (0, 1))[0].tolist(),
        "largest": float(np.abs(shares - steps).max()),
    }
    return {**momenta(_joined(parts)), "closure": closure}


def _joined(parts: list[dict[str, Any]]) -> Any:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def decays(folder: Path, geometry: Geometry, field: FieldMap) -> list[Simulated]:
    """Simulate decays to electrons."""
    made = []
    for name in DECAYS:
        particles, hits = folder / f"{name}_up.parquet", folder / f"{name}-hits.parquet"
        generate_signal(
            particles, signal=name, beam=geometry.beam, number=COLLISIONS[name], seed=SEED, workers=1
        )
        simulate(particles, None, hits, geometry=geometry, field=field, polarity=+1, seed=SEED, threads=1)
        made.append(Simulated(particles, hits, None, +1))
    return made


def fits(run: Path, scratch: Path) -> dict[str, Any]:
    """Measure fits as pions and as electrons with a run's set."""
    parameters = run / "set"
    geometry, field = load_geometry(PROJECT / "data/geometry/run3.yaml"), FieldMap.load(run / "field.npz")
    files = validation_files(run)
    of_decays = decays(scratch, geometry, field)
    measured = measure_electrons(parameters, files, of_decays, geometry=geometry, field=field, threads=1)
    return {**measured, "uniform": uniform(parameters, geometry, field)}


def lhcb(folder: Path, parameters: Path, scratch: Path) -> dict[str, Any]:
    """Measure LHCb's ten events with a parameter set."""
    candidates, fitted = scratch / "candidates.parquet", scratch / "fitted.parquet"
    geometry, field, hits, particles = lhcb_events(folder, scratch)
    find_candidates(hits, candidates, geometry=geometry, field=field, polarity=-1, workers=2, matched=True)
    fit_file(parameters, candidates, fitted, trust=True)
    measured = losses([Files(particles, candidates, fitted)])
    found = {**measured, "electrons": by_origin([hits], [particles])}
    rows = electrons_fitted(parameters, [Files(particles, candidates)], VELO_END, threads=1)
    of_electrons = momenta(rows)
    return found | {"fit": {name: value for name, value in of_electrons.items() if name != "histogram"}}


def embedded(run: Path) -> dict[str, Any]:
    """Measure the validation samples of a finished run."""
    names = [path.name for path in sorted(run.glob("candidates/validation_*.parquet"))]
    paths = {
        kind: [run / kind / name for name in names]
        for kind in ("hits", "particles", "candidates", "fitted/parkf")
    }
    files = [
        Files(particles, candidates, fitted)
        for particles, candidates, fitted in zip(
            paths["particles"], paths["candidates"], paths["fitted/parkf"], strict=True
        )
    ]
    return losses(files) | {"electrons": by_origin(paths["hits"], paths["particles"])}


def _shown(name: str) -> str:
    return {"uniform": "ln p uniform", "collisions": "collisions"}.get(name) or ALL_DECAYS[name].title


def _percent(one: dict[str, Any], name: str, spec: str = ".2f") -> str:
    text = f"{100 * one[name]:{spec}} ± {100 * one[f'{name}_error']:{spec.lstrip('+')}}"
    return text.replace("-", "−")


def table(found: dict[str, Any]) -> str:
    """Return the figures of all samples as a table in Markdown."""
    lines = [
        "| electrons of | number | most probable δp/p as pions [%] | as electrons [%]"
        " | half of the central 68 % as pions [%] | as electrons [%] | ratio | with the mean"
        " | truth within the 68 % of the fit [%] |",
        "|---" * 9 + "|",
    ]
    for name, one in {"uniform": found["uniform"], **found["tracks"]}.items():
        cells = [
            *(_shown(name), f"{one['n']:,}"),
            *(_percent(one, key, "+.2f") for key in ("pion_most_probable", "most_probable")),
            *(_percent(one, key, ".1f") for key in ("pion_width68", "width68")),
            *(
                f"{one[key]:.3f} ± {one[f'{key}_error']:.3f}"
                for key in ("width68_over_pion", "one_width68_over_pion")
            ),
            _percent(one, "inside", ".1f"),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def peaks(found: dict[str, Any]) -> str:
    """Return the peaks of decays as a table in Markdown."""
    lines = [
        "| | pairs | most probable, as pions | as electrons | half of the central 68 %, as pions |"
        " as electrons | ratio | within 5 % of the truth, as pions [%] | as electrons [%] |",
        "|---" * 9 + "|",
    ]
    for name, one in found["peaks"].items():
        unit, scale, spec = ("MeV", 1.0, ".0f") if ALL_DECAYS[name].mass else ("%", 100.0, ".1f")

        def text(key: str, one: Any = one, unit: str = unit, scale: float = scale, spec: str = spec) -> str:
            told = f"{scale * one[key]:{spec}} ± {scale * one[f'{key}_error']:{spec}} {unit}"
            return told.replace("-", "−")

        keys = ("pion_most_probable", "most_probable", "pion_width68", "width68")
        ratio = f"{one['width68_over_pion']:.3f} ± {one['width68_over_pion_error']:.3f}"
        what = ALL_DECAYS[name].title + (
            ", mass" if ALL_DECAYS[name].mass else ", p of both over the photon's, less one"
        )
        shares = [*map(text, keys), ratio, *(_percent(one, key, ".1f") for key in ("pion_near", "near"))]
        lines.append(f"| {what} | {one['n']:,} | {' | '.join(shares)} |")
    return "\n".join(lines)


def cells(found: dict[str, Any]) -> str:
    """Return the figures in cells of p and η as a table in Markdown."""
    lines = [
        "| p [GeV] | η | electrons | most probable δp/p [%] | 68 % over the pions' | truth within [%] |",
        "|---" * 6 + "|",
    ]
    for one in found["uniform"]["cells"]:
        texts = [
            *(
                f"{one['p_min']:g}–{one['p_max']:g}",
                f"{one['eta_min']:g}–{one['eta_max']:g}",
                f"{one['n']:,}",
            ),
            _percent(one, "most_probable", "+.2f"),
            f"{one['width68_over_pion']:.2f} ± {one['width68_over_pion_error']:.2f}",
            _percent(one, "inside", ".0f"),
        ]
        lines.append(f"| {' | '.join(texts)} |")
    return "\n".join(lines)


def main() -> None:
    options = parser(__doc__, run="results/improved", lhcb=LHCB).parse_args()
    with scratch_folder() as scratch:
        of_fits = fits(options.run, Path(scratch))
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
    print(table(of_fits), peaks(of_fits), cells(of_fits), sep="\n\n")
    write(options.json, {"run": str(options.run), "z": Z, **samples, "fits": of_fits})


if __name__ == "__main__":
    main()
