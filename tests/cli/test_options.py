"""Groups of options: each field of a dataclass is an option; the command receives the dataclass."""

from dataclasses import dataclass
from typing import Annotated

import typer
from typer.testing import CliRunner

from parkf.cli.commands.options import grouped


@dataclass(frozen=True)
class Point:
    x: Annotated[float, typer.Option("--along", help="Position [mm].")]
    y: Annotated[float, typer.Option()] = 2.5


def _app(given):
    app = typer.Typer()

    @app.command()
    @grouped
    def draw(name: str, point: Point, times: Annotated[int, typer.Option()] = 1) -> None:
        """Draw a point."""
        given.append((name, point, times))

    return app


def test_fields_are_options_and_the_command_gets_the_group():
    given = []
    app = _app(given)
    assert CliRunner().invoke(app, ["a", "--along", "1"]).exit_code == 0
    assert CliRunner().invoke(app, ["b", "--along", "1", "--y", "3", "--times", "2"]).exit_code == 0
    assert given == [("a", Point(1.0), 1), ("b", Point(1.0, 3.0), 2)]


def test_a_field_without_default_is_required():
    given = []
    done = CliRunner().invoke(_app(given), ["a"])
    assert done.exit_code == 2
    assert "--along" in done.output
    assert not given


def test_help_shows_the_fields_and_the_text_of_the_command():
    shown = CliRunner().invoke(_app([]), ["--help"], env={"COLUMNS": "200", "TERM": "dumb"}).stdout
    assert all(text in shown for text in ("Draw a point.", "--along", "--y", "2.5", "--times"))
