"""A run copies the products of another run if all that decides their bytes is the same."""

import shutil
from pathlib import Path

import pytest
import typer
from parkf.workflow.running import jobs, shared
from parkf.workflow.running.damage import verify
from parkf.workflow.running.jobs import Job
from parkf.workflow.running.records import Record, products_of
from parkf.workflow.running.shared import STORE, empty, find, keep, key, listed, take, tidy

from parkf.cli.commands import running
from parkf.cli.main import app as parkf
from parkf.io.errors import ParkfError
from parkf.io.files import read_json, sha256
from parkf.io.fingerprints.meaning import meaning_of

TEXT = {"a.json": '{"a": 1}\n', "b.txt": "b" * 5000}


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A working folder with an input."""
    monkeypatch.chdir(tmp_path)
    Path("input.yaml").write_text("x: 1\n")
    return tmp_path


def job(run, *, params=("5",), sample="up", code="ab" * 8):
    return Job(
        "field",
        [{"source": "input.yaml", "logs": f"results/{run}/logs", "sample": sample}],
        inputs=["input.yaml"],
        outputs=[f"results/{run}/{name}" for name in TEXT],
        deciding=[code, *params],
        run=f"results/{run}",
        is_shared=True,
    )


def products(one):
    return list(map(Path, one.outputs))


def made(run, **others):
    """Make a job's files, and keep them; return the name of the entry."""
    one = job(run, **others)
    for path, text in zip(products(one), TEXT.values(), strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    keep(one, one.decided_by(), products_of(one), 2.5)
    return key(one.decided_by())


def test_another_run_takes_copies_of_the_same_bytes(here):
    name = made("one")
    two = job("two")
    assert key(two.decided_by()) == name
    assert not products(two)[0].exists()
    entry = take(two, name)
    assert (entry.made_by, entry.wall_s) == ("results/one", 2.5)
    for path, text in zip(products(two), TEXT.values(), strict=True):
        assert path.read_text() == text
        # Neither run can change the files of the other.
        assert not path.samefile(here / "results/one" / path.name)
    # The store itself needs no disk space, and can be verified like a run.
    assert [row[0] for row in listed()] == ["field"]
    assert [row[3] for row in listed()] == [0]
    assert verify(STORE) == (2, [])


@pytest.mark.parametrize(
    "other", [{"params": ("6",)}, {"sample": "down"}, {"code": "ac" * 8}, {"params": ("5", "6")}], ids=str
)
def test_what_differs_is_made_apart(here, other):
    assert key(job("two", **other).decided_by()) != made("one")


def test_content_and_environment_decide_and_names_do_not(here, monkeypatch):
    before = key(job("one").decided_by())
    assert key(job("elsewhere").decided_by()) == before
    monkeypatch.setattr(jobs, "environment", lambda: {"numpy": "1.0"})
    assert key(job("one").decided_by()) != before
    monkeypatch.undo()
    monkeypatch.chdir(here)
    Path("input.yaml").write_text("x: 2\n")
    assert key(job("one").decided_by()) != before


def test_a_document_counts_by_its_content_and_a_product_by_its_bytes(here):
    before = key(job("one").decided_by())
    Path("input.yaml").write_text("# A comment.\nx:   1.0\n")
    assert key(job("two").decided_by()) == before
    # The fingerprint of a product is the checksum of its bytes, which the store records.
    product = Path("results/one/rows.json")
    product.parent.mkdir(parents=True)
    product.write_text('{"a": 1}')
    one = command("gather", inputs=[str(product)])
    assert one.decided_by()["inputs"] == [sha256(product)]
    assert one.fingerprints(lambda path: "known") == ["known"]


def command(name, inputs=("input.yaml",), outputs=("results/one/f",), code="ab" * 8, run="one", **arguments):
    return Job(name, [arguments], inputs, outputs, [code], f"results/{run}", is_shared=True)


def test_arguments_of_the_command_decide(here):
    given = {"hits": "input.yaml", "output": "results/one/f"}
    keys = {
        name: key(command("candidates", **given, **more).decided_by())
        for name, more in {
            "plain": {},
            "matched": {"matched": True},
            "segments": {"segments": "found"},
        }.items()
    }
    assert len(set(keys.values())) == 3
    # The names of the input and of the run do not count.
    shutil.copy("input.yaml", "other.yaml")
    given = {"hits": "other.yaml", "output": "results/two/f"}
    elsewhere = command("candidates", ["other.yaml"], ["results/two/f"], run="two", **given)
    assert key(elsewhere.decided_by()) == keys["plain"]


@pytest.mark.parametrize(
    ("name", "others", "message"),
    [
        ("", {}, "got nothing, expected a command of parkf"),
        ("--seed", {}, "got --seed, expected a command of parkf"),
        (
            "field",
            {"code": ""},
            "field: got '' for the fingerprint of its code, expected 16 hexadecimal digits",
        ),
        ("field", {"code": "RULES"}, "field: got 'RULES' for the fingerprint of its code"),
        ("field", {"outputs": ()}, "field: no outputs"),
        ("field", {"source": "beside.yaml"}, "field: reads beside.yaml, which is no input of the rule"),
        ("field", {"source": "gone.yaml", "inputs": ["gone.yaml"]}, "gone.yaml: no such file"),
    ],
)
def test_a_job_whose_key_is_not_complete_is_refused(here, name, others, message):
    Path("beside.yaml").write_text("x: 1\n")
    with pytest.raises(ParkfError, match=message):
        command(name, **others).decided_by()


def test_a_long_argument_is_no_file(here):
    configuration = '{"a": "' + "b" * 5000 + '"}'
    arguments = command("assemble", configuration=configuration).decided_by()["arguments"]
    assert arguments == ["configuration", configuration]


def _flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: _flip(folder / "1-b.txt"),
        lambda folder: (folder / "0-a.json").unlink(),
        lambda folder: _flip(folder / "entry.json"),
        lambda folder: (folder / "entry.json").unlink(),
    ],
    ids=["a byte", "a file gone", "a byte of the record", "no record"],
)
def test_a_damaged_entry_is_never_used(here, damage, capsys):
    name = made("one")
    damage(STORE / name)
    two = job("two")
    assert take(two, name) is None
    assert not any(path.exists() for path in products(two))
    assert not (STORE / name).exists()
    assert "damaged" in capsys.readouterr().err
    assert made("two") == name
    assert take(job("three"), name) is not None


