"""The pages in docs/ and the READMEs name only arguments that the commands accept, and are short."""

import importlib.util
import json
import re
import shlex
import subprocess
import sys
import tomllib

import pytest
from tools.site import MOST_IN_PERFORMANCE, MOST_WORDS, lengths
from typer.main import get_command

from parkf.cli.main import app

from .blocks import DOCS, ROOT, blocks, without_comment

READMES = (ROOT / "README.md", *sorted(ROOT.glob("*/README.md")), ROOT / "CONTRIBUTING.md")
PAGES = (*sorted(DOCS.rglob("*.md")), *READMES)
# Placeholders that a reader replaces.
_NAMES = re.compile(r"<[a-z ]+>|…")


_SPEC = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
GENERATE = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(GENERATE)


def test_what_the_code_writes_into_the_checkout_is_current():
    for name, write in GENERATE.IN_CHECKOUT.items():
        assert (ROOT / name).read_text() == write(), f"{name} is not current: python docs/generate.py"


@pytest.mark.parametrize("name", [name for name in GENERATE.PAGES if name.endswith(".md")])
def test_pages_of_the_code_are_written_for_the_site_alone(name):
    assert GENERATE.PAGES[name]().startswith("# ")
    assert not (DOCS / name).exists()


def test_pages_get_their_figures_from_the_benchmarks():
    pages = {page: page.read_text() for page in DOCS.rglob("*.md")}
    with_figures = {page: text for page, text in pages.items() if "<!-- figures" in text}
    assert len(with_figures) >= 8
    for page, text in with_figures.items():
        assert "<!-- figures" not in GENERATE.with_figures(text), page


def _command(words):
    group = get_command(app)
    context = group.context_class(group)
    name = []
    while words and hasattr(group, "list_commands"):
        group = group.get_command(context, words[0])
        assert group is not None, words
        name.append(words.pop(0))
    return group, " ".join(name)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_lines_that_call_parkf_or_make_are_such_as_they_take(page):
    targets = re.findall(r"^([a-z-]+(?: [a-z-]+)*):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    known = {target for line in targets for target in line.split()}
    folders = {
        "RUN": "workflow/config/{}.yaml",
        "FAMILY": "workflow/config/families/{}.yaml",
        "PROFILE": "workflow/profiles/{}",
    }
    made = set(re.findall(r"> (workflow/\S+)", page.read_text()))
    made |= {"workflow/profiles/ours"} if "cp -r workflow/profiles/slurm" in page.read_text() else set()
    for block in blocks(page):
        for line in map(without_comment, block.lines() if block.language in ("", "sh", "bash") else ()):
            if line.startswith("parkf ") and not _NAMES.search(line):
                words = shlex.split(line)[1:]
                command, name = _command(words)
                if "--help" not in words:
                    command.make_context(name, words)
            elif line.startswith("make "):
                words = line.split()[1:]
                assert [word for word in words if "=" not in word and word not in known] == [], line
                for key, value in (word.split("=", 1) for word in words if "=" in word):
                    if key in folders and not _NAMES.search(value):
                        path = folders[key].format(value)
                        assert path in made or (ROOT / path).exists(), line


def test_python_in_pages_compiles():
    for page in PAGES:
        for block in blocks(page):
            if block.is_program:
                compile(block.text, str(page), "exec")


def test_pages_are_short():
    counted = lengths()
    assert len(GENERATE.PAGES["explanation/performance.md"]().split()) <= MOST_IN_PERFORMANCE
    assert {name: count for name, count in counted.items() if count > MOST_WORDS} == {}


def test_the_repository_is_as_scientific_python_asks():
    pytest.importorskip("sp_repo_review", reason="needs pip install sp-repo-review[cli]")
    done = subprocess.run(
        [sys.executable, "-m", "repo_review", str(ROOT), "--format", "json"],
        capture_output=True,
        text=True,
        check=False,
    )
    checks = json.loads(done.stdout)["checks"]
    assert len(checks) > 30
    assert [name for name, check in checks.items() if check["result"] is False] == []


def test_nothing_is_left_out_of_the_review():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    assert "repo-review" not in settings
    assert settings["mypy"]["strict"]


def test_the_workflow_is_as_snakemake_asks():
    pytest.importorskip("snakemake")
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", "--lint"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    said = done.stdout + done.stderr
    assert "Congratulations, your workflow is in a good condition!" in said, said
