"""Commands for data without truth: whether a set fits its detector, and alignment from fitted tracks."""

from pathlib import Path
from typing import Annotated

from typer import Argument, BadParameter, Option, Typer

from parkf.cli.commands import options
from parkf.cli.messages import print_answer, written
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


Survey = Annotated[
    list[str],
    Option(
        metavar="FREEDOM=ERROR",
        help="Freedom that a survey measured, and its error in mm or rad; may be repeated.",
    ),
]


def _pairs(given: list[str]) -> list[tuple[str, Path]]:
    from parkf.simulation.generate.decays import DECAYS

    found = []
    for one in given:
        decay, _, path = one.partition("=")
        if decay not in DECAYS or not path:
            raise BadParameter(f"{one}, expected {' or '.join(f'{name}=FILE' for name in DECAYS)}")
        found.append((decay, Path(path)))
    return found


def _survey(given: list[str]) -> dict[str, float]:
    found = options.numbers_by_name(given, "a freedom and its error above 0, such as x=0.1")
    return {name: error for name, (error,) in found.items()}


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
    to: Annotated[Path | None, Option("--json", metavar="FILE", help="Figures to write (.json).")] = None,
    withdrawn: options.Withdrawn = False,
) -> None:
    """Compare candidates without truth with what a set expects; exits with 1 when the set does not fit."""
    from parkf.data.monitor import monitor as run

    folder = options.registry_in(None).find(parameters)
    content = run(
        folder,
        matching(candidates),
        reference=[] if reference is None else matching(reference),
        pairs=_pairs(pairs),
        reference_pairs=_pairs(reference_pairs),
        withdrawn=withdrawn,
    )
    if to is not None:
        write_sealed(to, content)
    written(to)
    print_answer(False, content, "\n".join(content["sentences"]), yes=content["verdict"] == "fits")


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
    from parkf.data.monitor import reference_of
    from parkf.params.parameter_set import load

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
    survey: Survey = [],  # noqa: B006  # Typer reads the default
) -> None:
    """Align VELO modules, UT layers and SciFi layers by the residuals of fitted tracks."""
    from parkf.data.align import align as run
    from parkf.data.align import displaced
    from parkf.detector.alignment import load_alignment
    from parkf.detector.geometry import load_geometry
    from parkf.detector.writing import write_alignment
    from parkf.params.parameter_set import load

    chosen = freedoms.split()
    solution = run(
        load(options.registry_in(None).find(parameters)),
        matching(candidates),
        load_geometry(geometry, alignment),
        freedoms=chosen,
        survey=_survey(survey),
    )
    found = displaced(load_alignment(alignment), solution, output.stem)
    write_alignment(output, found.model_dump(exclude_defaults=True), f"From {solution.tracks} tracks.")
    written(output)
    rows = []
    for first in range(0, len(solution.names), len(chosen)):
        own = slice(first, first + len(chosen))
        values = zip(solution.value[own], solution.error[own], strict=True)
        if solution.error[own].any():
            name = solution.names[first].rpartition(" ")[0]
            rows.append((name, *(f"{value:+.4g} ± {error:.2g}" for value, error in values)))
    say(aligned(("element", *chosen), rows))
    for mode in solution.weak:
        say("not determined: " + ", ".join(f"{part:+.2f} {name}" for name, part in mode.items()))


Data = Annotated[list[Path], Option("--candidates", help="Track candidates (.parquet); may be repeated.")]


@app.command(
    epilog="Example: parkf calibrate results/default/set calibration --candidates data.parquet"
    " --placed data/geometry/alignment_nominal.yaml"
    " --reference results/default/candidates/validation_up.parquet"
    " --geometry data/geometry/run3.yaml --alignment data/geometry/alignment_nominal.yaml"
    " --field results/default/field.npz"
)
def calibrate(
    parameters: options.SetFolder,
    output: Annotated[Path, Argument(help="Folder to write.")],
    candidates: Data,
    placed: Annotated[Path, Option(help="Alignment with which the candidates were made (YAML).")],
    reference: Annotated[
        list[Path], Option(help="Candidates of the set's own simulation (.parquet); may be repeated.")
    ],
    geometry: options.GeometryFile,
    alignment: options.AlignmentFile,
    field: options.FieldFile,
    pairs: Pairs = [],  # noqa: B006  # Typer reads the default
    reference_pairs: Annotated[list[str], Option(help="The same decays in the set's own simulation.")] = [],  # noqa: B006
    survey: Survey = [],  # noqa: B006
    before: Annotated[
        Path | None, Option(help="calibration.json of the round before, whose factors this one refines.")
    ] = None,
) -> None:
    """Find alignment, field, hit errors and scattering from data.

    The set is right for the geometry, the alignment and the field that are given. The folder gets better
    ones, with which a set can be trained anew, and calibration.json: all numbers, their errors and
    correlations, and what data cannot tell. The freedoms of the survey are aligned; by default, they are x, y
    and z, with 0.1 mm.
    """
    from parkf.data.calibrate import calibrate_files

    calibrate_files(
        parameters,
        output,
        candidates=candidates,
        placed=placed,
        reference=reference,
        detector=(geometry, alignment, field),
        pairs=_pairs(pairs),
        reference_pairs=_pairs(reference_pairs),
        survey=_survey(survey),
        before=before,
    )
    written(output)


@app.command(
    "move-hits",
    epilog="Example: parkf move-hits data.parquet moved.parquet --geometry data/geometry/run3.yaml"
    " --placed data/geometry/alignment_nominal.yaml --alignment data/geometry/alignment_velo_shift.yaml",
)
def move_hits(
    candidates: options.Candidates,
    output: Annotated[Path, Argument(help="Candidates to write (.parquet).")],
    geometry: options.GeometryFile,
    placed: Annotated[Path, Option(help="Alignment with which the candidates were made (YAML).")],
    alignment: options.AlignmentFile,
    calibration: Annotated[
        Path | None, Option(help="calibration.json, whose factors multiply the errors of hits.")
    ] = None,
) -> None:
    """Move the hits of candidates to another alignment."""
    from parkf.data.moving import Moving, move_file
    from parkf.data.state import errors_by_layer, read_factors
    from parkf.detector.geometry import load_geometry

    there, here = load_geometry(geometry, placed), load_geometry(geometry, alignment)
    move_file(candidates, output, Moving(there, here, errors_by_layer(read_factors(calibration))))
    written(output)
