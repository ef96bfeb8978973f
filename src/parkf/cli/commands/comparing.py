"""``parkf compare``."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from parkf.cli.commands.params.common import Json, RegistryFolder, registry_in
from parkf.cli.commands.params.gates import GATES, GatesFile

app = typer.Typer()


@app.command()
def compare(
    subjects: Annotated[
        list[str] | None,
        typer.Argument(metavar="A B …", help="Runs (results/<run>), sets, or published versions."),
    ] = None,
    detector: Annotated[
        str | None, typer.Option(help="Instead: all published sets of a detector, oldest first.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Figures that are the same, too.")] = False,
    page: Annotated[Path | None, typer.Option(help="An HTML page to write.")] = None,
    gates: GatesFile = GATES,
    registry: RegistryFolder = None,
    as_json: Json = False,
) -> None:
    """Compare with the first: what differed in inputs and code, then figures, in errors and as ratios."""
    from parkf.io.errors import ParkfError
    from parkf.proof.comparing import compare_subjects, load_subject
    from parkf.proof.comparing.comparison import published_of
    from parkf.proof.gates import load_thresholds

    if bool(subjects) == bool(detector):
        raise ParkfError("compare: expected two runs or sets at least, or --detector")
    sets, thresholds = registry_in(registry), load_thresholds(gates)
    names = published_of(detector, sets) if detector else subjects or []
    comparison = compare_subjects([load_subject(name, thresholds, sets) for name in names])
    if page is not None:
        from parkf.report.compare_page import write_comparison

        write_comparison(comparison, page)
    if as_json:
        print(json.dumps(comparison.content(), indent=1, ensure_ascii=False))
        return
    from rich.console import Console

    from parkf.proof.comparing.text import shown

    # Lines are not broken when the output does not go to a terminal.
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 400)
    console.print(shown(comparison, everything=everything))
