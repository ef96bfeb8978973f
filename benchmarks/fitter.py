"""Compares the fit's speed with the machine's limits and with a dense scalar fit, scheme by scheme.

Run: python -m benchmarks.fitter [--forms production|improved] [--json FILE]
Tracks have 10 VELO, 4 UT and 12 SciFi hits, from toys that follow the step functions.

A time is the median of seven runs that had the cores to themselves. A probe before and after each run checks
this. If there were not seven such runs in six seconds, the median is over the least disturbed ones
(`disturbance` is the time of the probe, divided by its shortest time). Two threads are compared with one
thread that runs on either core in turn, because other programs may slow one core. They are also compared
with one thread on whichever core the system chooses.

There are three baselines. The first is production's scheme with dense 5x5 matrices, one track at a time,
compiled with -O3 for this machine (dense.hpp). The second is batched NumPy (the tests' independent fit,
float64). The third is the floor: the number of counted operations over the measured rate of multiply-adds.
Where CuPy finds a GPU, the fit is timed there as well.
"""

import os
import platform
import re
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import parkf._fitter as _fitter
from benchmarks import gpu
from benchmarks.command import parser, write
from benchmarks.machine import Machine

from parkf.fit import Fitted, cpu, fit
from parkf.fit.candidates import Candidates, from_arrays
from parkf.io.kinds import KINDS, LONG
from parkf.io.option_types import FormsName
from parkf.model.steps import FORMS
from parkf.params.ghost_score import NUMBERS, Score

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "fit"))
from kalman_reference import ReferenceFit
from kalman_toy import Toy, generate
from uniform_field import uniform

# The trigger's arithmetic exists only for production's forms.
SCHEMES = {"improved": ("smoother",), "production": ("smoother", "trigger")}
VELO_HITS = 10
KICK = 0.1  # T; of the field that the slices of downstream tracks have in place of a trained one
# Numbers of tracks. Rates on one core use the first: the 11 µs of the call itself do not matter, and the
# tracks fit into the third-level cache, so arithmetic is measured. Rates of several threads use the last,
# which is larger than any cache.
SIZES = (4096, 32768, 262144)


def toy_of_ten(count: int, forms: FormsName) -> Toy:
    """Toys of 3 to 50 GeV, all with ten VELO hits."""
    toys = [
        generate(6000, momentum, seed=int(momentum), forms=forms) for momentum in (3000.0, 8000.0, 50000.0)
    ]
    chosen = [np.flatnonzero(toy.arrays["velo_n"] >= VELO_HITS) for toy in toys]
    order = np.random.default_rng(1).permutation(sum(map(len, chosen)))[:count]

    def mixed(parts: list[np.ndarray]) -> np.ndarray:
        return np.concatenate([p[c] for p, c in zip(parts, chosen, strict=True)])[order]

    arrays = {name: mixed([toy.arrays[name] for toy in toys]) for name in toys[0].arrays}
    arrays["velo_n"] = np.full(len(order), VELO_HITS)
    for name in ("velo_x", "velo_y", "velo_z"):
        arrays[name][:, VELO_HITS:] = np.nan
    vertices, z_vertices = mixed([toy.vertex for toy in toys]), mixed([toy.z_vertex for toy in toys])
    return Toy(toys[0].parameters, arrays, vertices, z_vertices)


