"""A job's file has all arguments of its command, by name, also where the job has copies of its files."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer
from parkf.workflow.running.jobs import COPIES, Job
from parkf.workflow.running.rules import CODE, planned

from parkf.cli.commands import running
from parkf.cli.main import app
from parkf.io.errors import ParkfError
from parkf.io.files import read_json

PARKF = typer.main.get_command(app)
RUN = "results/x"


def job(command, arguments, inputs=(), outputs=()):
    return Job(command, arguments, list(inputs), list(outputs), ["ab" * 8], RUN, is_shared=False)


@pytest.mark.parametrize(
    ("command", "arguments", "words"),
    [
        (
            "misalign",
            {"hits": "a b.parquet", "output": "-c", "scifi_module": 0.1, "scifi_mat": 0.2, "seed": 7},
            "misalign|--scifi-module|0.1|--scifi-mat|0.2|--seed|7|--|a b.parquet|-c",
        ),
        # Flags, arguments without a value, several values, names with blanks between them, mappings.
        (
            "fit",
            {"parameters": "set", "candidates": "c", "output": "f", "robust": True, "score": False},
            "fit|--robust|--|set|c|f",
        ),
        ("join-fits", {"parts": ["1", "2"], "output": "f", "dataset": "d"}, "join-fits|--dataset|d|--|1|2|f"),
        (
            "throughput",
            {"parameters": "set", "candidates": ["a", "b"], "output": "t"},
            "throughput|--|set|a b|t",
        ),
        # An option that may be repeated.
        (
            "align",
            {"parameters": "set", "candidates": "c", "output": "a", "survey": ["x=1", "z=2"]},
            "align|--survey|x=1|--survey|z=2|--|set|c|a",
        ),
        (
            "import steps",
            {"source": "t.root", "folder": "d", "field": "f.npz", "polarity": None, "steps": "V"},
            "import steps|--field|f.npz|--steps|V|--|t.root|d".replace("import ", "import|", 1),
        ),
        (
            "params publish",
            {"parameters": "set", "json": True, "output": "p"},
            "params|publish|--json|--|set",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and "|" not in value else "",
)
def test_arguments_by_name_are_a_command_line(command, arguments, words):
    assert list(job(command, [arguments]).command_lines(PARKF)) == [words.split("|")]


def test_what_is_no_argument_is_refused():
    with pytest.raises(ParkfError, match="misalign: no argument or option is called scifi_mats"):
        list(job("misalign", [{"scifi_mats": 1}]).command_lines(PARKF))
    with pytest.raises(ParkfError, match="misallign: no such command"):
        list(job("misallign", [{}]).command_lines(PARKF))


def test_a_file_is_of_one_command(tmp_path):
    file = tmp_path / "draw.log.json"
    job("draw", [{}]).write(file)
    with pytest.raises(
        ParkfError, match=r"draw\.log\.json: a job of `parkf draw`, not of `parkf thresholds`"
    ):
        running.with_job(PARKF, ["--quiet", "thresholds", "--job", str(file)])
    with pytest.raises(ParkfError, match="draw: --job needs the file of a job"):
        running.with_job(PARKF, ["draw", "--job"])
    assert read_json(file)["command"] == "draw"


def test_jobs_with_copies_of_products_find_them(tmp_path, monkeypatch):
    file = Path("results/x/logs/likeness.log.json")
    monkeypatch.chdir(tmp_path)
    arguments = {
        "embedded": "results/x/a.json",
        "measured": ["fit=results/x/a.json,results/x/b.json"],
        "folder": "results/x",
        "logs": "results/y/logs",
        "geometry": "data/geometry.yaml",
        "word": "data",
    }
    inputs = ["results/x/a.json", "results/x/b.json", "data/geometry.yaml"]
    job("likeness", [arguments], inputs, ["results/x/report/page.html"]).write(file)
    monkeypatch.setenv(COPIES, "/scratch/fs")
    read = Job.read(file)
    assert read.arguments == [arguments]
    assert read.with_copies().arguments == [
        {
            "embedded": "/scratch/fs/results/x/a.json",
            "measured": ["fit=/scratch/fs/results/x/a.json,/scratch/fs/results/x/b.json"],
            "folder": "/scratch/fs/results/x",
            "logs": "results/y/logs",
            "geometry": "data/geometry.yaml",
            "word": "data",
        }
    ]
    assert json.loads(file.read_text())["inputs"] == inputs


def test_words_that_are_too_long_for_names_are_no_files(tmp_path, monkeypatch):
    """A word that names a file which is no input would be read without being told."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other.txt").write_text("")
    made = ["results/x/f.parquet"]
    assert job("fit", [{"candidates": 3000 * "long"}], (), made).decided_by([])["command"] == "fit"
    with pytest.raises(ParkfError, match=r"reads other\.txt, which is no input of the rule"):
        job("fit", [{"candidates": "other.txt"}], (), made).decided_by([])


class Files(dict):
    """Files of one of Snakemake's jobs, which have names."""

    def __iter__(self):
        return iter(self.values())

    def _allitems(self):
        return self.items()


def test_files_that_are_removed_after_their_use_are_told():
    one = SimpleNamespace(
        rule=SimpleNamespace(name="fit", shellcmd="parkf fit --job {log}.json 2> {log}"),
        params={CODE: "ab" * 8, "robust": True},
        input=Files(candidates="results/x/c.parquet"),
        output=Files(output="results/x/f.parquet"),
        log=["results/x/logs/fit.log"],
        temp_output={"results/x/f.parquet"},
    )
    found = planned(one)
    assert (found.command, found.run) == ("fit", "results/x")
    assert found.passing == found.outputs == ["results/x/f.parquet"]
