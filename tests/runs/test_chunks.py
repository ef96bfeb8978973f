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
    assert (jobs["generate"], jobs["generate_signal"]) == (2 + 3, 4 * 2)
    assert (jobs["simulate_training"], jobs["rows"]) == (2, 2)
    assert (jobs["simulate_validation"], jobs["simulate_signal"], jobs["simulate_decays"]) == (3, 4, 4)
    assert (jobs["fit_validation"], jobs["fit_signals"], jobs["fit_full_signals"]) == (3, 4, 4)
    assert "gather" not in project.would_run()
