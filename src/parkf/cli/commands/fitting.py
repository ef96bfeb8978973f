"""Commands that fit track candidates, and compare fitted tracks with the truth."""

import sys
from pathlib import Path
from typing import Annotated

from typer import Argument, Option, Typer

from parkf.cli.commands import options
from parkf.cli.messages import written
from parkf.io.files import read_json, write_sealed
from parkf.io.option_types import BackendChoice, Origin, Precision, Scheme
from parkf.io.terminal import say

app = Typer()

ByTruth = Annotated[Path, Argument(help="Candidates whose hits are grouped by true particle.")]
Figures = Annotated[Path, Argument(help="Figures to write (.json).")]
Searched = Annotated[Path, Argument(help="Candidates that the search found.")]
TrueField = Annotated[
    Path | None,
    Option("--field", help="Field map (.npz) that carries true states to the fit; a straight line without."),
]


@app.command(
    epilog="Example: parkf fit 2026-run3-like-2-r014 examples/candidates.parquet fitted.parquet --robust"
)
def fit(
    parameters: options.Set,
    candidates: options.Candidates,
    output: options.FittedTracks,
    scheme: Annotated[
        Scheme, Option(help="trigger: LHCb's arithmetic, for production's forms; velo_only: VELO hits alone.")
    ] = "smoother",
    precision: Annotated[Precision, Option(help="Number type of the arithmetic.")] = "float32",
    backend: Annotated[BackendChoice, Option(help="auto: a GPU if there is one, else the CPU.")] = "cpu",
    threads: options.Threads = 1,
    outliers: Annotated[
        float | None,
        Option(
            min=0,
            callback=options.finite,
            help="Leave out hits whose u² (in the trigger: χ²) is above this, usually 16; adds `removed`.",
        ),
    ] = None,
    rich_states: Annotated[
        bool, Option("--rich-states", help="Add states at z = 990, 2165, 9450 and 11900 mm.")
    ] = False,
    robust: Annotated[
        bool,
        Option(
            "--robust",
            help="Leave out UT hits that contradict the other hits, and enlarge the noise where a track"
            " scattered hard; adds columns with these changes and with χ² after them. `chi2_*` stays that of"
            " the plain fit.",
        ),
    ] = False,
    score: Annotated[
        bool,
        Option("--score", help="Add the ghost scores of the set, with `score_flat` if it has a flat cut."),
    ] = False,
    origin: Annotated[
        Origin, Option("--from", help="first-hit: tracks that are born behind the material around the beam.")
    ] = "vertex",
    kind: options.TrackKind = "long",
    electrons: Annotated[
        bool,
        Option(
            "--electrons", help="Take all candidates for electrons: q/p before they radiated, and columns."
        ),
    ] = False,
    trust: Annotated[
        bool, Option("--trust", help="Fit even if candidates and set are of different detectors.")
    ] = False,
    withdrawn: options.Withdrawn = False,
) -> None:
    """Fit track candidates with a parameter set."""
    from parkf.fit import fit_file
    from parkf.fit.gpu import choose_backend

    folder = options.registry_in(None).find(parameters)
    # The reference fit of VELO hits alone runs in NumPy.
    where, device = choose_backend("cpu" if scheme == "velo_only" else backend)
    say(f"fit: on {device}", file=sys.stderr)
    summary = fit_file(
        folder,
        candidates,
        output,
        scheme=scheme,
        precision=precision,
        backend=where,
        threads=threads,
        outliers=outliers,
        rich_states=rich_states,
        robust=robust,
        score=score,
        origin=origin,
        kind=kind,
        electrons=electrons,
        trust=trust,
        withdrawn=withdrawn,
    )
    say(f"{output}: {summary.count} candidates fitted", *summary.lines(), sep="\n", file=sys.stderr)
    if not summary.count:
        say(f"warning: {candidates}: 0 candidates, expected some; check the events before", file=sys.stderr)


@app.command(
    "fit-full",
    epilog="Example: parkf fit-full examples/candidates.parquet full.parquet"
    " --geometry data/geometry/run3.yaml --alignment data/geometry/alignment_nominal.yaml"
    " --field results/default/field.npz",
)
@options.grouped
def fit_full(
    candidates: options.Candidates,
    output: options.FittedTracks,
    detector: options.Detector,
    kind: options.TrackKind = "long",
    threads: options.Threads = 1,
) -> None:
    """Fit track candidates by Runge-Kutta through every layer of material, as a reference."""
    from parkf.fit import fit_file_full
    from parkf.io.kinds import kind_named

    geometry, field = detector.load()
    summary = fit_file_full(
        candidates, output, geometry=geometry, field=field, kind=kind_named(kind), threads=threads
    )
    say(f"{output}: {summary.count} candidates fitted", *summary.lines(), sep="\n", file=sys.stderr)
    if not summary.count:
        say(f"warning: {candidates}: 0 candidates, expected some; check the events before", file=sys.stderr)


