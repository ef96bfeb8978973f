import pytest

from parkf.workflow.cluster.executors import htcondor_ending, slurm_ending

SLURM = "SLURM-job '7' failed, SLURM status is: '{}'. Detailed failure reason unavailable."
CONDOR = "Job 3 with HTCondor Cluster ID 12 "


@pytest.mark.parametrize(
    ("state", "curable"),
    [
        ("OUT_OF_MEMORY", True),
        ("TIMEOUT", True),
        ("CANCELLED", False),
        ("NODE_FAIL", False),
        ("FAILED", False),
    ],
)
def test_slurm_says_why_and_only_more_memory_or_time_cures(state, curable, tmp_path):
    log = tmp_path / "7.log"
    log.write_text("error: geometry.yaml: no such file\n")
    ending = slurm_ending(SLURM.format(state), log)
    assert (ending.reason, ending.curable) == (state, curable)


def test_a_node_without_control_groups_leaves_its_reason_in_the_log(tmp_path):
    log = tmp_path / "7.log"
    log.write_text(
        "slurmstepd: error: StepId=7.0 exceeded memory limit (213741568 > 209715200), being killed\n"
    )
    ending = slurm_ending(SLURM.format("FAILED"), log)
    assert (ending.reason, ending.curable) == ("OUT_OF_MEMORY", True)


def test_a_submission_that_fails_says_so_itself():
    ending = slurm_ending("Job submission failed with exception: Invalid account", None)
    assert not ending.curable
    assert "Invalid account" in ending.advice


@pytest.mark.parametrize(
    ("message", "reason", "curable"),
    [
        (
            "is held: Error from slot1@a: Job has gone over cgroup memory limit of 1024 megabytes.",
            "HELD",
            True,
        ),
        ("is held: The job exceeded allowed execute duration of 00:10:00", "HELD", True),
        ("is held: Transfer output files failure: no such file", "HELD", False),
        ("was removed/aborted.", "REMOVED", False),
        ("completed but failed with ExitCode 1.", "FAILED", False),
    ],
)
def test_htcondor_says_why_it_holds_a_job(message, reason, curable):
    ending = htcondor_ending(CONDOR + message, None)
    assert (ending.reason, ending.curable) == (reason, curable)
