"""``parkf display``."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer()


@app.command()
def display(
    results: Annotated[Path, typer.Argument(help="Folder of a run.")],
    output: Annotated[Path, typer.Argument(help="HTML page to write.")],
    sample: Annotated[
        str | None, typer.Option(help="validation_up, say; the first validation sample by default.")
    ] = None,
    event: Annotated[int | None, typer.Option(min=0, help="Its number; the first by default.")] = None,
    track: Annotated[
        list[int] | None,
        typer.Option(help="Number of a track; may be repeated. A typical, a bad and a false one by default."),
    ] = None,
) -> None:
    """Draw an event: hits, tracks that were found, their fits, the truth, and ghosts."""
    from parkf.report.event_page import write_event

    shown = write_event(results, output, sample=sample, number=event, tracks=track or [])
    print(f"{output}: event {shown.number} of {shown.sample}, {len(shown.tracks)} tracks")