@app.command("measure-without-ut")
@options.grouped
def measure_without_ut(
    parameters: options.SetFolder,
    output: Figures,
    particles: Annotated[str, Option(help="Files of particles, separated by blanks.")],
    candidates: Annotated[str, Option(help="Files of their candidates, in the same order.")],
    detector: options.Detector,
    threads: options.Threads = 1,
) -> None:
    """Fit candidates without their UT hits, and compare with the truth and the full fit."""
    from parkf.proof.validation.without_ut import measure_without_ut as run

    geometry, field = detector.load()
    files = options.file_pairs(particles, candidates)
    write_sealed(output, run(parameters, files, geometry=geometry, field=field, threads=threads))
    written(output)


@app.command("measure-kinds")
@options.grouped
def measure_kinds(
    parameters: options.SetFolder,
    outputs: Annotated[list[Path], Argument(help="Figures of kinds of tracks to write: <kind>.json.")],
    results: Annotated[Path, Option(help="Folder of the run.")],
    samples: Annotated[str, Option(help="Names of the samples, separated by blanks.")],
    detector: options.Detector,
    decays: Annotated[str, Option(help="Samples of decays behind the VELO, <decay>_<polarity>.")] = "",
    threads: options.Threads = 1,
) -> None:
    """Fit candidates of kinds, made by truth, and compare with the truth and the full fit."""
    from parkf.io.kinds import kind_named
    from parkf.proof.validation.kinds import Simulated
    from parkf.proof.validation.kinds import measure_kinds as run

    geometry, field = detector.load()
    figures = run(
        [kind_named(output.stem) for output in outputs],
        parameters,
        [Simulated.of(results, name) for name in samples.split()],
        Simulated.by_decay(results, decays.split()),
        geometry=geometry,
        field=field,
        threads=threads,
    )
    for output in outputs:
        write_sealed(output, figures[output.stem])
        written(output)


@app.command("measure-electrons")
@options.grouped
def measure_electrons(
    parameters: options.SetFolder,
    output: Figures,
    results: Annotated[Path, Option(help="Folder of the run.")],
    samples: Annotated[str, Option(help="Names of the samples, separated by blanks.")],
    detector: options.Detector,
    decays: Annotated[str, Option(help="Samples of decays to electrons, <decay>_<polarity>.")] = "",
    threads: options.Threads = 1,
) -> None:
    """Fit electrons as pions and as electrons, and compare with the truth."""
    from parkf.proof.validation.electrons import measure_electrons as run
    from parkf.proof.validation.kinds import Simulated

    geometry, field = detector.load()
    of_decays = Simulated.by_decay(results, decays.split())
    files = [
        (results / f"particles/{name}.parquet", results / f"candidates/{name}.parquet")
        for name in samples.split()
    ]
    write_sealed(output, run(parameters, files, of_decays, geometry=geometry, field=field, threads=threads))
    written(output)


@app.command()
def validate(
    results: options.RunFolder,
    output: Figures,
    samples: Annotated[str, Option(help="Names of the samples, separated by blanks.")],
    fits: Annotated[str, Option(help="Names of the fits, separated by blanks.")],
    misaligned: Annotated[str, Option(help="Samples of a misaligned detector; may be empty.")] = "",
    signals: Annotated[str, Option(help="Samples of mass peaks, <signal>_<polarity>.")] = "",
    inside: Annotated[Path | None, Option(help="Figures of the steps inside the magnet.")] = None,
    kinds: Annotated[str, Option(help="Files of figures of other kinds of tracks, <kind>.json.")] = "",
    field: TrueField = None,
    threads: options.Threads = 1,
) -> None:
    """Compare fitted candidates with the truth."""
    from parkf.fit.fitted import common_set
    from parkf.fit.sample import Sample, load_sample
    from parkf.fit.truth import Files
    from parkf.proof.validation.validate import validate as run

    def files(fit: str, sample: str) -> Files:
        # The misaligned sample has the same particles as the validation sample.
        particles = results / f"particles/{sample.replace('misaligned', 'validation')}.parquet"
        return Files(
            [particles],
            [results / f"candidates/{sample}.parquet"],
            [results / f"fitted/{fit}/{sample}.parquet"],
            [results / f"fates/{sample}.parquet"] if sample in samples.split() else [],
        )

    def load(names: str, fits: str = fits) -> dict[str, Sample]:
        several = names.split()
        return {
            fit: load_sample([files(fit, one) for one in several], magnet) for fit in fits.split() if several
        }

    magnet = None if field is None else options.field_map(field)
    peaks: dict[str, list[str]] = {}
    for name in signals.split():
        peaks.setdefault(name.rpartition("_")[0], []).append(name)
    measured = run(
        load(samples),
        load(samples, "parkf_float64")["parkf_float64"],
        load(misaligned),
        {signal: load(" ".join(names)) for signal, names in peaks.items()},
        threads,
    )
    measured["kinds"] = {path.stem: read_json(path) for path in map(Path, kinds.split())}
    if inside is not None:
        # States inside the magnet are those of SciFi tracks; the fit of these tracks has figures of its own.
        measured["kinds"]["scifi"] = read_json(inside) | {"fit": measured["kinds"].get("scifi")}
    # Add the set's fingerprints, because gates accept figures only for the set from which they were made.
    measured["set"] = common_set(
        results / f"fitted/{fit}/{sample}.parquet"
        for fit in fits.split()
        for sample in f"{samples} {misaligned} {signals}".split()
    )
    write_sealed(output, measured)
    written(output)


