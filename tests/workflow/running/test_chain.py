"""Files of another run, sample or time, and missing ones, are named and made again."""

import os
import shutil
from base64 import urlsafe_b64encode
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from parkf.workflow.running.chain import Chain, check_runs, require_chained
from parkf.workflow.running.damage import ASIDE, verify
from parkf.workflow.running.jobs import Job
from parkf.workflow.running.records import Record, products_of, record_of, stamp_of, write_record
from parkf.workflow.running.repair import repair
from parkf.workflow.running.why import Why, in_words

from parkf.cli.commands import results
from parkf.io.errors import ParkfError
from parkf.io.files import write_sealed
from parkf.io.tables import FATES


def made(run, name, inputs, outputs, value, *, command="gather", passing=()):
    """Do the job of a rule: write its file, its products and its record."""
    here = f"results/{run}"
    job = Job(command, [{}], inputs, [f"{here}/{one}" for one in outputs], ["ab" * 8], here, False, passing)
    file = Path(here, "logs", f"{name}.log.json")
    job.write(file)
    before = job.fingerprints()
    for number, path in enumerate(map(Path, job.outputs)):
        path.parent.mkdir(parents=True, exist_ok=True)
        content = {"job": name, "value": value, "number": number}
        if path.suffix == ".parquet":
            with FATES.writer(path, {"value": str(content)}):
                pass
        elif path.suffix == ".npz":
            np.savez(path, value=np.full(5, value))
        elif path.suffix:
            write_sealed(path, content)
        else:
            path.mkdir(exist_ok=True)
            (path / "page.svg").write_text(str(content))
    write_record(file, before, products_of(job))
    return file


