"""The command line as users see it before anything runs: help pages, examples, questions and answers."""

import json
import re
import shlex

import pytest
from typer.main import get_command
from typer.testing import CliRunner

import parkf
from parkf.cli.main import PANELS, app
from parkf.report import column_reference as columns
from parkf.report.words import texts
from parkf.workflow import installation
from parkf.workflow.documents import DOCUMENTS

WIDE = {"COLUMNS": "200", "TERM": "dumb"}


def _commands(group, context, words=()):
    """Yield every command below a group: its name as a tuple of words, and the command itself."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        yield (*words, name), command
        if hasattr(command, "list_commands"):
            yield from _commands(command, context, (*words, name))


def _example(command):
    return (command.epilog or "").removeprefix("Example: ")


@pytest.fixture(scope="module")
def commands():
    group = get_command(app)
    return dict(_commands(group, group.context_class(group)))


def _run(*words, env=WIDE):
    return CliRunner().invoke(app, words, env=env)


def test_every_command_is_in_a_panel_and_what_users_type_has_an_example(commands):
    # A new command must be added to a panel in parkf/cli/main.py. Commands that users type need an example.
    assert [name for names in PANELS.values() for name in names] == [
        " ".join(words) for words in commands if len(words) == 1
    ]
    assert {words[0] for words in commands} == set(get_command(app).commands)
    for words, command in commands.items():
        assert _example(command), words


def test_the_first_page_shows_commands_of_users_in_panels():
    page = _run("--help").stdout
    titles = [title.strip() for title in re.findall(r"╭─ (.+?) ─+╮", page)]
    assert titles == ["Options", *PANELS]
    assert len(page.splitlines()) <= 60


def test_every_argument_and_option_has_a_text(commands):
    silent = [
        (words, one.name) for words, command in commands.items() for one in command.params if not one.help
    ]
    assert silent == []


def test_every_page_of_help_shows_what_it_should(commands):
    for words, command in commands.items():
        done = _run(*words, "--help")
        assert done.exit_code == 0, (words, done.output)
        shown = re.sub(r"[\s│]+", " ", done.stdout)
        for thing in (command, *command.params):
            for bracket in re.findall(r"\[[^\]]*\]", (thing.help or "").replace("\\", "")):
                assert bracket in shown, (words, bracket)
        if command.epilog:
            assert f"Example: {_example(command)}" in shown, (words, shown)


def test_units_in_brackets_are_shown():
    assert "Grid spacing [mm]" in _run("field", "--help").stdout


def test_examples_are_lines_that_the_commands_take(commands):
    for line in filter(None, map(_example, commands.values())):
        program, *words = shlex.split(line)
        assert program == "parkf"
        if words[-1] == "--help":
            continue
        name = next(tuple(words[:n]) for n in (2, 1) if tuple(words[:n]) in commands)
        # Parse the line as the command would, with the same errors; nothing runs.
        commands[name].make_context(" ".join(name), words[len(name) :])


def test_version():
    done = _run("--version")
    assert (done.exit_code, done.stdout) == (0, f"parkf {parkf.__version__}\n")


def test_doctor_names_what_a_task_lacks(monkeypatch):
    def version(name):
        if name == "snakemake-executor-plugin-slurm":
            raise installation.PackageNotFoundError
        return "1.26.0" if name == "numpy" else real(name)

    real = installation.version
    monkeypatch.setattr(installation, "version", version)
    done = _run("doctor", "--json")
    assert done.exit_code == 1
    found = json.loads(done.stdout)
    (numpy,), (slurm,) = found["missing"][""], found["missing"]["slurm"]
    assert numpy.startswith("numpy>=2")
    assert slurm.startswith("snakemake-executor-plugin-slurm")
    assert found["builds"][-1] == "plain"
    assert found["cores"] >= 1
    assert 0 < found["free_gb"] <= found["memory_gb"]
    text = _run("doctor").stdout
    assert re.search(
        r"run on a Slurm cluster +lacks snakemake-executor-plugin-slurm\S* +pip install 'parkf\[slurm\]'",
        text,
    )


def test_schema_has_words_for_every_column():
    for table in columns.TABLES:
        found = columns.described(table)
        always = [one.name for one in found if not one.option]
        assert always == [name for name, _ in table.columns]
        assert all(one.meaning for one in found)
    # Every description must belong to a column of a table.
    for name, words in texts("columns").items():
        tables = columns.TABLES if name == "every table" else [columns.table_named(name)]
        named = {one.name for table in tables for one in columns.described(table)}
        assert words.keys() <= named, name


def test_schema_prints_units_and_meanings():
    shown = _run("schema", "candidates").stdout
    assert re.search(r"^velo_x +float32\[26\] +mm +x of the VELO hits", shown, re.MULTILINE)
    content = json.loads(_run("schema", "fitted", "--json").stdout)
    by_name = {one["name"]: one for one in content["columns"]}
    assert by_name["qopqop"]["unit"] == "1/MeV²"
    assert by_name["score"]["option"] == "--score"
    assert set(DOCUMENTS) <= set(re.findall(r"[a-z-]+", _run("schema", "--help").stdout))
    assert json.loads(_run("schema", "family").stdout)["required"] == ["family", "base"]
    done = _run("schema", "nosuch")
    assert "no table 'nosuch'" in str(done.exception)
