"""Paths with characters that a shell interprets name files, and run nothing."""

import shutil
import subprocess

import yaml

from parkf.workflow.config_files import laid, read_layers
from parkf.workflow.folder import make_folder

from .conftest import PARKF, ROOT

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


def test_names_are_names(project):
    paths = {}
    known = {"geometry": "geometry/run3.yaml", "alignment": "geometry/alignment_nominal.yaml"}
    for place, key in enumerate(("geometry", "alignment", "source")):
        source = project.folder / "data" / known.get(key, "field/dipole.json")
        paths[key] = f"data/{'_'.join(NAMES[place::3])}{source.suffix}"
        shutil.copy(source, project.folder / paths[key])
    made = "results/smoke/closure-tracks/closure_up.parquet"
    done = project.snakemake("--cores", "1", "--configfile", configure(project, **paths), "--", made)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert (project.folder / made).exists()
    assert not list(project.folder.rglob(f"{CANARY}*"))


def test_a_module_of_the_working_folder_is_not_that_of_a_library(tmp_path):
    """Neither the leader of a run nor Snakemake, which it starts, nor a stage executes such a file."""
    make_folder(tmp_path)
    for name in ("random", "colorsys", "numpy", "uuid", "tomllib", "yaml"):
        (tmp_path / f"{name}.py").write_text("open('executed', 'a').write(__name__)\n")
    words = [PARKF, "run", "smoke", "results/smoke/field.npz", "--cores", "1"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert (tmp_path / "results/smoke/field.npz").exists()
    assert not (tmp_path / "executed").exists()