def test_an_entry_appears_whole_or_not_at_all(here, monkeypatch):
    def cut(*arguments):
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(shared, "write_sealed", cut)
        name = made("one")
        assert list(STORE.iterdir()) == []
    # A killed process leaves a folder whose name no job looks for.
    shutil.copytree(here / "results/one", STORE / f".{name}.killed")
    assert take(job("two"), name) is None
    assert tidy() == 1
    # On a file system without links nothing is shared, and jobs go on.
    monkeypatch.setattr(shared.os, "link", cut)
    assert not (STORE / made("one")).exists()


def test_the_store_has_only_what_a_run_has(here):
    one, two = made("one"), made("other", params=("7",))
    shutil.rmtree("results/one")
    assert tidy() == 1
    assert (find(one), find(two) is None) == (None, False)
    assert empty() == 1
    assert sha256(Path("results/other/b.txt"))


def test_the_command_makes_once(here, capsys):
    Path("dipole.json").write_text(Path(__file__).parents[3].joinpath("data/field/dipole.json").read_text())

    def run(name, source="dipole.json", spacing=200.0, options=()):
        out = f"results/{name}/field.npz"
        arguments = {"source": source, "output": out, "spacing": spacing}
        file = Path(f"results/{name}/logs/field.log.json")
        deciding = ["ab" * 8]
        Job("field", [arguments], [source], [out], deciding, f"results/{name}", is_shared=True).write(file)
        assert running.with_job(typer.main.get_command(parkf), ["field", "--job", str(file), *options]) == 0
        return capsys.readouterr().err

    assert "taken" not in run("one")
    # No result depends on options that follow a job's file, such as the number of threads.
    assert "taken from results/.shared/" in run("two", options=["--threads", "2"])
    for name in ("one", "two"):
        made = Record.read(Path(f"results/{name}/logs/field.log.json"))
        assert made.outputs == {f"results/{name}/field.npz": sha256(Path(f"results/{name}/field.npz"))}
        assert made.inputs == {"dipole.json": meaning_of(Path("dipole.json"))}
    assert sha256(Path("results/one/field.npz")) == sha256(Path("results/two/field.npz"))
    assert "taken" not in run("three", spacing=190.0)
    record = read_json(next(STORE.glob("*/entry.json")))
    assert record["deciding"]["inputs"] == [meaning_of(Path("dipole.json"))]
    # A stage that fails adds nothing to the store.
    with pytest.raises(ParkfError, match="no such file"):
        run("x", source="no.json")
    assert len(list(listed())) == 2
    with pytest.raises(ParkfError, match="expected the file of a job"):
        running.with_job(typer.main.get_command(parkf), ["field", "--job", "dipole.json"])
