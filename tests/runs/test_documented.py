"""The commands in the tutorial and the how-tos work, in the order in which the pages show them."""

import re
import shlex

import nbformat
import pytest
from nbclient import NotebookClient
from typer.testing import CliRunner

from parkf.cli.main import app
from parkf.workflow.config import read_config

from .cluster.documented import checkout, shell
from .conftest import ROOT, Project
from .documentation.blocks import DOCS, blocks, without_comment

PAGES = [DOCS / "tutorial.md", *sorted((DOCS / "how-to").glob("*.md"))]


@pytest.fixture
def folder(finished, tmp_path):
    """A checkout with the finished run under the names that pages give it."""
    folder = checkout(Project.new(tmp_path))
    (folder / "examples").symlink_to(ROOT / "examples")
    (folder / "results").mkdir()
    for name in ("default", "tutorial"):
        (folder / "results" / name).symlink_to(finished.folder / "results/smoke")
    return folder


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_blocks_run(page, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    shown = ""
    for block in blocks(page):
        if block.is_program:
            capsys.readouterr()
            exec(compile(block.text, page.name, "exec"), {})
            shown = capsys.readouterr().out
        elif block.language == "bash":
            shown = "\n".join(_run(line, folder) for line in block.lines())
        elif block.language == "text":
            # What the page shows of the output of the block before.
            for line in block.text.splitlines():
                assert line in shown, (line, shown)


def test_the_page_of_python_runs(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    names = {}
    for block in blocks(DOCS / "reference/python/index.md"):
        exec(compile(block.text, "index.md", "exec"), names)


def test_the_notebook_runs(folder):
    notebook = nbformat.read(DOCS / "notebooks/start.ipynb", as_version=4)
    drawn = [_figures(cell) for cell in notebook.cells]
    assert sum(drawn) >= 3
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(folder)}}).execute()
    assert [_figures(cell) for cell in notebook.cells] == drawn


def _figures(cell):
    return sum("image/png" in output.get("data", {}) for output in cell.get("outputs", []))


def test_the_gallery_shows_what_its_blocks_draw(folder, monkeypatch):
    monkeypatch.chdir(folder)
    page = DOCS / "gallery.md"
    for block in blocks(page):
        exec(compile(block.text, "gallery.md", "exec"), {})
    pictures = set(re.findall(r"\]\(gallery/(\w+\.png)\)", page.read_text()))
    assert len(pictures) >= 7
    assert pictures == {path.name for path in folder.glob("*.png")}
    assert pictures == {path.name for path in (DOCS / "gallery").iterdir()}
    assert all((folder / name).stat().st_size > 5_000 for name in pictures)


def _run(line, folder):
    """Run a line as a reader would, and return what it prints; a comment may state an exit code."""
    stated = re.search(r"# exits with (\d)", line)
    line = without_comment(line)
    if line.startswith("parkf "):
        done = CliRunner().invoke(app, shlex.split(line)[1:])
        assert done.exit_code == (int(stated[1]) if stated else 0), (line, done.output, done.exception)
        return done.output
    if line.startswith("make "):
        # Other tests check which jobs start. This one checks that the configuration can run.
        shell(f"{line} --dry-run VENV=.venv", folder)
        for name in re.findall(r"RUN=(\S+)", line):
            path = folder / f"workflow/config/{name}.yaml"
            assert read_config(path, folder)["run"] == name
    else:
        shell(line, folder)
    return ""