def run_of(name, value):
    """A run of five jobs: field, hits that are removed after their use, two samples, a report."""
    here = f"results/{name}"
    made(name, "field", ["geometry.yaml"], ["field.npz"], value)
    made(name, "simulate", [f"{here}/field.npz"], ["hits.parquet"], value, passing=[f"{here}/hits.parquet"])
    for sample in ("up", "down"):
        made(name, sample, [f"{here}/field.npz"], [f"fates/{sample}.parquet"], f"{value} {sample}")
    samples = [f"{here}/fates/{sample}.parquet" for sample in ("up", "down")]
    made(name, "report", [*samples, f"{here}/hits.parquet"], ["report/index.html", "report/figures"], value)
    Path(here, "hits.parquet").unlink()


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A working folder with two runs."""
    monkeypatch.chdir(tmp_path)
    Path("geometry.yaml").write_text("x: 1\n")
    run_of("one", 1)
    run_of("two", 2)
    return Path("results/one")


UP, DOWN, FIELD = "fates/up.parquet", "fates/down.parquet", "field.npz"


def test_a_run_is_chained(here):
    assert check_runs(Path("results")) == []
    assert repair(here).options == []
    assert bool(Chain(here))
    assert not bool(Chain(Path("results/none")))


def test_products_in_a_storage_are_not_looked_for_here(here):
    for file in here.glob("logs/*.log.json"):
        replace(Job.read(file), storage="s3://bucket").write(file)
    shutil.rmtree(here / "fates")
    assert repair(here).options == []


def put(source, target):
    """Put a file in the place of another, with the time of the other."""
    times = target.stat()
    shutil.copyfile(source, target)
    os.utime(target, ns=(times.st_atime_ns, times.st_mtime_ns))


@pytest.mark.parametrize("name", [UP, FIELD, "report/index.html"])
def test_a_file_of_another_run_is_named_and_removed(here, name):
    put(Path("results/two", name), here / name)
    said = f"results/one/{name}: not what this run has made: it is results/two/{name}"
    assert check_runs(here) == [said]
    found = repair(here)
    assert found.named == [f"{said}; removed"]
    assert found.options == ["--forcerun", f"results/one/{name}"]
    assert not (here / name).exists()
    assert Path("results/two", name).exists()


def test_exchanged_files_are_both_named(here):
    up, down, third = (here / name for name in (UP, DOWN, "third"))
    up.rename(third)
    down.rename(up)
    third.rename(down)
    assert check_runs(here) == [
        f"results/one/{DOWN}: not what this run has made: it is results/one/{UP}",
        f"results/one/{UP}: not what this run has made: it is results/one/{DOWN}",
    ]


def test_an_earlier_product_is_named(here):
    before = (here / UP).read_bytes()
    made("one", "up", ["results/one/field.npz"], [UP], "anew")
    # The report was made from the earlier file.
    stale = [
        f"results/one/report/{name}: made from another results/one/{UP}" for name in ("figures", "index.html")
    ]
    assert check_runs(here) == stale
    assert repair(here).left == [f"{line}; made again" for line in stale]
    (here / UP).write_bytes(before)
    said = f"results/one/{UP}: not what this run has made: it is an earlier results/one/{UP}"
    assert check_runs(here) == [said, *stale]
    # What the report was made from does not matter to the file itself.
    assert repair(here).named == [f"{said}; removed"]


@pytest.mark.parametrize("name", [UP, FIELD, "report/index.html", "report/figures"])
def test_a_missing_product_is_named_and_made_again(here, name):
    path = here / name
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    said = f"results/one/{name}: missing; it is a product of parkf gather"
    assert check_runs(here) == [said]
    found = repair(here)
    assert (found.named, found.left) == ([f"{said}; made again"], [])
    assert found.options == ["--forcerun", f"results/one/{name}"]


def test_a_file_that_nobody_here_has_made_is_kept_aside(here):
    with FATES.writer(here / UP, {"value": "mine"}):
        pass
    kept = (here / UP).read_bytes()
    (said,) = repair(here).named
    what = "not what this run has made: no run here has made this table 'fates 1'"
    assert said == f"results/one/{UP}: {what}; moved to results/one/{ASIDE}/{UP}"
    assert (here / ASIDE / UP).read_bytes() == kept
    # It is no file of the run any more.
    count, _ = verify(here)
    assert count == sum(path.suffix == ".json" for path in (here / "logs").iterdir()) + 2
    assert [line.partition(":")[0] for line in check_runs(here)] == [f"results/one/{UP}"]


def test_a_damaged_file_is_removed(here):
    content = bytearray((here / UP).read_bytes())
    content[len(content) // 2] ^= 1
    (here / UP).write_bytes(content)
    (said,) = repair(here).named
    what = "not what this run has made: not a Parquet file as it was written: "
    assert said.startswith(f"results/one/{UP}: {what}")
    assert said.endswith("; removed")


def test_a_file_of_a_folder_counts(here):
    page = here / "report/figures/page.svg"
    times = page.stat()
    page.write_text(page.read_text().replace("1", "2", 1))
    os.utime(page, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert [line.partition(":")[0] for line in repair(here).named] == ["results/one/report/figures"]


def test_a_changed_document_leaves_what_was_made_of_it(here):
    Path("geometry.yaml").write_text("# The same.\nx:  1.0\n")
    assert check_runs(here) == []
    Path("geometry.yaml").write_text("x: 2\n")
    assert check_runs(here) == ["results/one/field.npz: made from another geometry.yaml"]
    found = repair(here)
    assert (found.named, found.options) == ([], ["--forcerun", "results/one/field.npz"])
    assert (here / FIELD).exists()


def test_a_file_in_place_before_its_job_is_foreign(here):
    """Snakemake takes a file that is there for the product of its rule."""
    for path in (here / "logs").glob("up.log*"):
        path.unlink()
    said = f"results/one/{UP}: no job of this run has made it: it is results/two/{UP}"
    shutil.copyfile(Path("results/two", UP), here / UP)
    assert check_runs(here) == [said]
    assert repair(here).named == [f"{said}; removed"]


def test_a_file_too_many_is_named(here):
    shutil.copyfile(Path("results/two", UP), here / "fates/more.parquet")
    assert check_runs(here) == [
        f"results/one/fates/more.parquet: no job of this run has made it: it is results/two/{UP}"
    ]
    # No job reads it, so that a run leaves it.
    assert repair(here).options == []


def test_each_file_without_a_record_is_named(here):
    """Files without records hide from each other what they are: each could be of another run."""
    for name in ("up", "down"):
        record_of(here / f"logs/{name}.log.json").unlink()
    record_of(here / "logs/report.log.json").unlink()
    unknown = "no record of this run says what it was made of"
    files = (DOWN, UP, "report/figures", "report/index.html")
    assert check_runs(here) == [f"results/one/{name}: {unknown}" for name in files]


def test_what_a_foreign_job_has_read_is_named_without_a_record(here):
    """The job's file and record are of the other run, and say nothing of the hits that this run needs."""
    hits = "hits/up.parquet"
    for name, value in (("one", 1), ("two", 2)):
        made(name, "hits", ["geometry.yaml"], [hits], value)
        made(name, "up", [f"results/{name}/{hits}"], [UP], value)
        made(name, "report", [f"results/{name}/{UP}"], ["report/index.html"], value)
    job = here / "logs/up.log.json"
    for path in (job, record_of(job), here / UP, here / hits):
        put(Path("results/two", path.relative_to(here)), path)
    record_of(here / "logs/hits.log.json").unlink()
    unknown = f"results/one/{hits}: no record of this run says what it was made of"
    assert unknown in check_runs(here)
    assert f"{unknown}; made again" in repair(here).left


