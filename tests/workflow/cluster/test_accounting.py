"""The same with a database that keeps the accounts of jobs: sacct answers, too."""

import pytest

from .conftest import Node, command

pytestmark = pytest.mark.slurm


@pytest.fixture(scope="module")
def node():
    with Node("accounting") as node:
        yield node


@pytest.mark.parametrize("status", ["squeue", "sacct"])
def test_jobs_are_asked_for_either_way(node, kills, status, tmp_path):
    workflow = kills("--slurm-status-command", status, "--keep-going", "hungry", "wrong")
    assert workflow.wait() == 1
    assert "Job hungry: OUT_OF_MEMORY" in workflow.said
    assert (tmp_path / "hungry.txt").exists()
    assert (tmp_path / "wrong.attempts").read_text() == "once\n"
    assert "FAILED" in command("sacct", "-X", "-n", "--format=State")
