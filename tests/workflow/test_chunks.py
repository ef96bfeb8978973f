from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parkf.params.parameter_set import load
from parkf.simulation.generate.collisions import EVENTS_PER_FORK as GENERATOR
from parkf.simulation.generate.signal import COLLISIONS_PER_FORK as SIGNAL
from parkf.simulation.pattern.candidates import EVENTS_PER_CHUNK as PATTERN
from parkf.simulation.response.simulate import EVENTS_PER_PIECE as TRANSPORT
from parkf.workflow.chunks import BLOCK_COLLISIONS, BLOCK_EVENTS, chunk_names, chunk_ranges
from parkf.workflow.config_files import laid, read_layers
from parkf.workflow.run import ROWS_A_CROSSING, Run

ROOT = Path(__file__).parents[2]


@given(total=st.integers(1, 20_000), block=st.integers(1, 700), wanted=st.integers(1, 300))
def test_ranges_are_whole_blocks_that_cover_a_sample(total, block, wanted):
    ranges = chunk_ranges(total, block, wanted)
    assert [number for one in ranges for number in one] == list(range(total))
    assert all(len(one) > 0 for one in ranges)
    assert all(one.start % block == 0 for one in ranges)
    blocks = [round(len(one) / block) for one in ranges[:-1]]
    assert max(blocks, default=1) - min(blocks, default=1) <= 1
    assert len(ranges) == min(wanted, max(1, (total + block // 2) // block))
    # A small rest behind the last block belongs to the last chunk.
    assert len(ranges) == 1 or len(ranges[-1]) >= block / 2


@pytest.mark.parametrize("collisions", [80, 5000])
def test_chunks_of_a_run_hold_its_collisions(collisions):
    config = laid(read_layers(ROOT / "workflow/config/smoke.yaml"))
    config["events"] |= {"training": collisions, "validation": 40}
    run = Run(config)
    for purpose, total in (("training", collisions), ("validation", 40)):
        for sample in run.samples(purpose):
            chunks = run.chunks(sample)
            assert [number for one in chunks.values() for number in one] == list(range(total))
            assert list(chunks) == chunk_names(sample, len(chunks))


def test_no_stage_works_across_a_block():
    assert all(BLOCK_EVENTS % length == 0 for length in (GENERATOR, TRANSPORT, PATTERN))
    assert BLOCK_COLLISIONS == SIGNAL


def test_a_sample_in_one_chunk_is_one_file():
    assert chunk_names("training_up", 1) == ["training_up"]
    assert chunk_names("training_up", 2) == ["training_up/1-of-2", "training_up/2-of-2"]
    # By number, not by name: 10 is behind 9.
    assert chunk_names("training_up", 11)[9] == "training_up/10-of-11"


def smoke(**changed):
    """A small run, with some sections replaced in part."""
    config = laid(read_layers(ROOT / "workflow/config/smoke.yaml"))
    for name, value in changed.items():
        config[name] = config[name] | value if isinstance(value, dict) else value
    return Run(config)


def test_seeds_of_samples_are_those_of_published_sets_and_do_not_overlap():
    kept = load(ROOT / "params/2026-run3-like-2-r011").manifest.seeds
    assert kept["closure_down"] == smoke(seed=kept["run"]).seed("closure_down")
    groups = (
        ("training_up", "validation_down"),
        ("jpsi_up", "d0_down"),
        ("closure_up",),
    )
    first, later = smoke(seed=0), smoke(seed=10**9)
    for before, after in pairwise(groups):
        assert max(map(later.seed, before)) < min(map(first.seed, after))
    names = [name for group in groups for name in group]
    assert len({run.seed(name) for run in (first, later, smoke(seed=1)) for name in names}) == 3 * len(names)


def test_a_dataset_has_rows_of_all_crossings_up_to_the_most():
    events, samples = {"training": 300}, len(smoke().samples("training"))
    expected = samples * 300 * ROWS_A_CROSSING["VUT"]
    assert smoke(events=events, training={"max_rows": 10**9}).rows("VUT") == expected
    assert smoke(events=events, training={"max_rows": 1000}).rows("VUT") == 1000


def test_other_keys_of_the_fits_stay():
    run = smoke(fits={"of": ["parkf", "trigger"], "precision": "float64"}, forms="improved")
    assert run["fits"]["of"] == ["parkf"]
    assert run["fits"]["precision"] == "float64"
