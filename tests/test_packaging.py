"""The source distribution and the wheel contain everything that building and running need."""

import re
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# From these folders, every file of a checkout belongs to the distribution.
FOLDERS = ("data", "docs", "examples", "params", "src", "tests", "workflow")
FILES = (
    "CMakeLists.txt",
    "LICENSE",
    "Makefile",
    "README.md",
    "Snakefile",
    "pyproject.toml",
    "requirements.lock",
)
MADE = {".pyc", ".so"}


def _files(name):
    return {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / name).rglob("*")
        if path.is_file() and path.suffix not in MADE and not path.name.startswith(".")
    }


def test_the_source_distribution_is_whole(tmp_path, monkeypatch):
    build = pytest.importorskip("scikit_build_core.build", reason="needs pip install 'parkf[dev]'")
    monkeypatch.chdir(ROOT)
    with tarfile.open(tmp_path / build.build_sdist(str(tmp_path))) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {name for folder in FOLDERS for name in _files(folder)} | set(FILES)
    assert wanted - inside == set()
    assert {name for name in inside if name.startswith(("results/", "build/", ".venv/"))} == set()


def test_the_wheel_takes_every_file_of_the_rules_and_their_inputs():
    text = (ROOT / "CMakeLists.txt").read_text()
    block = text[text.index("SKBUILD_STATE") : text.index("endif()")]
    rules = re.findall(r"install\(DIRECTORY ([a-z/ ]+) DESTINATION \S+\s+FILES_MATCHING ([^)]*)\)", block)
    assert [folders for folders, _ in rules] == ["workflow data"]
    for folders, patterns in rules:
        taken = set(re.findall(r'PATTERN "\*(\.\w+)"', patterns))
        found = {Path(name).suffix for folder in folders.split() for name in _files(folder)}
        assert found - taken == {".md"}
