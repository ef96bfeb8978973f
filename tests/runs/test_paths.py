"""Paths with characters that a shell interprets name files, and run nothing."""

import re
import shutil

import pytest
import yaml

from parkf.workflow.config_files import laid, read_layers

from .conftest import ROOT

CANARY = "canary"
# A name that runs as a command leaves a file behind.
NAMES = (
    f"a; touch {CANARY}",
    f"b$(touch {CANARY})",
    f"c`touch {CANARY}`",
    f"d && touch {CANARY}",
    f"e | tee {CANARY}",
    f"f > {CANARY}",
    f"g' ; touch {CANARY} ; '",
    f'h" ; touch {CANARY} ; "',
    "i with blanks  two",
    "j'single",
    'k"double',
    "l*star?[a]$HOME~",
    "-m --help",
    "n\\backslash &",
    "r!(#%^=+,:@ Größe µ 磁",
)


def configure(project, **paths):
    """Write a configuration whose inputs have such names; return its path."""
    config = laid(read_layers(ROOT / "workflow/config/smoke.yaml"))
    config["training"]["closure"]["tracks"] = 1000
    config["field"]["spacing"] = 200  # an eighth of the field's time
    for key, path in paths.items():
        section = "field" if key == "source" else "detector"
        config[section][key] = path
    file = project.folder / "nasty.yaml"
    file.write_text(yaml.safe_dump(config, allow_unicode=True))
    return str(file)


@pytest.mark.parametrize("first", range(0, len(NAMES), 3))
def test_a_name_is_a_name(project, first):
    paths = {}
    for key, name in zip(("geometry", "alignment", "source"), NAMES[first : first + 3], strict=True):
        known = {"geometry": "geometry/run3.yaml", "alignment": "geometry/alignment_nominal.yaml"}
        source = project.folder / "data" / known.get(key, "field/dipole.json")
        paths[key] = f"data/{name}{source.suffix}"
        shutil.copy(source, project.folder / paths[key])
    made = "results/smoke/closure-tracks/closure_up.parquet"
    done = project.snakemake("--cores", "1", "--configfile", configure(project, **paths), "--", made)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert (project.folder / made).exists()
    assert not list(project.folder.rglob(f"{CANARY}*"))


def test_a_folder_for_copies_has_a_plain_name(project):
    for name, taken in (("/tmp/a b", False), ("/tmp/physics-1", True)):
        done = project.snakemake("--cores", "1", "--dry-run", "--local-storage-prefix", name, "--", "field")
        said = done.stdout + done.stderr
        assert (done.returncode == 0) == taken, said
        assert taken or "local-storage-prefix (SCRATCH): got '/tmp/a b', expected a path" in said


def test_what_cannot_be_a_name_is_refused_by_the_workflow(project):
    file = configure(project, geometry="t{input:q}")
    done = project.snakemake("--cores", "1", "--dry-run", "--configfile", file)
    assert done.returncode != 0
    assert re.search(r"nasty\.yaml:\d+: detector\.geometry: got the text", done.stdout + done.stderr)
