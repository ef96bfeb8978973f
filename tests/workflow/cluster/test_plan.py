"""The work of a plan grows with the number of its jobs, and no faster."""

from collections import Counter

import pytest
from benchmarks.plan import plan, wide
from parkf.workflow.running.plan import in_order
from parkf.workflow.running.progress import Forecast

from parkf.workflow import run
from parkf.workflow.cluster.schedule import Job


@pytest.fixture
def counted(monkeypatch):
    """Plan a run in chunks; return the number of its jobs, and how often names and sizes were computed."""

    def count(chunks):
        counts, named = Counter(), {}

        def names(sample, number, of=run.chunk_names):
            counts["names"] += number
            named[sample] = number
            return of(sample, number)

        def size(self, chunk, of=run.Run.size):
            counts["sizes"] += 1
            return of(self, chunk)

        with monkeypatch.context() as patch:
            patch.setattr(run, "chunk_names", names)
            patch.setattr(run.Run, "size", size)
            config, cut = wide(chunks)
            jobs = in_order(plan(config, cut))
            # Jobs evaluate their resources when they are first asked for.
            assert all(job.resources.keys() for job in jobs)
        return len(jobs), counts, sum(named.values())

    return count


def test_names_and_sizes_of_chunks_are_computed_once(counted):
    few, before, named_before = counted(2)
    many, after, named = counted(6)
    assert many > 1.5 * few
    # Each sample has its names from the start. Of each polarity, seven samples have all chunks: training and
    # validation, misaligned, four signals. Decays to electrons have fewer collisions; others have one chunk.
    assert after["names"] - before["names"] == named - named_before >= 7 * 2 * (6 - 2)
    # A size is a sum over a job's own chunk. The resources of a job ask for it once each.
    assert after["sizes"] / many <= 1.05 * before["sizes"] / few
    assert after["sizes"] / many < 8


def test_the_progress_of_a_run_is_predicted_a_hundred_times(monkeypatch):
    """A prediction goes through all jobs that are left."""
    count, predicted = 2000, []
    monkeypatch.setattr(
        "parkf.workflow.running.progress.replay", lambda jobs, *_: predicted.append(len(jobs)) or len(jobs)
    )
    numbers = range(count)
    forecast = Forecast({n: Job("rule", 1.0, 1) for n in numbers}, dict.fromkeys(numbers, ()), 4, lambda: 0.0)
    shares = []
    for number in numbers:
        forecast.begins([number])
        forecast.state()
        forecast.ends(number)
        shares.append(forecast.state().share)
    assert len(predicted) == 101
    assert shares == sorted(shares)
    assert all(abs(share - (n + 1) / count) <= 0.01 for n, share in enumerate(shares))
    assert shares[-1] == 1
