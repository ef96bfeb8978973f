"""What `parkf why` says of changes: causes of jobs, and a text that fits on a screen."""

from datetime import UTC, datetime
from types import SimpleNamespace

from parkf.workflow.running.why import Why, _causes, _changed_keys, in_words

from parkf.io.project import PROJECT
from parkf.params.parameter_set import load


def found(**fields):
    """What there is to say of a run with two jobs of three to do."""
    content = {
        "run": "results/a",
        "made": datetime(2026, 5, 4, 3, 2, tzinfo=UTC),
        "causes": {"field.npz has changed": {"states": 2}},
        "again": {"states": 2},
        "kept": {"generate": 1},
        "taken": {},
        "wall_s": 83.0,
        "cores": 4,
        "broken": [],
    }
    return Why(**content | fields)


def reason(**changed):
    """Why Snakemake runs a job; nothing has changed but what is given."""
    nothing = {"updated_input": set(), "updated_input_run": set(), "params_changed": None}
    nothing |= dict.fromkeys(("input_changed", "forced", "incomplete_output", "missing_output"), False)
    return SimpleNamespace(**nothing | changed)


def params(old, new):
    """Parameters as Snakemake keeps them: those of the last run are texts without names."""
    changed = SimpleNamespace(
        only_old={repr(one) for one in old}, only_new={repr(one) for one in new.values()}
    )
    return SimpleNamespace(params=new), reason(params_changed=changed)


def test_few_files_that_are_to_be_made_again_are_all_listed():
    text = in_words(found(broken=[f"file {n}" for n in range(4)]))
    assert [line for line in text.splitlines() if line.startswith("  file")] == [
        f"  file {n}" for n in range(4)
    ]
    assert "more" not in text


def test_of_many_files_the_number_of_others_is_told():
    text = in_words(found(broken=[f"file {n}" for n in range(23)]))
    assert "  and 19 more" in text.splitlines()


def test_lines_of_jobs_are_at_most_a_hundred_characters_long():
    again = {f"{'x' * (n % 7)}{n}": 1 for n in range(200)}
    for width in range(20):
        text = in_words(found(again={"z" * (width + 1): 1, **again}))
        assert max(map(len, text.splitlines())) <= 100


def test_a_changed_number_is_named_with_both_values():
    assert _causes(*params([2, "a text"], {"events": 3}), ()) == ["events: 2 → 3"]
    # Two numbers were there before: which one this was is not known.
    assert _causes(*params([2, 7], {"events": 3}), ()) == ["events"]


def test_a_job_that_waits_for_others_has_no_cause_of_its_own():
    assert _causes(None, reason(missing_output=True), ()) == ["is not there"]
    after = reason(missing_output=True, updated_input={"a"}, updated_input_run={"a"})
    assert _causes(None, after, ()) == []


def test_keys_that_differ_from_those_of_the_runs_set_are_named(tmp_path):
    source = PROJECT / "params/2026-run3-like-2-r011"
    before = load(source).manifest.configuration
    assert _changed_keys(tmp_path, before) == {}
    (tmp_path / "set").symlink_to(source)
    assert _changed_keys(tmp_path, before) == {}
    assert _changed_keys(tmp_path, before | {"seed": "7"}) == {"seed": "seed: 2026 → 7"}