@pytest.mark.parametrize("whole", [True, False])
def test_a_run_of_another_name_has_no_records(here, whole):
    """A copied folder, or one of a version without records, is made again."""
    shutil.copytree(here, "results/copy")
    if not whole:
        for path in Path("results/copy").rglob("*.made.json"):
            path.unlink()
    assert check_runs(Path("results/copy")) == [
        "results/copy/report/index.html: no record of this run says what it was made of"
    ]
    assert repair(Path("results/copy")).options == ["--forceall"]


@pytest.mark.parametrize("harm", ["gone", "damaged", "of another run", "of another job"])
def test_a_record_is_not_trusted_blindly(here, harm):
    record = record_of(here / "logs/up.log.json")
    if harm == "gone":
        record.unlink()
    elif harm == "damaged":
        record.write_text(record.read_text().replace("gather", "fit", 1))
    else:
        other = "results/two/logs/up" if harm == "of another run" else "results/one/logs/down"
        shutil.copyfile(record_of(Path(f"{other}.log.json")), record)
    (problem,) = check_runs(here)
    assert problem.startswith(f"results/one/{UP}: ")
    assert repair(here).options == ["--forcerun", f"results/one/{UP}"]


def test_a_file_with_the_record_of_its_own_run_is_foreign(here):
    """It is right in the run that it is from, but this run has read another file."""
    made("one", "validation", [f"results/one/{UP}"], ["validation.json"], 1)
    for name in (UP, "logs/up.log.made.json"):
        shutil.copyfile(Path("results/two", name), here / name)
    said = f"results/one/{UP}: not what this run has read: it is results/two/{UP}"
    assert check_runs(here) == [said]
    with pytest.raises(ParkfError, match=said):
        require_chained(here)
    assert repair(here).options == ["--forcerun", f"results/one/{UP}"]
    assert not (here / UP).exists()


def test_only_what_targets_need_is_made_again(here):
    (here / UP).unlink()
    assert repair(here, [f"results/one/{DOWN}"]).options == []
    assert repair(here, [f"results/one/{UP}"]).options == ["--forcerun", f"results/one/{UP}"]


def test_another_run_that_is_read_is_checked_too(here):
    made("three", "adopt", [f"results/one/{UP}"], ["validation.json"], 3)
    assert check_runs(Path("results/three")) == []
    put(Path("results/two", UP), here / UP)
    said = f"results/one/{UP}: not what this run has made: it is results/two/{UP}"
    assert check_runs(Path("results/three")) == [said]
    with pytest.raises(ParkfError, match="results/one: run it again; results/three reads these files"):
        repair(Path("results/three"))
    assert (here / UP).exists()


def test_a_record_has_what_decides_a_product(here):
    record = Record.read(here / "logs/up.log.json")
    assert record.job.deciding == ["ab" * 8]
    assert record.inputs == Record.read(here / "logs/field.log.json").outputs
    assert Record.read(here / "logs/none.log.json") is None