def repeated(toy: Toy, count: int, precision: str) -> Candidates:
    """Repeat the toy's candidates until there are `count`."""
    times = -(-count // len(toy.arrays["qop"]))
    arrays = {name: np.concatenate([a] * times)[:count] for name, a in toy.arrays.items()}
    return from_arrays(arrays, precision)


def run_of_fits(tracks: Candidates, fitted: Callable[[], object]) -> tuple[int, Callable[[], None]]:
    """Return how many tracks a run fits on one core, and the run, which fits the batch many times."""
    # Fit so often that what earlier programs left in the caches no longer matters.
    turns = max(1, 262144 // tracks.count)

    def run() -> None:
        for _ in range(turns):
            fitted()

    run()
    return turns * tracks.count, run


def of_long(
    toy: Toy, tracks: Candidates, *, smoother: bool = True, build: str = ""
) -> tuple[int, Callable[[], None]]:
    """Return the same for long tracks, from rows in memory to result arrays."""
    return run_of_fits(
        tracks, partial(cpu.fit, toy.parameters, tracks, smoother=smoother, threads=1, build=build)
    )


def tracks_per_second(
    machine: Machine, toy: Toy, tracks: Candidates, *, smoother: bool = True, build: str = ""
) -> float:
    """Rate of fits on one core."""
    count, run = of_long(toy, tracks, smoother=smoother, build=build)
    return count / machine.seconds(run)


def extras(machine: Machine, toy: Toy, tracks: Candidates) -> dict[str, float]:
    """Rates of one core with each optional part of the fit.

    The parts are states at the RICH planes, the robust fit and ghost scores. Their
    runs alternate with those of the plain fit, so that ratios hold even if other programs use the core. The
    toys have no wrong hits and no hard scatters; in a real run more candidates are fitted a second time.
    """
    p = toy.parameters
    networks = np.random.default_rng(1).normal(size=NUMBERS).astype(np.float32)
    scored = SimpleNamespace(**(vars(p) | {"score": Score(networks, 0, 0)}))

    def with_states() -> None:
        cpu.fit_with_rich(p, tracks, threads=1)

    def robust() -> None:
        cpu.fit(p, tracks, smoother=True, threads=1, robust=True)

    def with_scores() -> None:
        cpu.fit(scored, tracks, smoother=True, threads=1, score=True)

    def plain() -> None:
        cpu.fit(p, tracks, smoother=True, threads=1)

    runs = {
        "plain": plain,
        "rich_states": with_states,
        "robust": robust,
        "scores": with_scores,
    }
    timings = machine.timings(list(runs.values()))
    return {name: tracks.count / timing.value for name, timing in zip(runs, timings, strict=True)}


def of_kinds(machine: Machine, toy: Toy, precision: str, peak: float) -> dict[str, dict[str, Any]]:
    """Rates of one core for each kind of tracks, beside its own floor.

    Runs of all kinds alternate. `peak` is the machine's rate of multiply-adds.
    """
    p, sigma = toy.parameters, toy.parameters.manifest.constants.velo_sigma
    p.slices = uniform(KICK)
    kinds = [kind for kind in KINDS.values() if kind is not LONG]
    rates: dict[str, dict[str, float]] = {kind.name: {} for kind in kinds}
    for size in SIZES:
        tracks = repeated(toy, size, precision)
        runs = [run_of_fits(tracks, partial(cpu.fit_kind, p, tracks, kind, threads=1)) for kind in kinds]
        timings = machine.timings([run for _, run in runs])
        for kind, (count, _), timing in zip(kinds, runs, timings, strict=True):
            rates[kind.name][str(size)] = count / timing.value
    single = repeated(toy, SIZES[0], "float32")
    result = {}
    for name, batch in rates.items():
        flops = sum(machine.kind_operations(single, p.constant, p.table, sigma, name, p.slices).values())
        rate = batch[str(SIZES[0])]
        result[name] = {
            "tracks_per_s_core": rate,
            "flops_per_track": flops,
            "floor_ratio": peak / flops / rate,
            "batch": batch,
        }
    return result


def numpy_rate(toy: Toy) -> float:
    part = Toy(toy.parameters, {n: a[:512] for n, a in toy.arrays.items()}, toy.vertex, toy.z_vertex)
    begin = time.thread_time()
    ReferenceFit(part)
    return 512 / (time.thread_time() - begin)


def measure(machine: Machine, toy: Toy, precision: str) -> dict[str, Any]:
    p, sigma = toy.parameters, toy.parameters.manifest.constants.velo_sigma
    item = np.dtype(precision).itemsize
    # The large sample has the same number of bytes in both precisions.
    tracks, large = (repeated(toy, size, precision) for size in (SIZES[0], SIZES[-1] * 4 // item))
    single = repeated(toy, SIZES[0], "float32")
    schemes = SCHEMES[p.manifest.forms]
    counted = {
        name: machine.operations(single, p.constant, p.table, sigma, smoother=name == "smoother")
        for name in schemes
    }
    flops = {name: sum(parts.values()) for name, parts in counted.items()}
    count, run = of_long(toy, tracks)
    of_fit, of_dense, of_peak = machine.timings(
        [
            run,
            lambda: machine.dense(tracks, p.constant, p.table, sigma),
            lambda: machine.multiply_adds(precision),
        ]
    )
    rate, dense = count / of_fit.value, tracks.count / of_dense.value
    peak = machine.multiply_adds(precision) / of_peak.value

    def fit_large(threads: int) -> None:
        cpu.fit(p, large, smoother=True, threads=threads)

    of_two, of_two_free = machine.two_thread_speedup(fit_large)
    cores = os.cpu_count() or 1
    return {
        "tracks_per_s_core": rate,
        "floor_ratio": peak / flops["smoother"] / rate,
        "vs_dense_scalar": rate / dense,
        "disturbance": max(timing.disturbance for timing in (of_fit, of_dense, of_peak)),
        "two_thread_speedup": of_two.value,
        "two_thread_speedup_free": of_two_free,
        "two_thread_disturbance": of_two.disturbance,
        "tracks_per_s_all_cores": large.count / machine.seconds(lambda: fit_large(cores), cores=cores),
        "two_thread_peak": machine.two_thread_peak(precision),
        "dense_scalar_tracks_per_s": dense,
        "peak_flops": peak,
        "flops_per_track": flops,
        "operations_per_track": counted,
        "bytes_per_track": item * (3 * VELO_HITS + 4 * 4 + 4 * 12 + 2 + 16) + 4 * 5,
        "batch": {str(n): tracks_per_second(machine, toy, repeated(toy, n, precision)) for n in SIZES},
        "schemes": {n: tracks_per_second(machine, toy, tracks, smoother=n == "smoother") for n in schemes},
        "extras": extras(machine, toy, repeated(toy, SIZES[1], precision)),
        "kinds": of_kinds(machine, toy, precision, peak),
        "builds": {build: tracks_per_second(machine, toy, tracks, build=build) for build in _fitter.builds()},
    }


def measure_gpu(device: str, toy: Toy, cpu_results: dict[str, Any]) -> dict[str, Any]:
    rates = {
        precision: gpu.measure(
            toy.parameters, repeated(toy, SIZES[0], precision), of_cpu["flops_per_track"]["smoother"]
        )
        for precision, of_cpu in cpu_results.items()
    }
    return {"device": device, **rates}


def resolutions(forms: FormsName) -> None:
    """Print the pull widths of the schemes, and the differences between float32 and float64."""
    print("Pull widths of x, y, tx, ty, q/p (resolutions relative to the last scheme's), 20,000 tracks")
    for momentum in (3000.0, 10000.0, 50000.0):
        toy = generate(20000, momentum, seed=1, forms=forms)
        fits = {
            s: fit(toy.parameters, toy.candidates("float64"), scheme=s, precision="float64")
            for s in SCHEMES[forms]
        }
        baseline = _resolution(toy, fits[SCHEMES[forms][-1]])
        for name, fitted in fits.items():
            widths = [np.std(pull) for pull in toy.pulls(fitted).values()]
            ratios = _resolution(toy, fitted) / baseline
            text = ", ".join(f"{w:.3f} ({r:.3f})" for w, r in zip(widths, ratios, strict=True))
            print(f"  {momentum / 1e3:3.0f} GeV {name:16s} {text}")
        single, double = fit(toy.parameters, toy.candidates("float32")), fits["smoother"]
        names = ("x", "y", "tx", "ty", "qop")
        shifts = [(getattr(single, n) - getattr(double, n)) / np.sqrt(getattr(double, n * 2)) for n in names]
        quantiles = ", ".join(f"{np.quantile(np.abs(s), 0.999):.1e}" for s in shifts)
        print(f"  {momentum / 1e3:3.0f} GeV float32 - float64, 99.9% of states within {quantiles} σ")


def _resolution(toy: Toy, fitted: Fitted) -> np.ndarray:
    pulls = toy.pulls(fitted).items()
    return np.array([np.std(pull * np.sqrt(getattr(fitted, name * 2))) for name, pull in pulls])


def show(results: dict[str, Any]) -> None:
    copied, by_numpy = results["copy_bytes_per_s"], results["numpy_tracks_per_s"]
    print(f"Processor: {results['processor']}")
    print(f"Copy {copied / 1e9:.1f} GB/s; batched NumPy {by_numpy:.0f} tracks/s")
    for precision, r in results["cpu"].items():
        flops, dense = r["flops_per_track"]["smoother"], r["dense_scalar_tracks_per_s"]
        one, every = r["tracks_per_s_core"] / 1e6, r["tracks_per_s_all_cores"] / 1e6
        moved = r["bytes_per_track"] * r["tracks_per_s_core"] / copied
        print(f"{precision}: {one:.2f} M tracks/s a core, {every:.2f} M on all cores")
        print(
            f"  {r['floor_ratio']:.2f} x the floor: {flops:.0f} FLOPs at {r['peak_flops'] / 1e9:.1f} GFLOP/s"
        )
        print(f"  {r['vs_dense_scalar']:.1f} x the dense scalar fit, {dense / 1e6:.3f} M tracks/s")
        print(
            f"  two threads {r['two_thread_speedup']:.2f} x one that has either core in turn (multiply-adds"
            f" {r['two_thread_peak']:.2f}), {r['two_thread_speedup_free']:.2f} x one wherever it is"
        )
        print(
            f"  probe: {r['disturbance']:.2f} of its shortest time on one core,"
            f" {r['two_thread_disturbance']:.2f} on two"
        )
        print(f"  {r['bytes_per_track']} bytes of hits and results a track: {moved:.0%} of the copy's rate")
        for part in ("batch", "schemes", "extras", "builds"):
            print(f"  {part}: " + ", ".join(f"{name} {rate / 1e6:.2f} M/s" for name, rate in r[part].items()))


def show_kinds(results: dict[str, Any]) -> None:
    for precision, r in results["cpu"].items():
        for name, of in r["kinds"].items():
            batch = ", ".join(f"{size} {rate / 1e6:.2f} M/s" for size, rate in of["batch"].items())
            flops, ratio = of["flops_per_track"], of["floor_ratio"]
            print(f"{precision} {name}: {batch}, {flops:.0f} FLOPs, {ratio:.2f} x its floor")


def show_gpu(results: dict[str, Any]) -> None:
    for precision in ("float32", "float64"):
        r = results[precision]
        print(
            f"{results['device']} {precision}: {r['tracks_per_s'] / 1e6:.0f} M tracks/s resident,"
            f" {r['tracks_per_s_with_copies'] / 1e6:.1f} M with copies there and back\n"
            f"  {r['floor_ratio']:.2f} x the floor at {r['peak_flops'] / 1e12:.1f} TFLOP/s;"
            f" copy {r['copy_bytes_per_s'] / 1e12:.2f} TB/s\n"
            f"  {r['registers']} registers, {r['local_bytes']} bytes spilled,"
            f" {r['shared_bytes']} bytes shared, occupancy {r['occupancy']:.0%}\n"
            f"  clock in MHz: {r['clock_mhz']}; M tracks/s of batches: "
            + ", ".join(f"{size} {rate / 1e6:.1f}" for size, rate in r["batch"].items())
        )


def device_name() -> str:
    """Return the system's name of the processor, on Linux with family and model."""
    file = Path("/proc/cpuinfo")
    text = file.read_text("utf-8") if file.is_file() else ""
    found = dict(re.findall(r"^(model name|cpu family|model)\s*: (.*)$", text, re.MULTILINE))
    if "model name" not in found:
        return platform.processor() or platform.machine()
    return f"{found['model name']} (family {found.get('cpu family')}, model {found.get('model')})"


def main() -> None:
    line = parser("Benchmark the fit")
    line.add_argument("--forms", choices=list(FORMS), default="production", help="formulas of the steps")
    arguments = line.parse_args()
    machine, toy = Machine(arguments.forms), toy_of_ten(SIZES[0], arguments.forms)
    results: dict[str, Any] = {"processor": device_name(), "forms": arguments.forms}
    results["cpu"] = {precision: measure(machine, toy, precision) for precision in ("float32", "float64")}
    results["copy_bytes_per_s"] = machine.copy_bandwidth()
    results["numpy_tracks_per_s"] = numpy_rate(toy)
    show(results)
    show_kinds(results)
    device = gpu.device()
    if device is not None:
        results["gpu"] = measure_gpu(device, toy, results["cpu"])
        show_gpu(results["gpu"])
    resolutions(arguments.forms)
    write(arguments.json, results)


if __name__ == "__main__":
    main()
