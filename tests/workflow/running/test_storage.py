"""A storage keeps products alone, and jobs fetch from it what another run has stored there."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from parkf.workflow.running.jobs import COPIES, Job, located
from parkf.workflow.running.records import products_of
from parkf.workflow.running.shared import STORE, keep, key, listed, take, tidy
from parkf.workflow.running.storage import copies_in, fetch_first, place_of, store_products_alone

from parkf.io.errors import ParkfError

BUCKET = "s3://bucket/prefix"
NAMES = ("a.json", "b.txt")


class Stored:
    """A file in a storage."""

    def __init__(self, query, content):
        self._query, self._content = query, content
        self._path = Path("copies", query.removeprefix("s3://"))

    def local_path(self):
        return self._path

    def set_local_path(self, path):
        self._path = path

    def retrieve_object(self):
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(self._content[self._query])


@pytest.fixture
def workflow(tmp_path, monkeypatch):
    """Snakemake's workflow in an empty folder, with its files in `workflow.content`."""
    monkeypatch.chdir(tmp_path)
    content = {}
    one = SimpleNamespace(
        content=content,
        storage_registry=SimpleNamespace(
            default_storage_provider=SimpleNamespace(object=lambda query: Stored(query, content))
        ),
        storage_settings=SimpleNamespace(local_storage_prefix=Path("copies"), default_storage_prefix=BUCKET),
        modifier=SimpleNamespace(path_modifier=SimpleNamespace(apply_default_storage="in {}".format)),
    )
    monkeypatch.setenv(COPIES, copies_in(one))
    return one


def job(run):
    outputs = [f"results/{run}/{name}" for name in NAMES]
    return Job("field", [{"seed": 1}], [], outputs, ["ab" * 8], f"results/{run}", is_shared=True)


def made(workflow, run):
    """Make a job's files, keep them, and store them as Snakemake does; return the name of the entry."""
    one = job(run)
    for path in one.outputs:
        located(path).parent.mkdir(parents=True, exist_ok=True)
        located(path).write_text(path)
        workflow.content[f"{BUCKET}/{path}"] = path
    keep(one, one.decided_by(), products_of(one), 2.5)
    for path in one.outputs:
        located(path).unlink()
    Path(one.run, "logs").mkdir(parents=True)
    return key(one.decided_by())


def fetch(workflow, run):
    """Let a job of the run fetch its products; it would run its command next."""
    began = []
    rule = SimpleNamespace(workflow=workflow, run_func=lambda *words: began.append(words))
    job(run).write(Path(f"results/{run}/logs/field.log.json"))
    fetch_first(rule)
    words = ([], [], [], [], 1, [], [f"results/{run}/logs/field.log"], "field")
    rule.run_func(*words)
    assert began == [words]


def test_only_products_are_stored(workflow):
    assert copies_in(workflow) == "copies/bucket/prefix"
    assert place_of(workflow) == BUCKET
    store_products_alone(workflow)
    apply = workflow.modifier.path_modifier.apply_default_storage
    for path in ("results/x/a.json", "results/x/logs.json", "results/{run}/{sample}.parquet"):
        assert apply(path) == f"in {path}"
    for path in ("data/a.yaml", "/results/x/a.json", "results/x/logs/a.log", "all", "my/results/x/a"):
        assert apply(path) == path


def test_a_folder_of_copies_that_a_shell_would_read_otherwise_is_refused(workflow):
    workflow.storage_settings.default_storage_prefix = "s3://bucket/$HOME"
    with pytest.raises(ParkfError, match=r"got 'copies/bucket/\$HOME', expected a path"):
        copies_in(workflow)


def test_products_are_fetched_from_the_run_that_made_them(workflow):
    name = made(workflow, "one")
    # Nothing of them is here.
    assert [path.name for path in (STORE / name).iterdir()] == ["entry.json"]
    assert [row[:3] for row in listed()] == [("field", "results/one", 0)]
    assert take(job("two"), name) is None
    fetch(workflow, "two")
    assert take(job("two"), name).made_by == "results/one"
    for path in job("two").outputs:
        assert located(path).read_text() == path.replace("two", "one")
        assert not Path(path).exists()


def test_products_that_changed_since_are_made_again(workflow, capsys):
    name = made(workflow, "one")
    workflow.content[f"{BUCKET}/results/one/b.txt"] = "another"
    fetch(workflow, "two")
    assert take(job("two"), name) is None
    assert (
        "b.txt does not have the checksum that was written; removed, and made again"
        in capsys.readouterr().err
    )
    assert not (STORE / name).exists()


def test_products_that_are_gone_are_made_again(workflow):
    name = made(workflow, "one")
    workflow.content.clear()
    fetch(workflow, "two")
    assert not (STORE / name).exists()
    assert take(job("two"), name) is None


def test_an_entry_is_removed_with_the_folder_of_its_run(workflow):
    name = made(workflow, "one")
    assert tidy() == 0
    Path("results/one/logs").rmdir()
    Path("results/one").rmdir()
    assert tidy() == 1
    assert not (STORE / name).exists()
