"""A family in one DAG: the member that makes each product, and the members that link to it."""

import re

import pytest
import yaml

from .conftest import ROOT
from .ready import snakemake

FAMILY = {
    "family": "fam",
    "base": "workflow/config/smoke.yaml",
    "conditions": {
        "nominal": {},
        "shifted": {"detector": {"alignment": "data/geometry/alignment_scifi_shift.yaml"}},
        "production": {
            "forms": "production",
            "training": {"start_from": None},
            "validity": {"first_run": 300_000},
        },
        "near": {
            "detector": {"alignment": "data/geometry/alignment_velo_shift.yaml"},
            "training": {"start_from": "results/fam.nominal", "neighbour": "results/fam.nominal"},
        },
    },
}


def ran(project, *arguments):
    """Run Snakemake on the project's family."""
    return snakemake(
        *("--snakefile", str(ROOT / "workflow/family.smk"), "--directory", str(project.folder)),
        *("--configfile", str(project.folder / "family.yaml")),
        *("--workflow-profile", str(ROOT / "workflow/profiles/local"), "--cores", "2"),
        *arguments,
        folder=project.folder,
    )


@pytest.fixture
def family(project):
    """Run Snakemake on a family in a folder of its own; return the output."""
    (project.folder / "family.yaml").write_text(yaml.safe_dump(FAMILY, sort_keys=False))

    def run(*arguments):
        done = ran(project, *arguments)
        assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-5000:]
        return done.stdout + done.stderr

    return run


def jobs(text):
    table = text.partition("Job stats:")[2].partition("\n\n")[0]
    return {rule: int(count) for rule, count in re.findall(r"^(\w+) +(\d+)$", table, re.M)}


def test_what_members_share_is_made_once(family):
    planned = jobs(family("--dry-run"))
    assert planned["overview"] == 1
    assert {"nominal_field", "nominal_generate", "nominal_table"} <= planned.keys()
    # No shared product is made again, and a member that shares states does not simulate.
    made_again = {f"{name}_{rule}" for name in ("shifted", "near") for rule in ("field", "generate", "table")}
    assert planned.keys().isdisjoint(made_again | {"production_generate", "production_field"})
    for name in ("shifted", "near"):
        assert planned[f"{name}_train"] == 7
        assert planned[f"{name}_link_table"] == 2
    # The closed table and the ghost score are a neighbour's, so their tracks and candidates are not made.
    assert planned["near_take_closure"] == planned["near_take_score"] == 1
    assert planned.keys().isdisjoint({"near_closure_tracks", "near_close", "near_draft", "near_train_score"})
    assert planned["near_candidates"] == planned["shifted_candidates"] - 2
    # Other forms have their own table and fits, made from the datasets and hits of the first member.
    assert planned["production_table"] == 1
    assert planned["production_train"] == planned["production_link_datasets"] == 7
    assert not [
        rule for rule in planned if re.match(r"production_(simulate|datasets|candidates|fit_full)", rule)
    ]
    # Every member is measured and has a report.
    for name in FAMILY["conditions"]:
        assert planned[f"{name}_assemble"] == planned[f"{name}_validate"] == planned[f"{name}_report"] == 1


def test_a_link_is_the_file_of_the_member_that_made_it(family, project):
    family("results/fam.shifted/field.npz")
    made, link = (project.folder / f"results/fam.{name}/field.npz" for name in ("nominal", "shifted"))
    assert link.is_symlink()
    assert not made.is_symlink()
    assert link.resolve() == made.resolve()
    assert not link.readlink().is_absolute(), "the project may be moved"
    assert "Nothing to be done" in family("results/fam.shifted/field.npz")


def test_a_mistake_stops_the_family_before_anything_runs(project):
    (project.folder / "family.yaml").write_text(yaml.safe_dump(FAMILY | {"famly": 1}))
    done = ran(project)
    assert done.returncode != 0
    assert "unknown key 'famly'; did you mean 'family'?" in done.stdout + done.stderr
    assert not (project.folder / "results").exists()
