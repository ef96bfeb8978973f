"""Executors know every setting of their profiles, and each setting reaches the scheduler."""

import json
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[3]
PROFILES = ROOT / "workflow/profiles"

# Writes the job descriptions for HTCondor to a file, instead of submitting them to a pool.
POOL = """
import json, sys
import snakemake_executor_plugin_htcondor as plugin

class Schedd:
    def submit(self, description):
        with open("submitted.jsonl", "a") as file:
            file.write(json.dumps({key: description[key] for key in description}) + "\\n")
        raise RuntimeError("no pool")

plugin.htcondor.Schedd = Schedd
plugin.htcondor.Submit.issue_credentials = lambda self: None
from snakemake.cli import main
main(sys.argv[1:])
"""


@pytest.mark.parametrize("name", ["slurm", "htcondor", "local"])
def test_what_a_killed_run_leaves_is_made_again_under_every_profile(name):
    profile = yaml.safe_load((PROFILES / name / "profile.yaml").read_text())
    assert profile["rerun-incomplete"]
    assert profile["nolock"]
    # A job on a node would evaluate the trigger `code` for all rules anew.
    assert profile["rerun-triggers"] == ["mtime", "params", "input", *(["code"] if name == "local" else [])]


@pytest.mark.parametrize("name", ["slurm", "htcondor"])
def test_every_setting_is_one_of_the_executor(name):
    plugin = pytest.importorskip(
        f"snakemake_executor_plugin_{name}", reason=f"needs pip install 'parkf[{name}]'"
    )
    profile = yaml.safe_load((PROFILES / name / "profile.yaml").read_text())
    assert profile["executor"] == name
    own = {key.removeprefix(f"{name}-").replace("-", "_") for key in profile if key.startswith(f"{name}-")}
    assert own <= {field.name for field in fields(plugin.ExecutorSettings)}
    # Values pass the executor's own checks.
    plugin.ExecutorSettings(**{key: profile[f"{name}-{key.replace('_', '-')}"] for key in own})


def test_htcondor_is_asked_for_memory_disk_and_time(tmp_path):
    pytest.importorskip("snakemake_executor_plugin_htcondor", reason="needs pip install 'parkf[htcondor]'")
    for name in ("data", "workflow"):
        (tmp_path / name).symlink_to(ROOT / name)
    done = subprocess.run(
        [
            *(
                sys.executable,
                "-c",
                POOL,
                "--snakefile",
                str(ROOT / "Snakefile"),
                "--directory",
                str(tmp_path),
            ),
            *("--workflow-profile", str(PROFILES / "htcondor")),
            *("--configfile", str(ROOT / "workflow/config/smoke.yaml"), "--", "results/smoke/field.npz"),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert "no pool" in done.stdout + done.stderr
    (job,) = map(json.loads, (tmp_path / "submitted.jsonl").read_text().splitlines())
    assert job["request_cpus"] == "1"
    assert job["environment"].split()[-1] == "PYTHONSAFEPATH=1"
    assert float(job["request_memory"].removesuffix("MB")) == 4000
    assert int(job["request_disk"]) == 10_000 * 1024  # kB
    assert int(job["allowed_execute_duration"]) == 7200
