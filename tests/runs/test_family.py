"""A family in one plan: each member is what it is as a run alone."""

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import get_args

import pytest
import yaml
from pydantic import BaseModel
from tests.guard import VARIABLE

from parkf.io.ledger import Ledger
from parkf.model.steps import FORMS
from parkf.stages.call import read_call
from parkf.workflow.config_model import RunConfig
from parkf.workflow.family import leaves, load_family

from .conftest import MEMBERS, ROOT, SMALL, Project, commands, jobs
from .ready import snakemake

FAMILY = {"family": "fam", "base": "workflow/config/smoke.yaml"}
SHIFTED = "data/geometry/alignment_scifi_shift.yaml"
STEPS = [*FORMS["improved"].steps]
# For every key of a run's configuration, a member that has another value of it than the base.
EVERY_KEY = {
    "maps": {
        "detector": {"geometry": "data/other.yaml", "alignment": SHIFTED},
        "field": {
            **{"source": "data/map.npz", "outside": "zero", "interpolation": "cubic"},
        },
        "polarities": ["down"],
        "training": {"neighbour": "results/before"},
    },
    "datasets": {
        "seed": 7,
        "training": {"datasets": "data/own"},
        "validity": {"first_run": 5, "last_run": 6},
    },
    "production": {
        "forms": "production",
        "training": {
            "client": "trigger",
            "closure": None,
            "noise_scale": {**dict.fromkeys((*STEPS, "BEND"), 0.95)},
        },
        "fits": {"of": ["parkf", "trigger"], "precision": "float64", "backend": "auto"},
        "validity": {"first_time": "2026-05-03T12:00Z", "last_time": "2026-05-04T12:00Z"},
    },
    "sizes": {
        "field": {"spacing": 150},
        "events": {"training": 81, "validation": 26, "pile_up": 6},
        "pattern": {"segments": "found", "crowded": True},
        "misalignment": {"scifi_module": 0.1, "scifi_mat": 0.1},
        "training": {
            **{"max_rows": 90_000, "rays": 50_000},
            "closure": {"tracks": 9000, "rays": 60_000, "passes": 1},
        },
    },
    "data": {
        "signals": {"collisions": 100},
        "likeness": {"hits": "data/hits.parquet", "tracks": "data/tracks.parquet", "polarity": "up"},
        "calibration": {
            "candidates": ["data/hits.parquet"],
            "placed": SHIFTED,
            "pairs": {"jpsi": ["data/hits.parquet"], "d0": ["data/tracks.parquet"]},
            "survey": {"x": 0.1, "rz": 1e-3},
            "before": "data/before.json",
        },
    },
}


def keys_of(model, prefix=""):
    """All keys of a model that have no further keys below."""
    for name, field in model.model_fields.items():
        below = [one for one in (field.annotation, *get_args(field.annotation)) if isinstance(one, type)]
        below = [one for one in below if issubclass(one, BaseModel)]
        yield from keys_of(below[0], f"{prefix}{name}.") if below else [f"{prefix}{name}"]


def plan(project, rules, config, *arguments):
    """Return what Snakemake says of the plan of a run or a family."""
    file = project.folder / "asked.yaml"
    file.write_text(yaml.safe_dump(config, sort_keys=False))
    done = snakemake(
        *("--snakefile", str(ROOT / rules), "--directory", str(project.folder), "--configfile", str(file)),
        *("--workflow-profile", str(ROOT / "workflow/profiles/local"), "--cores", "2", "--dry-run"),
        *arguments,
        folder=project.folder,
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-5000:]
    return done.stdout + done.stderr


def of_run(plan, run):
    """Commands of a run in a plan; in a family, jobs of other members use cores, too."""
    there = (command for _, command in commands(plan) if f"> results/{run}/logs/" in command)
    return sorted(re.sub(r" --threads \d+", "", command) for command in there)


@pytest.fixture
def everything(project):
    """A project with the files that the members of EVERY_KEY name."""
    data = project.folder / "data"
    shutil.copy(data / "geometry/run3.yaml", data / "other.yaml")
    for name in ("map.npz", "own/V.parquet", "hits.parquet", "tracks.parquet"):
        (data / name).parent.mkdir(exist_ok=True)
        (data / name).touch()
    (data / "before.json").write_text("{}")
    before = project.folder / "results/before"
    for name in ("closure/table.npz", "closure/accuracy.json", "score.json"):
        (before / name).parent.mkdir(parents=True, exist_ok=True)
        (before / name).write_text("{}")
    return project


def test_every_key_has_a_member_of_another_value():
    named = {key for member in EVERY_KEY.values() for key, _ in leaves(member)}
    # `run` and `extends` are a file's own; `survey` is one table.
    named = {re.sub(r"^calibration\.survey\..*", "calibration.survey", key) for key in named}
    assert named - {"training.closure"} == {*keys_of(RunConfig)} - {"run", "extends"}


