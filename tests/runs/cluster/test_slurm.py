"""A real Slurm runs the chain, and ends jobs for each of its reasons."""

import pytest

from ..conftest import Project
from .conftest import OFTEN, Workflow, command
from .documented import checkout, snakemake

pytestmark = pytest.mark.slurm
SET = ("constant.f32", "global.f32")
# Rules that one job of the cluster runs together, and the number of parts that do not depend on each other.
TOGETHER = {
    "inside": (("table", "closure_tracks"), 2),
    "samples": (("thresholds", "rows", "datasets"), 4),
    "training": (("train", "train_behind", "constants", "close", "assemble"), 1),
}


@pytest.fixture(scope="module")
def training(node, finished, tmp_path_factory):
    """A training run of the smoke configuration, under way while other tests look at single jobs."""
    project = Project.new(tmp_path_factory.mktemp("slurm")).know(finished, "table", "constants")
    folder = checkout(project)
    workflow = Workflow(
        folder,
        *snakemake("make run PROFILE=slurm RUN=smoke", folder),
        *OFTEN,
        # Chunks are simulated by separate jobs. Other stages share three.
        *("--set-scatter", "training=2"),
        "--groups",
        *(f"{rule}={group}" for group, (rules, _) in TOGETHER.items() for rule in rules),
        "--group-components",
        *(f"{group}={parts}" for group, (_, parts) in TOGETHER.items()),
        *("--", "results/smoke/set/constant.f32"),
    )
    yield folder, workflow
    workflow.stop()


def test_a_job_killed_for_memory_or_time_gets_more(training, kills, tmp_path):
    workflow = kills("--keep-going", "hungry", "slow", "wrong")
    assert workflow.wait() == 1
    assert (tmp_path / "hungry.attempts").read_text() == "400\n1200\n"
    assert (tmp_path / "hungry.txt").exists()
    assert (tmp_path / "slow.attempts").read_text() == "1\n2\n"
    assert (tmp_path / "slow.txt").exists()
    # Snakemake does not ask why a job has failed.
    assert (tmp_path / "wrong.attempts").read_text() == 3 * "once\n"


def test_a_cancelled_job_runs_again(training, kills, tmp_path):
    workflow = kills("waiting")
    workflow.wait_for((tmp_path / "waiting.started").exists)
    (job,) = [
        line.split()[0] for line in command("squeue", "-h", "-o", "%i %k").splitlines() if "waiting" in line
    ]
    command("scancel", job)
    (tmp_path / "go-on").touch()
    assert workflow.wait() == 0, workflow.said
    assert "CANCELLED" in workflow.said
    assert (tmp_path / "waiting.txt").read_text() == "done\n"


def test_the_set_has_the_bytes_of_the_local_run(training, finished):
    folder, workflow = training
    assert workflow.wait() == 0, workflow.said[-5000:]
    for name in SET:
        got = (folder / "results/smoke/set" / name).read_bytes()
        assert got == (finished.folder / "results/smoke/set" / name).read_bytes(), name