@app.command()
def throughput(
    parameters: options.SetFolder,
    candidates: Annotated[str, Argument(help="Files of candidates, separated by blanks.")],
    output: Figures,
    threads: options.Threads = 1,
) -> None:
    """Time the fit of candidates in memory, on one thread and on several, in float32 and float64."""
    from parkf.proof.validation.throughput import measure_throughput

    files = [Path(name) for name in candidates.split()]
    write_sealed(output, measure_throughput(parameters, files, threads=threads))
    written(output)


@app.command()
def measure(
    particles: options.Particles,
    candidates: options.Candidates,
    fitted: Annotated[Path, Argument(help="Fits of these candidates.")],
    output: Figures,
    field: TrueField = None,
) -> None:
    """Measure resolution, pulls and χ² of one sample, to compare it with another."""
    from parkf.fit.fitted import common_set
    from parkf.fit.sample import load_sample
    from parkf.fit.truth import Files
    from parkf.proof.validation.measure import measure as run

    magnet = None if field is None else options.field_map(field)
    measured = run(load_sample([Files([particles], [candidates], [fitted])], magnet))
    write_sealed(output, measured | {"set": common_set([fitted])})
    written(output)


@app.command()
@options.grouped
def characterise(
    hits: options.Hits,
    particles: options.Particles,
    matched: ByTruth,
    found: Searched,
    output: Figures,
    detector: options.Detector,
    polarity: options.Polarity,
) -> None:
    """Describe a simulated sample by figures, to compare it with another sample."""
    from parkf.proof.validation.likeness import Files
    from parkf.proof.validation.likeness import characterise as run

    geometry, field = detector.load()
    files = Files(hits, particles, matched, found)
    write_sealed(output, run(files, geometry=geometry, field=field, polarity=polarity))
    written(output)


@app.command("characterise-search")
def characterise_search(
    hits: options.Hits,
    particles: options.Particles,
    matched: ByTruth,
    candidates: Searched,
    fitted: Annotated[Path, Argument(help="Fits of these candidates.")],
    output: Figures,
) -> None:
    """Describe the results of a pattern recognition by figures, to compare them with other results."""
    from parkf.fit import truth
    from parkf.fit.sample import load_sample
    from parkf.proof.validation.likeness import Files
    from parkf.proof.validation.likeness import characterise_search as run

    sample = load_sample([truth.Files([particles], [candidates], [fitted])])
    write_sealed(output, run(Files(hits, particles, matched, candidates), sample))
    written(output)


@app.command()
def likeness(
    embedded: Annotated[Path, Argument(help="Figures of the embedded simulation, by `characterise`.")],
    other: Annotated[Path, Argument(help="Figures of the other simulation, LHCb's.")],
    output: Annotated[Path, Argument(help="Page to write (.html).")],
    measured: Annotated[str, Option(help="<fit>=<embedded>,<other> by `measure`, with blanks between.")] = "",
    figures: Annotated[Path | None, Option(help="File to write: the other's figures, for gates.")] = None,
    searches: Annotated[str, Option(help="<segments>=<embedded>,<other> by `characterise-search`.")] = "",
) -> None:
    """Write the page that compares the embedded simulation with another."""
    from parkf.report.likeness import write_likeness

    pairs = _pairs(measured)
    write_likeness(embedded, other, pairs, output, searches=_pairs(searches))
    if figures is not None:
        fits = {name: read_json(theirs) for name, (_, theirs) in pairs.items()}
        # The full fit uses no set; all other fits used the same one.
        sets = [fit.pop("set") for fit in fits.values()]
        write_sealed(figures, {"set": next((one for one in sets if one), None), "fits": fits})
    written(output, figures)


def _pairs(entries: str) -> dict[str, tuple[Path, Path]]:
    """Read pairs of files by name from `<name>=<file>,<file>`; several pairs are separated by blanks."""
    pairs = {}
    for entry in entries.split():
        name, _, files = entry.partition("=")
        one, _, two = files.partition(",")
        pairs[name] = (Path(one), Path(two))
    return pairs