def test_a_member_has_the_commands_of_its_run_alone(everything):
    """A stage sees its command and the files that this names, and nothing else: the products are the same."""
    config = FAMILY | {"conditions": {"same": {}} | EVERY_KEY}
    together = plan(everything, "workflow/family.smk", config)
    members = load_family(config, everything.folder).members
    assert [member.name for member in members] == ["same", *EVERY_KEY]
    seen = set()
    for member in members:
        run = member.config["run"]
        alone = of_run(plan(everything, "Snakefile", member.config), run)
        assert of_run(together, run) == alone, member.name
        assert len(alone) > 15, member.name
        seen.add("\n".join(alone).replace(run, ""))
    assert len(seen) == len(members), "no two members are the same"
    # The table and the score of a neighbour are taken, so their tracks and candidates are not made.
    assert jobs(together)["maps_take_closure"] == jobs(together)["maps_take_score"] == 1
    assert jobs(together).keys().isdisjoint({"maps_closure_tracks", "maps_close"})


def test_every_command_of_a_family_is_a_call_of_a_stage(everything, monkeypatch):
    said = plan(everything, "workflow/family.smk", FAMILY | {"conditions": EVERY_KEY}, "--printshellcmds")
    monkeypatch.chdir(everything.folder)
    names = set()
    for _, command in commands(said):
        words = shlex.split(command.partition("-m parkf.stages ")[2])
        words = words[: next(place for place, word in enumerate(words) if word in ("2>", ">"))]
        place = words.index("--code")
        names.add(read_call(words[0], words[1:place] + words[place + 2 :]).stage)
    assert names > {"family_report", "report", "adopt_dataset", "take_closure", "calibrate"}


def test_members_take_what_is_the_same_and_nothing_else(family):
    made = {}
    for name in MEMBERS:
        for entry in Ledger(family.folder / f"results/fam.{name}").entries():
            made.setdefault(entry.stage, []).append(not entry.taken_from)
    # What two members make alike is made once, whoever comes first.
    assert sum(made["field"]) == sum(made["table"]) == 1
    assert sum(made["generate"]) == len(["training", "validation"])
    # The client decides the closed table, the alignment what is simulated, too.
    assert sum(made["close"]) == 3
    # A shift of the SciFi changes the rows of the three steps that end there, UTTF, TFT and T, and no others.
    assert sum(made["train"]) == 2 + 1
    tables = {family.products(f"fam.{name}")[f"results/fam.{name}/closure/table.npz"] for name in MEMBERS}
    assert len(tables) == 3


def test_logged_commands_make_the_run_in_a_shell(family, tmp_path):
    """The commands of a plan, in chunks, pasted into a shell that knows nothing of Snakemake."""
    (config,) = (
        member.config
        for member in load_family(FAMILY | {"base": SMALL, "conditions": MEMBERS}, family.folder).members
        if member.name == "shifted"
    )
    project = Project.new(tmp_path).know(family, "table", "constants")
    (project.folder / "asked.yaml").write_text(yaml.safe_dump(config))
    chunks = ("--set-scatter", "training=2", "validation=2", "signals=2")
    planned = commands(project.plan("--printshellcmds", "--configfile", "asked.yaml", *chunks))
    rules = {rule for rule, _ in planned}
    assert rules >= {"field", "gather", "train", "fit_signals", "validate", "report"}
    assert all(re.fullmatch(r".+ --code [0-9a-f]{16} 2?> \S+( 2>&1)?", command) for _, command in planned)
    # Snakemake makes the folders of logs.
    folders = sorted({str(Path(re.search("> (\\S+)", command)[1]).parent) for _, command in planned})
    script = "\n".join(["set -e", f"mkdir -p {' '.join(folders)}", *(command for _, command in planned)])
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=project.folder,
        env={name: os.environ[name] for name in ("PATH", "HOME", VARIABLE)},
        capture_output=True,
        text=True,
        check=False,
    )
    logs = [path.read_text() for path in (project.folder / "results/fam.shifted/logs").rglob("*.log")]
    assert done.returncode == 0, [done.stderr[-2000:], *(text for text in logs if "error" in text)]
    assert (project.folder / "results/fam.shifted/report/index.html").exists()
    made, together = project.products("fam.shifted"), family.products("fam.shifted")
    # Files of chunks have other names.
    both = made.keys() & together.keys()
    assert {path: made[path] for path in both} == {path: together[path] for path in both}
    names = (
        "set/manifest.json",
        "closure/table.npz",
        "datasets/UT.parquet",
        "fits/UT.json",
        "validation.json",
    )
    assert both >= {f"results/fam.shifted/{name}" for name in names}


def test_a_mistake_stops_the_family_before_anything_runs(project):
    with pytest.raises(AssertionError, match="unknown key 'famly'; did you mean 'family'"):
        plan(project, "workflow/family.smk", FAMILY | {"conditions": {"same": {}}, "famly": 1})
    assert not (project.folder / "results").exists()
