"""Commands for data without truth: whether a set fits its detector, and alignment from fitted tracks."""

from pathlib import Path
from typing import Annotated

from typer import Argument, BadParameter, Option, Typer

from parkf.cli.commands import options
from parkf.cli.messages import answer, written
from parkf.io.files import matching, write_sealed
from parkf.io.terminal import aligned, say

app = Typer()

_CANDIDATES = "Track candidates (.parquet); a pattern such as 'day/*.parquet' names several files."
Measured = Annotated[str, Argument(metavar="CANDIDATES", help=_CANDIDATES)]
Pairs = Annotated[
    list[str],
    Option(
        "--pairs", help="Candidates of a decay, for its mass peak: jpsi=FILE or d0=FILE; may be repeated."
    ),
]


def _pairs(given: list[str]) -> dict[str, Path]:
    from parkf.simulation.generate.decays import DECAYS

    found = {}
    for one in given:
        decay, _, path = one.partition("=")
        if decay not in DECAYS or not path:
            raise BadParameter(f"{one}, expected {' or '.join(f'{name}=FILE' for name in DECAYS)}")
        found[decay] = Path(path)
    return found


@app.command(
    epilog="Example: parkf monitor results/default/set results/default/candidates/validation_up.parquet"
    " --reference results/default/candidates/validation_down.parquet"
)
def monitor(
    parameters: options.Set,
    candidates: Measured,
    reference: Annotated[
        str | None,
        Option(
            help="Candidates that the set is right for, instead of the reference beside the set; a pattern"
            " names several files."
        ),
    ] = None,
    pairs: Pairs = [],  # noqa: B006  # Typer reads the default
    reference_pairs: Annotated[
        list[str], Option(help="The same decays in a sample that the set is right for, with --reference.")
    ] = [],  # noqa: B006
    follow: Annotated[
        bool, Option("--follow", help="Take the candidates as they came, and stop when a change is found.")
    ] = False,
    to: Annotated[Path | None, Option("--json", metavar="FILE", help="Figures to write (.json).")] = None,
    report: Annotated[Path | None, Option(metavar="FILE", help="Page to write (.html).")] = None,
) -> None:
    """Compare candidates without truth with what a set expects; exits with 1 when the set does not fit."""
    from parkf.proof.monitoring.monitor import monitor as run

    folder = options.registry_in(None).find(parameters)
    content = run(
        folder,
        matching(candidates),
        reference=[] if reference is None else matching(reference),
        pairs=_pairs(pairs),
        reference_pairs=_pairs(reference_pairs),
        follow=follow,
    )
    if to is not None:
        write_sealed(to, content)
    if report is not None:
        from parkf.report.monitor_page import write_monitor

        write_monitor(content, folder.name, report)
    written(to, report)
    answer(False, content, "\n".join(content["sentences"]), yes=content["verdict"] == "fits")


@app.command(
    "monitor-reference",
    epilog="Example: parkf monitor-reference results/default/set"
    " 'results/default/candidates/validation_*.parquet' results/default/set/monitor.json",
)
def monitor_reference(
    parameters: options.SetFolder,
    candidates: Measured,
    output: Annotated[Path, Argument(help="Reference to write, monitor.json beside the set.")],
    pairs: Pairs = [],  # noqa: B006
) -> None:
    """Measure the sample that a set was validated on, as the reference of `parkf monitor`."""
    from parkf.params.parameter_set import load
    from parkf.proof.monitoring.monitor import reference_of

    reference = reference_of(parameters, load(parameters), matching(candidates), _pairs(pairs))
    reference.save(output)
    written(output)


@app.command(
    epilog="Example: parkf align results/default/set results/default/candidates/validation_up.parquet"
    " aligned.yaml --geometry data/geometry/run3.yaml --alignment data/geometry/alignment_nominal.yaml"
)
def align(
    parameters: options.Set,
    candidates: Measured,
    output: Annotated[Path, Argument(help="Alignment to write (.yaml).")],
    geometry: options.GeometryFile,
    alignment: options.AlignmentFile,
    freedoms: Annotated[
        str, Option(help="Shifts and rotations that are free, of x y z rx ry rz, separated by blanks.")
    ] = "x",
    survey: Annotated[
        list[str],
        Option(metavar="FREEDOM=ERROR", help="A survey's error of a freedom, in mm or rad; may be repeated."),
    ] = [],  # noqa: B006
    mille: Annotated[Path | None, Option(help="Records for Millepede II to write.")] = None,
    table: Annotated[Path | None, Option(help="Residuals and derivatives to write (.parquet).")] = None,
    conditions: Annotated[
        Path | None, Option(help="The alignment as LHCb's conditions to write (.yml).")
    ] = None,
) -> None:
    """Align VELO modules, UT layers and SciFi layers by the residuals of fitted tracks."""
    from parkf.detector.alignment import load_alignment
    from parkf.fit.alignment.align import align as run
    from parkf.imports.geometry.conditions import export_alignment
    from parkf.imports.geometry.folder import write_alignment
    from parkf.params.parameter_set import load

    solution = run(
        load(options.registry_in(None).find(parameters)),
        matching(candidates),
        options.aligned(geometry, alignment),
        freedoms=freedoms.split(),
        survey=_errors(survey),
        mille=mille,
        table=table,
    )
    found = solution.alignment(load_alignment(alignment), output.stem)
    write_alignment(output, found.model_dump(exclude_defaults=True), f"From {solution.tracks} tracks.")
    if conditions is not None:
        export_alignment(found, conditions)
    written(output, mille, table, conditions)
    rows = [
        (
            f"{section} {key}",
            *(f"{value:+.4g} ± {error:.2g}" for value, error in zip(values, errors, strict=True)),
        )
        for (section, key), values, errors in zip(
            solution.elements.names, solution.value, solution.error, strict=True
        )
        if any(errors)
    ]
    say(aligned(("element", *solution.freedoms), rows))
    for mode in solution.weak:
        say("not determined: " + ", ".join(f"{part:+.2f} {name}" for name, part in mode.items()))


def _errors(given: list[str]) -> dict[str, float]:
    found = {}
    for one in given:
        name, _, error = one.partition("=")
        try:
            found[name] = float(error)
        except ValueError:
            raise BadParameter(f"{one}, expected a freedom and its error, such as x=0.1") from None
        if not found[name] > 0:
            raise BadParameter(f"{one}, expected an error above 0")
    return found
