"""What a run has made another one takes, the same bytes, where nothing that decides them differs."""

import shutil
from pathlib import Path

import pytest
import typer

from parkf.cli.commands import running
from parkf.cli.main import app as parkf
from parkf.io.errors import ParkfError
from parkf.io.files import read_json, sha256
from parkf.io.fingerprints.meaning import meaning_of
from parkf.workflow.running import shared
from parkf.workflow.running.jobs import Job
from parkf.workflow.running.shared import STORE, SharedJob, empty, find, keep, key, listed, take, tidy
from parkf.workflow.running.verify import verify

TEXT = {"a.json": '{"a": 1}\n', "b.txt": "b" * 5000}


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A working folder with an input."""
    monkeypatch.chdir(tmp_path)
    Path("input.yaml").write_text("x: 1\n")
    return tmp_path


def job(run, *, params=("5",), sample="up", code="ab" * 8):
    return SharedJob(
        store=STORE,
        run=f"results/{run}",
        code=code,
        deciding_too=params,
        inputs=(Path("input.yaml"),),
        outputs=tuple(Path(f"results/{run}/{name}") for name in TEXT),
        command=("field", "input.yaml", "--logs", f"results/{run}/logs", "--sample", sample),
    )


def made(run, **others):
    """Make a job's files, and keep them; gives the name of the entry."""
    one = job(run, **others)
    for path, text in zip(one.outputs, TEXT.values(), strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    deciding = one.deciding()
    keep(one, key(deciding), deciding, 2.5)
    return key(deciding)


def test_another_run_takes_copies_of_the_same_bytes(here):
    name = made("one")
    two = job("two")
    assert key(two.deciding()) == name
    assert not two.outputs[0].exists()
    entry = take(two, name)
    assert (entry.made_by, entry.wall_s) == ("results/one", 2.5)
    for path, text in zip(two.outputs, TEXT.values(), strict=True):
        assert path.read_text() == text
        # Neither run can change the other's.
        assert not path.samefile(here / "results/one" / path.name)
    # The store itself takes no room, and can be verified like a run.
    assert [row[0] for row in listed()] == ["field"]
    assert [row[3] for row in listed()] == [0]
    assert verify(STORE) == (2, [])


@pytest.mark.parametrize(
    "other",
    [{"params": ("6",)}, {"sample": "down"}, {"code": "ac" * 8}, {"params": ("5", "6")}],
    ids=str,
)
def test_what_differs_is_made_apart(here, other):
    assert key(job("two", **other).deciding()) != made("one")


def test_content_and_environment_decide_and_names_do_not(here, monkeypatch):
    before = key(job("one").deciding())
    assert key(job("elsewhere").deciding()) == before
    monkeypatch.setattr(shared, "environment", lambda: {"numpy": "1.0"})
    assert key(job("one").deciding()) != before
    monkeypatch.undo()
    monkeypatch.chdir(here)
    Path("input.yaml").write_text("x: 2\n")
    assert key(job("one").deciding()) != before


def test_a_document_counts_by_its_content_and_a_product_by_its_bytes(here):
    before = key(job("one").deciding())
    Path("input.yaml").write_text("# A comment.\nx:   1.0\n")
    assert key(job("two").deciding()) == before
    # The fingerprint of a product is that of its bytes, as the store has it.
    product = Path("results/one/rows.json")
    product.parent.mkdir(parents=True)
    product.write_text('{"a": 1}')
    one = _command("gather", inputs=(product,))
    assert one.deciding()["inputs"] == [sha256(product)]
    assert one.deciding(lambda path: "known")["inputs"] == ["known"]


def _command(*words, inputs=("input.yaml",), outputs=("results/one/f",), code="ab" * 8):
    paths = (tuple(map(Path, one)) for one in (inputs, outputs))
    return SharedJob(STORE, "results/one", code, (), *paths, words)


def test_arguments_of_the_command_decide_and_threads_do_not(here):
    words = ("candidates", "input.yaml", "results/one/f")
    keys = {
        name: key(_command(*words, *more).deciding())
        for name, more in {
            "plain": (),
            "threads": ("--threads", "2"),
            "matched": ("--matched",),
            "segments": ("--segments", "found"),
        }.items()
    }
    assert keys["plain"] == keys["threads"]
    assert len(set(keys.values())) == 3
    # Another name for the same input, and another run, are the same job.
    shutil.copy("input.yaml", "other.yaml")
    elsewhere = SharedJob(
        STORE,
        "results/two",
        "ab" * 8,
        (),
        (Path("other.yaml"),),
        (Path("results/two/f"),),
        ("candidates", "other.yaml", "results/two/f"),
    )
    assert key(elsewhere.deciding()) == keys["plain"]


@pytest.mark.parametrize(
    ("words", "others", "message"),
    [
        ((), {}, "got nothing, expected a command of parkf"),
        (("--seed", "5"), {}, "got --seed, expected a command of parkf"),
        (
            ("field",),
            {"code": ""},
            "field: got '' for the fingerprint of its code, expected 16 hexadecimal digits",
        ),
        (("field",), {"code": "RULES"}, "field: got 'RULES' for the fingerprint of its code"),
        (("field",), {"outputs": ()}, "field: no outputs"),
        (("field", "beside.yaml"), {}, "field: reads beside.yaml, which is no input of the rule"),
        (("field", "gone.yaml"), {"inputs": ("gone.yaml",)}, "gone.yaml: no such file"),
    ],
)
def test_a_job_whose_key_is_not_complete_is_refused(here, words, others, message):
    Path("beside.yaml").write_text("x: 1\n")
    with pytest.raises(ParkfError, match=message):
        _command(*words, **others).deciding()


def test_a_long_argument_is_no_file(here):
    configuration = '{"a": "' + "b" * 5000 + '"}'
    assert _command("assemble", "--configuration", configuration).deciding()["arguments"][1] == configuration


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
    assert not any(path.exists() for path in two.outputs)
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
    # A kill leaves what has no name that a job looks for.
    shutil.copytree(here / "results/one", STORE / f".{name}.killed")
    assert take(job("two"), name) is None
    assert tidy() == 1
    # A file system without links shares nothing, and stops nobody.
    monkeypatch.setattr(shared.os, "link", cut)
    assert not (STORE / made("one")).exists()


def test_the_store_has_only_what_a_run_has(here):
    one, two = made("one"), made("other", params=("7",))
    shutil.rmtree("results/one")
    assert tidy() == 1
    assert (find(STORE, one), find(STORE, two) is None) == (None, False)
    assert empty() == 1
    assert sha256(Path("results/other/b.txt"))


def test_the_command_makes_once(here, capsys):
    Path("dipole.json").write_text(Path(__file__).parents[3].joinpath("data/field/dipole.json").read_text())

    def run(name, source="dipole.json", spacing=200.0):
        out = f"results/{name}/field.npz"
        arguments = {"source": source, "output": out, "spacing": spacing}
        file = Path(f"results/{name}/logs/field.log.json")
        deciding = ["ab" * 8]
        Job("field", [arguments], [source], [out], deciding, f"results/{name}", is_shared=True).write(file)
        assert running.with_job(typer.main.get_command(parkf), ["field", "--job", str(file)]) == 0
        return capsys.readouterr().err

    assert "taken" not in run("one")
    assert "taken from results/.shared/" in run("two")
    assert sha256(Path("results/one/field.npz")) == sha256(Path("results/two/field.npz"))
    assert "taken" not in run("three", spacing=190.0)
    record = read_json(next(STORE.glob("*/entry.json")))
    assert record["deciding"]["inputs"] == [meaning_of(Path("dipole.json"))]
    # A stage that fails leaves nothing.
    with pytest.raises(ParkfError, match="no such file"):
        run("x", source="no.json")
    assert len(list(listed())) == 2
    with pytest.raises(ParkfError, match="expected the file of a job"):
        running.with_job(typer.main.get_command(parkf), ["field", "--job", "dipole.json"])
