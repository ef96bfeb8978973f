"""The predicted time of a run in cases that can be computed by hand."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3]))
from benchmarks.replay import CONFIGS, START, Job, critical_path, planned, replay, stops_scaling, submitted

from parkf.workflow.cluster.schedule import to_the_end
from parkf.workflow.config_files import laid, read_layers

# The first job precedes eight jobs of 10 s; the last one waits for all of them.
FAN = [
    Job("first", 5.0, 1, 100, ()),
    *(Job("middle", 10.0, 1, 100, (0,)) for _ in range(8)),
    Job("last", 1.0, 1, 100, tuple(range(1, 9))),
]


@pytest.mark.parametrize(("cores", "seconds"), [(1, 86), (2, 46), (3, 36), (8, 16), (100, 16)])
def test_wall_time_without_a_queue(cores, seconds):
    assert replay(FAN, cores, latency=0.0) == seconds


def test_each_step_of_the_chain_waits_in_the_queue():
    assert replay(FAN, 100, latency=2.0) == 16 + 3 * 2
    assert critical_path(FAN, 2.0) == {"first": 5.0, "queue": 6.0, "middle": 10.0, "last": 1.0}
    # Jobs of one layer wait in the queue at the same time: on one core only the chain adds waiting.
    assert replay(FAN, 1, latency=2.0) == 86 + 3 * 2


def test_the_time_to_the_end_is_that_of_the_chain_behind_a_job():
    """Each job of the chain waits 2 s in the queue."""
    assert to_the_end(FAN, 2.0) == [16 + 3 * 2, *[11 + 2 * 2] * 8, 1 + 2]
    assert to_the_end(FAN, 0.0)[0] == 16


def test_the_longest_chain_goes_first():
    jobs = [Job("short", 4.0, 1, 100, ()), Job("long", 4.0, 1, 100, ()), Job("end", 4.0, 1, 100, (1,))]
    assert replay(jobs, 1, latency=0.0) == 12
    assert replay(jobs, 2, latency=0.0) == 8


def test_threads_take_as_many_cores_and_fewer_take_longer():
    assert replay([Job("wide", 3.0, 4, 100, ())] * 2, 4, latency=0.0) == 6
    assert replay([Job("wide", 3.0, 4, 100, ())], 2, latency=0.0) == 6
    # One core works alone for 2 of the 3 s.
    assert replay([Job("wide", 3.0, 4, 100, (), alone=2.0)], 2, latency=0.0) == 4


def test_it_stops_scaling_where_half_of_the_cores_idle():
    # 86 core seconds: 16 s on 8 cores keep 67 % at work, on 16 cores half of that.
    assert stops_scaling(FAN, work=86, latency=0.0) == 16


def test_jobs_of_a_group_wait_once_and_together():
    """Two of the jobs in the middle run at a time, and the last one of the group after them."""
    jobs = submitted(
        [*FAN[:3], Job("end", 2.0, 1, 100, (1, 2)), Job("last", 1.0, 1, 100, (3,))], [0, 1, 1, 1, 2]
    )
    assert [(job.rule, job.cores, job.memory, job.after) for job in jobs] == [
        ("first", 1, 100, ()),
        ("middle+end", 2, 200, (0,)),
        ("last", 1, 100, (1,)),
    ]
    assert replay(jobs, 2, latency=2.0) == 5 + 10 + 2 + 1 + 4 * START + 3 * 2


def test_every_submission_of_a_run_fits_on_a_node_of_four_cores():
    """The profile for Slurm measures the speed on four cores, while no other job of its group runs."""
    jobs, groups = planned(laid(read_layers(CONFIGS / "default.yaml")), 500, 1)
    assert max(job.cores for job in submitted(jobs, groups)) == 4
