"""No part of a name in a configuration runs as a command of a shell."""

import subprocess
from pathlib import Path

import pytest
import yaml

from parkf.io.errors import ParkfError
from parkf.workflow.config import load_config
from parkf.workflow.config_files import laid, read_layers
from parkf.workflow.family import load_family
from parkf.workflow.rules import stage_words

from .conftest import ROOT, commands

# A fragment that is run leaves a file behind; it needs a shell, but no program.
PLANT = ": >canary"
FRAGMENTS = (
    *(f"{sign} {PLANT}" for sign in (";", "&&", "||", "|", "&", ";;", "|&", "!")),
    *(">canary", ">>canary", "2>canary", "<>canary", "&>canary", ">|canary"),
    *(f"$({PLANT})", f"`{PLANT}`", f"<({PLANT})", f">({PLANT})", f"$[a[$({PLANT})]]", f"$((a[`{PLANT}`]))"),
    *(f"'; {PLANT}; '", f'"; {PLANT}; "', f"'$({PLANT})'", f'"$({PLANT})"', f"\\'; {PLANT}; \\'"),
    *(f"\\`{PLANT}\\`", f"$'; {PLANT}", f"({PLANT})", f"#; {PLANT}", f"$IFS; {PLANT}"),
    *("*", "?[a-z]", "~root", "-n --help", "%s%n", "=x", "$HOME", "!!", "é µ 磁", "\\"),
)
# Number of paths in a configuration that can contain fragments.
SLOTS = 5
NOT_NAMES = ("a{b}", "{input:q}", f"${{x:-$({PLANT})}}", "a\nb", "a\x00b", "a\x1b[31m", "", "a\u0007", "a\n")
# Replaces every program: prints its arguments, one in each line.
SHELL = r"""parkf() { printf '%s\n' "$@"; }; PATH=; """


def ran(command: str, folder: Path) -> list[str]:
    """Let a shell without programs split a command; return the arguments."""
    for place in ("results/smoke/logs/datasets", "results/smoke/closure", "results/smoke/report"):
        (folder / place).mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        ["/bin/bash", "-c", SHELL + command], cwd=folder, capture_output=True, text=True, check=False
    )
    return done.stdout.splitlines()


def test_no_rule_runs_a_part_of_a_name(project) -> None:
    names = ["".join(FRAGMENTS[slot::SLOTS]) for slot in range(SLOTS)]
    geometry, alignment, source, hits, tracks = names
    folder = project.folder
    config = laid(read_layers(folder / "workflow/config/smoke.yaml"))
    given = {
        f"data/{geometry}.yaml": folder / "data/geometry/run3.yaml",
        f"data/{alignment}.yaml": folder / "data/geometry/alignment_nominal.yaml",
        f"data/{source}.json": folder / "data/field/dipole.json",
    }
    for name, file in given.items():
        (folder / name).write_bytes(file.read_bytes())
    paths = list(given)
    config["detector"] = {"geometry": paths[0], "alignment": paths[1]}
    config["field"]["source"] = paths[2]
    config["likeness"] = {"hits": f"data/{hits}", "tracks": f"data/{tracks}", "polarity": "up"}
    for name in (hits, tracks):
        (folder / "data" / name).touch()
    (folder / "nasty.yaml").write_text(yaml.safe_dump(config, allow_unicode=True))
    said = project.plan("--printshellcmds", "--configfile", str(folder / "nasty.yaml"))
    planned = [command for _, command in commands(said)]
    assert len(planned) > 30
    # A shell splits these commands: each name arrives whole, and no part of it runs.
    assert all(command.startswith(f"{stage_words()} ") for command in planned)
    programs = (command.replace(stage_words(), "parkf", 1) for command in planned)
    seen = {one for command in programs for one in ran(command, folder)}
    assert {*paths, f"data/{hits}", f"data/{tracks}"} <= seen
    parts = {word for name in names for word in name.split() if len(word) > 3}
    assert seen.isdisjoint(parts)
    assert not list(folder.rglob("*canary"))


@pytest.mark.parametrize("name", NOT_NAMES, ids=repr)
def test_what_is_no_name_is_refused_for_each_path(name: str) -> None:
    config = laid(read_layers(ROOT / "workflow/config/smoke.yaml"))
    places = (("detector", "geometry"), ("detector", "alignment"), ("field", "source"))
    for section, key in (*places, ("training", "datasets")):
        broken = config | {section: config[section] | {key: name}}
        with pytest.raises(ParkfError, match=rf"config: {section}\.{key}: got the text"):
            load_config(broken, ROOT)


@pytest.mark.parametrize("name", [*FRAGMENTS, *NOT_NAMES, "a b", "../a", "a/b", ".a"], ids=repr)
def test_names_of_runs_and_members_are_plain(name: str) -> None:
    config = laid(read_layers(ROOT / "workflow/config/smoke.yaml"))
    with pytest.raises(ParkfError, match="config: run: got"):
        load_config(config | {"run": name}, ROOT)
    family = {"family": "fam", "base": "workflow/config/smoke.yaml", "conditions": {"a": {}}}
    for broken in (family | {"family": name}, family | {"conditions": {name: {}}}):
        with pytest.raises(ParkfError, match=r"family: (family: got|conditions\.(?s:.*): got)"):
            load_family(broken, ROOT)


@pytest.mark.parametrize("name", ["x; touch canary", "$(touch canary)", "a b", "it's"])
def test_make_quotes_what_it_is_given(name: str, tmp_path: Path) -> None:
    # make takes a single $ for a variable of its own.
    given = name.replace("$", "$$")
    command = [
        "make",
        "-n",
        "-C",
        str(ROOT),
        "-o",
        ".venv/.installed",
        "run",
        f"RUN={given}",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = [line for line in done.stdout.splitlines() if ".venv/bin/parkf" in line]
    arguments = [one for line in lines for one in ran(line.replace(".venv/bin/parkf", "parkf"), tmp_path)]
    assert arguments[-2:] == ["--", name]
    assert not (ROOT / "canary").exists()
