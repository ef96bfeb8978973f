"""Slurm runs with a database that keeps the accounts of jobs, so that sacct answers, too."""

import pytest

from .conftest import Node, command

pytestmark = pytest.mark.slurm


@pytest.fixture(scope="module")
def node():
    with Node("accounting") as node:
        yield node


def test_jobs_are_asked_for_either_way(node, kills, tmp_path):
    runs = {
        status: kills(
            *("--slurm-status-command", status, "--keep-going", "hungry", "wrong"), folder=tmp_path / status
        )
        for status in ("squeue", "sacct")
    }
    for status, workflow in runs.items():
        assert workflow.wait() == 1
        assert (tmp_path / status / "hungry.txt").exists()
        assert (tmp_path / status / "wrong.attempts").read_text() == 3 * "once\n"
    assert "FAILED" in command("sacct", "-X", "-n", "--format=State")
