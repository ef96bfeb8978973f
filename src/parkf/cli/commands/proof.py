"""Commands that compare fitted tracks with the truth."""

from pathlib import Path
from typing import Annotated

import typer

from parkf.cli.commands.options import Detector, Polarity, RunFolder, SetFolder, Threads, grouped

app = typer.Typer()

ByTruth = Annotated[Path, typer.Argument(help="Candidates by truth.")]
Searched = Annotated[Path, typer.Argument(help="Candidates of the search.")]


@app.command()
def validate(
    results: RunFolder,
    output: Path,
    samples: Annotated[str, typer.Option(help="Names of the samples, separated by blanks.")],
    fits: Annotated[str, typer.Option(help="Names of the fits, separated by blanks.")],
    misaligned: Annotated[
        str, typer.Option(help="Samples of a misaligned detector, likewise; may be empty.")
    ] = "",
    signals: Annotated[str, typer.Option(help="Samples of mass peaks, <signal>_<polarity>.")] = "",
    threads: Threads = 1,
) -> None:
    """Measure fitted candidates against the truth."""
    from parkf.fit.fitted import common_set
    from parkf.fit.sample import Sample, load_sample
    from parkf.fit.truth import Files
    from parkf.io.files import write_sealed
    from parkf.proof.validation.validate import validate as run

    def load(names: str, fits: str = fits) -> dict[str, Sample]:
        files = {
            fit: [
                Files(
                    # The misaligned sample has the same particles as the validation sample.
                    [results / f"particles/{sample.replace('misaligned', 'validation')}.parquet"],
                    [results / f"candidates/{sample}.parquet"],
                    [results / f"fitted/{fit}/{sample}.parquet"],
                    [results / f"fates/{sample}.parquet"] if sample in samples.split() else [],
                )
                for sample in names.split()
            ]
            for fit in fits.split()
        }
        return {fit: load_sample(several) for fit, several in files.items() if several}

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
    # The set's fingerprints: gates accept figures only for the set from which they were made.
    measured["set"] = common_set(
        results / f"fitted/{fit}/{sample}.parquet"
        for fit in fits.split()
        for sample in f"{samples} {misaligned} {signals}".split()
    )
    write_sealed(output, measured)


@app.command()
def throughput(
    parameters: SetFolder,
    candidates: Annotated[str, typer.Argument(help="Files of candidates, separated by blanks.")],
    output: Path,
    threads: Threads = 1,
) -> None:
    """Time the fit of candidates in memory, on one thread and on several, in float32 and float64."""
    from parkf.io.files import write_sealed
    from parkf.proof.validation.throughput import measure_throughput

    files = [Path(name) for name in candidates.split()]
    write_sealed(output, measure_throughput(parameters, files, threads=threads))


@app.command()
def measure(particles: Path, candidates: Path, fitted: Path, output: Path) -> None:
    """Measure resolution, pulls and χ² of one sample, to compare it with another."""
    from parkf.fit.fitted import common_set
    from parkf.fit.sample import load_sample
    from parkf.fit.truth import Files
    from parkf.io.files import write_sealed
    from parkf.proof.validation.measure import measure as run

    measured = run(load_sample([Files([particles], [candidates], [fitted])]))
    write_sealed(output, measured | {"set": common_set([fitted])})


@app.command()
@grouped
def characterise(
    hits: Path,
    particles: Path,
    matched: ByTruth,
    found: Searched,
    output: Path,
    detector: Detector,
    polarity: Polarity,
) -> None:
    """Describe a simulated sample in figures that compare with another's."""
    from parkf.io.files import write_sealed
    from parkf.proof.validation.likeness import Files
    from parkf.proof.validation.likeness import characterise as run

    files = Files(hits, particles, matched, found)
    figures = run(files, geometry=detector.aligned(), field=detector.field_map(), polarity=polarity)
    write_sealed(output, figures)


@app.command("characterise-search")
def characterise_search(
    hits: Path,
    particles: Path,
    matched: ByTruth,
    candidates: Searched,
    fitted: Annotated[Path, typer.Argument(help="Their fits.")],
    output: Path,
) -> None:
    """Describe the results of a pattern recognition in figures that compare with another sample's."""
    from parkf.fit import truth
    from parkf.fit.sample import load_sample
    from parkf.io.files import write_sealed
    from parkf.proof.validation.likeness import Files
    from parkf.proof.validation.likeness import characterise_search as run

    sample = load_sample([truth.Files([particles], [candidates], [fitted])])
    write_sealed(output, run(Files(hits, particles, matched, candidates), sample))


@app.command()
def likeness(
    embedded: Annotated[Path, typer.Argument(help="Figures of the embedded simulation, by `characterise`.")],
    other: Annotated[Path, typer.Argument(help="Figures of the other simulation, LHCb's.")],
    output: Path,
    measured: Annotated[
        str,
        typer.Option(help="<fit>=<embedded>,<other> by `measure`, separated by blanks; may be empty."),
    ] = "",
    figures: Annotated[
        Path | None, typer.Option(help="File for the other's figures of all fits, which gates read.")
    ] = None,
    searches: Annotated[
        str,
        typer.Option(help="<segments>=<embedded>,<other> by `characterise-search`; may be empty."),
    ] = "",
) -> None:
    """Write the page that compares the embedded simulation with another."""
    from parkf.io.files import read_json, write_sealed
    from parkf.report.likeness import write_likeness

    pairs = _pairs(measured)
    write_likeness(embedded, other, pairs, output, searches=_pairs(searches))
    if figures is not None:
        fits = {name: read_json(theirs) for name, (_, theirs) in pairs.items()}
        # The full fit uses no set; all other fits used the same one.
        sets = [fit.pop("set") for fit in fits.values()]
        write_sealed(figures, {"set": next((one for one in sets if one), None), "fits": fits})


def _pairs(entries: str) -> dict[str, tuple[Path, Path]]:
    """Read two files for each name from `<name>=<file>,<file>`, separated by blanks."""
    pairs = {}
    for entry in entries.split():
        name, _, files = entry.partition("=")
        one, _, two = files.partition(",")
        pairs[name] = (Path(one), Path(two))
    return pairs
