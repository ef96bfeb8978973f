"""After a changed comment no job runs again; after a changed value or formula, what depends on it does."""

import re
import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest

import parkf._transport as _transport
from parkf.stages.call import code_of
from parkf.workflow.rules import stage_words

from .conftest import ROOT, commands

DOCUMENTS = (
    *("data/geometry/run3.yaml", "data/geometry/alignment_nominal.yaml"),
    *("workflow/config/smoke.yaml", "workflow/config/default.yaml", "workflow/config/gates.yaml"),
)
SOURCES = (
    *("workflow/rules/train.smk", "workflow/rules/simulate.smk", "Snakefile"),
    *(
        "src/parkf/simulation/response/simulate.py",
        "src/parkf/training/train.py",
        "src/parkf/model/steps/velo.py",
    ),
)


@pytest.fixture
def tree(tmp_path_factory):
    """A copy of rules and sources, whose kernel is the one that was built here."""
    tmp_path = tmp_path_factory.mktemp("tree")
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("*.so"))
    for built in Path(_transport.__file__).parent.glob("*.so"):
        (tmp_path / "src/parkf" / built.name).symlink_to(built)
    for name in ("workflow", "data", "params"):
        shutil.copytree(ROOT / name, tmp_path / name)
    for name in ("Snakefile", "pyproject.toml", "CMakeLists.txt"):
        shutil.copy2(ROOT / name, tmp_path / name)
    return tmp_path


@contextmanager
def changed(folder, **texts):
    """Change files of a folder for a while."""
    kept = {folder / name: (folder / name).read_bytes() for name in texts}
    try:
        for name, text in texts.items():
            (folder / name).write_text(text)
        yield
    finally:
        for path, content in kept.items():
            path.write_bytes(content)


def edit(path, old, new):
    """Replace a piece of a file, which must be there."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_comments_run_nothing(finished, tree):
    for name in SOURCES:
        (tree / name).write_text(f"{(tree / name).read_text()}\n# A comment.\n")
    header = tree / "src/kernel/transport/field.hpp"
    header.write_text(f"// A comment.\n{header.read_text()}")
    edit(tree / "workflow/rules/train.smk", '"""Fit p, then', '"""Fit the kick of p, then')
    texts = {name: f"# A comment.\n{(finished.folder / name).read_text()}" for name in DOCUMENTS}
    with changed(finished.folder, **texts):
        assert finished.would_run(source=tree / "src") == {}


def test_a_constant_runs_the_rules_whose_commands_reach_it(finished, tree):
    edit(tree / "src/parkf/simulation/response/simulate.py", "EVENTS_PER_PIECE = 25", "EVENTS_PER_PIECE = 24")
    jobs = finished.would_run(source=tree / "src")
    assert (jobs["simulate_training"], jobs["simulate_validation"]) == (1, 1)
    assert jobs.keys().isdisjoint({"field", "generate", "table"})


def test_a_formula_runs_its_step_and_what_follows(finished, tree):
    edit(tree / "src/parkf/model/steps/velo_to_ut.py", '(ten(2) * ty**2, "ty²"', '(ten(3) * ty**2, "ty²"')
    jobs = finished.would_run(source=tree / "src")
    assert {"train", "assemble", "fit_validation", "validate", "report"} <= jobs.keys()


def test_a_value_of_a_document_runs_what_reads_it(finished):
    name = "data/geometry/alignment_nominal.yaml"
    text = (finished.folder / name).read_text()
    with changed(finished.folder, **{name: text.replace("scifi_layers: {}", "scifi_layers: {3: {x: 0.1}}")}):
        jobs = finished.would_run()
    # Each sample is simulated once. The closure has its own tracks, in the same detector.
    assert (jobs["simulate_training"], jobs["simulate_validation"], jobs["closure_tracks"]) == (1, 1, 1)
    assert (jobs["train"], jobs["train_behind"], jobs["close"], jobs["report"]) == (1, 1, 1, 1)
    assert jobs.keys().isdisjoint({"field", "generate", "table"})
    # The same content as before, at another time.
    assert finished.would_run() == {}


def test_a_command_in_a_rule_decides_too(finished, tree):
    rules = tree / "workflow/rules/validate.smk"
    edit(
        rules,
        "--fits {params.fits} --output {output:q} --threads {threads}",
        "--fits {params.fits} --output {output:q}",
    )
    assert finished.would_run(source=tree / "src") == {"validate": 1, "report": 1, "all": 1}


def test_every_command_is_that_of_a_stage_with_the_key_of_its_code(finished):
    """The key is a parameter of the rule, so that other code runs the rule again."""
    planned = commands(finished.plan("--forceall", "--printshellcmds"))
    assert len(planned) >= 22
    for rule, command in planned:
        words = re.fullmatch(rf"{re.escape(stage_words())} (\w+) .* --code (\w+) 2?> \S+( 2>&1)?", command)
        assert words, (rule, command)
        assert words[2] == code_of(words[1]), rule
