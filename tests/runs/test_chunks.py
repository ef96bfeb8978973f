"""Samples are cut into as many chunks as asked for; test_reproduce.py shows that these change no byte."""

import json


def test_every_stage_from_generation_to_fits_is_cut(project):
    config = project.folder / "workflow/config/smoke.yaml"
    own = {
        "events": {"validation": 150},
        "signals": {"collisions": 80_000},
        "misalignment": {"scifi_mat": 0.1},
    }
    config.rename(config.with_name("small.yaml"))
    config.write_text(json.dumps({"extends": "small", "run": "smoke", "polarities": ["up"]} | own))
    # There are fewer blocks than chunks asked for, and no chunk is empty.
    jobs = project.would_run("--set-scatter", "training=9", "validation=3", "signals=2")
    assert (jobs["generate"], jobs["generate_signal"]) == (2 + 3, 6 * 2)
    assert (jobs["simulate_training"], jobs["draw"], jobs["rows"]) == (2, 2, 2)
    assert (jobs["simulate_validation"], jobs["misalign"], jobs["simulate_signal"]) == (3, 3, 8)
    # Candidates of the training sample train the ghost score; no other job fits them.
    assert jobs["candidates"] == 2 + 3 + 3 + 4
    assert jobs["fit_full"] == 3 + 3 + 4
    fits = [jobs[f"{purpose}_fit"] for purpose in ("validation", "misaligned", "jpsi", "d0")]
    assert fits == [3, 3, 2, 2]  # all fits of a chunk are one job
    # These are candidates and four fits of each sample (no fit is the trigger's), particles of seven samples,
    # hits and true states in first layers of three, hits of two, and fates and float64 fits of one.
    assert jobs["gather"] == 4 * (1 + 4) + 7 + 2 * 3 + 2 + 2
    assert "gather" not in project.would_run()