@pytest.fixture
def family(tmp_path, monkeypatch):
    """A family of two runs, the second of which has a link to the field of the first."""
    monkeypatch.chdir(tmp_path)
    Path("geometry.yaml").write_text("x: 1\n")
    made("all.a", "field", ["geometry.yaml"], [FIELD], 1)
    link = Path("results/all.b/field.npz")
    link.parent.mkdir()
    link.symlink_to("../all.a/field.npz")
    for name in ("all.a", "all.b"):
        made(name, "up", [f"results/{name}/field.npz"], [UP], name)
        made(name, "report", [f"results/{name}/{UP}"], ["report/index.html"], name)
    pages = [f"results/all.{name}/report/index.html" for name in "ab"]
    made("all", "overview", pages, ["index.html"], 3, command="family report")
    return Path("results/all")


def test_members_of_a_family_are_repaired_by_its_leader(family):
    assert check_runs(Path("results")) == []
    assert repair(family).options == []
    put(Path("results/all.a", UP), Path("results/all.b", UP))
    Path("results/all.a", FIELD).unlink()
    found = repair(family)
    assert found.named == [
        f"results/all.b/{UP}: not what this run has made: it is results/all.a/{UP}; removed",
        "results/all.a/field.npz: missing; it is a product of parkf gather; made again",
    ]
    assert found.options == ["--forcerun", "results/all.a/field.npz", f"results/all.b/{UP}"]


def test_a_file_in_place_of_a_link_is_foreign(family):
    link = Path("results/all.b/field.npz")
    link.unlink()
    np.savez(link, value=np.arange(3))
    (said,) = repair(family).named
    what = "no job of this run has made it: no run here has made this file"
    assert said == f"{link}: {what}; moved to results/all.b/{ASIDE}/field.npz"


def test_a_copy_in_place_of_a_link_is_as_good(family):
    """A rule without a command of parkf makes it, and Snakemake has a record of that."""
    link = Path("results/all.b/field.npz")
    link.unlink()
    shutil.copyfile("results/all.a/field.npz", link)
    record = Path(".snakemake/metadata", urlsafe_b64encode(str(link).encode()).decode())
    record.parent.mkdir(parents=True)
    record.write_text("{}")
    assert check_runs(Path("results")) == []
    np.savez(link, value=np.arange(3))
    (said,) = {": ".join(line.split(": ")[:2]) for line in check_runs(Path("results"))}
    assert said == f"{link}: not what this run has read"


def test_the_reasons_of_a_run_have_what_is_broken():
    broken = [f"results/one/{number}: missing" for number in range(6)]
    found = Why("results/one", datetime.now(UTC), {}, {}, {"train": 7}, {}, 0.0, 2, broken)
    text = in_words(found)
    assert "To be made again:\n  results/one/0: missing\n" in text
    assert "  results/one/3: missing\n  and 2 more\n" in text
    assert "nothing would run" not in text


def test_a_set_or_figures_that_are_not_the_runs_own_are_refused(here):
    for name in ("validation.json", "accuracy.json"):
        made("one", name, [f"results/one/{UP}"], [name], name)
    assert require_chained(here) == []
    Path("geometry.yaml").write_text("x: 2\n")
    assert require_chained(here) == ["results/one/field.npz: made from another geometry.yaml"]
    # The figures do not depend on this file, but it is not missed.
    (here / "report/index.html").unlink()
    assert len(require_chained(here)) == 1
    (here / FIELD).unlink()
    remedy = "results/one: `parkf run one` makes these files again"
    with pytest.raises(ParkfError, match=f"results/one/field.npz: missing; .*\n{remedy}"):
        require_chained(here)
    assert require_chained(Path("elsewhere")) == []


def test_the_command_names_each_file_once(here, capsys):
    results.verify([here])
    assert "files are sound" in capsys.readouterr().out
    content = bytearray((here / UP).read_bytes())
    content[len(content) // 2] ^= 1
    (here / UP).write_bytes(content)
    with pytest.raises(ParkfError) as caught:
        results.verify([here])
    assert [line.partition(":")[0] for line in str(caught.value).splitlines()] == [
        f"results/one/{UP}",
        "1 of 13 files are not sound",
    ]


def test_a_touched_product_is_read_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("geometry.yaml").write_text("a: 1\n")
    file = made("touched", "field", ["geometry.yaml"], ["field.npz"], 1)
    product = Path("results/touched/field.npz")
    product.touch()
    assert Record.read(file).stamps != {str(product): stamp_of(product)}
    repair(Path("results/touched"))
    assert Record.read(file).stamps == {str(product): stamp_of(product)}
