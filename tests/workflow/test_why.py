"""What `parkf why` says of changes: causes of jobs, and a text that fits on a screen."""

from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.ledgers import entry, made

from parkf.io.project import PROJECT
from parkf.params.parameter_set import load
from parkf.stages.call import code_of
from parkf.workflow import why
from parkf.workflow.why import Why, _causes, in_words


def found(**fields):
    """What there is to say of a run with two jobs of three to do."""
    content = {
        "run": "results/a",
        "made": datetime(2026, 5, 4, 3, 2, tzinfo=UTC),
        "causes": {"seed: 1 → 2": ["states"]},
        "again": {"states": 2},
        "kept": {"generate": 1},
        "wall_s": 83.0,
        "cores": 4,
        "broken": [],
    }
    return Why(**content | fields)


@pytest.mark.parametrize(("count", "more"), [(4, []), (23, ["  and 19 more"])])
def test_few_files_that_are_to_be_made_again_are_listed(count, more):
    lines = in_words(found(broken=[f"file {n}" for n in range(count)])).splitlines()
    assert [line for line in lines if line.startswith("  file")] == [f"  file {n}" for n in range(4)]
    assert [line for line in lines if line.endswith("more")] == more


def test_lines_of_jobs_are_at_most_a_hundred_characters_long():
    again = {f"{'x' * (n % 7)}{n}": 1 for n in range(200)}
    for width in range(20):
        text = in_words(found(again={"z" * (width + 1): 1, **again}))
        assert max(map(len, text.splitlines())) <= 100


def test_nothing_would_run_where_nothing_has_changed():
    text = in_words(found(again={}, causes={}))
    assert text == "results/a, made 04 May 2026, 03:02 UTC: nothing has changed since, and nothing would run"


def test_numbers_times_and_causes_are_told():
    first, time, _, *rest = in_words(found(again={"states": 2, "rows": 1}, wall_s=200.0)).splitlines()
    assert first.endswith("3 of 4 products would be made")
    assert time == "The last time, they took about 3 min 20 s on 4 cores."
    assert rest[:2] == ["What has changed (and which stages see it):", "  seed: 1 → 2 (states)"]
    assert rest[-1] == "Kept: generate"
    assert "Made again: 2\N{NO-BREAK SPACE}of states, rows" in rest
    many = in_words(found(causes={f"key{n}: 1 → 2": [] for n in range(12)}))
    assert "  and 4 more" in many.splitlines()
    assert len(many.splitlines()) < 25
    new = in_words(found(made=None, wall_s=None))
    assert new.splitlines()[0] == "results/a: 2 of 3 products would be made"
    assert "Nothing of it is there yet." in new


def test_keys_that_differ_from_those_of_the_runs_set_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(why, "flat", dict)
    source = PROJECT / "params/2026-run3-like-2-r011"
    before = load(source).manifest.configuration
    run = SimpleNamespace(training=before)
    assert _causes(tmp_path, run, {}) == {}
    (tmp_path / "set").symlink_to(source)
    assert _causes(tmp_path, run, {}) == {}
    run.training = before | {"seed": "7"}
    assert _causes(tmp_path, run, {}) == {"seed: 2026 → 7": []}


def test_stages_whose_code_has_changed_are_named(tmp_path):
    codes = {"gather": code_of("gather"), "rows": "of an earlier time"}
    entries = {name: entry({name: "0"}, stage=name, code=code) for name, code in codes.items()}
    assert _causes(tmp_path, SimpleNamespace(training={}), entries) == {"code": ["rows"]}


def test_what_is_not_of_today_s_inputs_would_be_made_with_all_that_follows(tmp_path, monkeypatch):
    """Snakemake's plan has what it would make; the ledger knows of more."""
    monkeypatch.chdir(tmp_path)
    run = Path("results/a")
    made("results/a/first.json", "1", stage="gather", began=0.0, wall_s=6.0)
    made("results/a/validation.json", "2", "results/a/first.json", stage="rows", began=6.0, wall_s=4.0)
    rows = [(f"results/a/{name}.json", name, name == "new") for name in ("first", "validation")]
    monkeypatch.setattr(why, "_summary", lambda *_: rows)
    monkeypatch.setattr(why, "read_config", lambda *_: {"run": "a", "fits": {"of": []}})
    monkeypatch.setattr(why, "Run", lambda config: SimpleNamespace(training={}))
    asked = why.why(Path("a.yaml"), 2)
    assert (asked.run, asked.again, asked.kept) == (str(run), {}, {"first": 1, "validation": 1})
    assert asked.made == datetime.fromtimestamp(10.0, UTC)
    (run / "first.json").write_text("3")
    asked = why.why(Path("a.yaml"), 2)
    assert asked.again == {"first": 1, "validation": 1}
    assert asked.wall_s == 5.0
    assert asked.broken[0].startswith("results/a/first.json: not what this run has made")
