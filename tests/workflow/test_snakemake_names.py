"""Nothing of Snakemake is reached but what its documentation names: a new version breaks nothing here."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PYTHON = sorted(
    path for folder in ("src/parkf", "tools", "benchmarks") for path in (ROOT / folder).rglob("*.py")
)
RULES = [ROOT / "Snakefile", *sorted((ROOT / "workflow").rglob("*.smk"))]
# What Snakemake's documentation says that a Snakefile may use of these objects.
DOCUMENTED = {
    "workflow": {"basedir", "cores", "source_path"},
    "shell": {"executable", "prefix"},
    "rules": {"all"},
    "snakemake": {"utils"},
}


def imported(tree):
    """Names of modules that a program imports, also those in calls of import_module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in ("import_module", "__import__", "find_spec"):
                yield str(node.args[0].value)


def test_no_program_imports_snakemake():
    found = {
        str(path.relative_to(ROOT)): name
        for path in PYTHON
        for name in imported(ast.parse(path.read_text()))
        if name.partition(".")[0].startswith("snakemake")
    }
    assert found == {}


@pytest.mark.parametrize("path", RULES, ids=lambda path: path.stem)
def test_rules_reach_only_what_is_documented(path):
    text = re.sub(r"#.*", "", path.read_text())
    assert re.findall(r"^\s*(?:from|import)\s+snakemake\S*", text, re.MULTILINE) == []
    for name, known in DOCUMENTED.items():
        used = set(re.findall(rf"(?<![\w.\"'/]){name}\.(\w+)", text))
        assert used <= known, f"{name}: private names"


def test_a_private_name_is_found():
    text = "import os\nfrom snakemake.dag import DAG\nimport_module('snakemake.jobs')"
    assert [*imported(ast.parse(text))] == ["os", "snakemake.dag", "snakemake.jobs"]
