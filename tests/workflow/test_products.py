"""Products held against the ledger: all that is wrong is named, and nothing that is right."""

import shutil
from pathlib import Path

import pytest
from tests.ledgers import made

from parkf.io.errors import ParkfError
from parkf.io.ledger import FILE
from parkf.workflow import products
from parkf.workflow.products import FEW, Problem, Products, check_runs, lines, require_own

RUN, OTHER = Path("results/run"), Path("results/other")
A, B, END, X = RUN / "a.json", RUN / "b.json", RUN / "validation.json", OTHER / "x.json"
SOURCE = Path("data/in.yaml")
NOT_OWN = "not what this run has made"


@pytest.fixture(autouse=True)
def run(tmp_path, monkeypatch):
    """A run: a document → a → b → its figures, which are also made of another run's product."""
    monkeypatch.chdir(tmp_path)
    SOURCE.parent.mkdir()
    SOURCE.write_text("a: 1\n")
    made(str(X), '{"x": 1}')
    made(str(A), '{"a": 1}', str(SOURCE), stage="first")
    made(str(B), '{"b": 1}', str(A))
    made(str(END), '{"v": 1}', str(B), str(X))


def found(run=RUN):
    return [(one.path, one.kind, one.what) for one in Products(run, whole=True).problems()]


def test_products_that_are_right_have_no_problem():
    assert found() == []
    assert check_runs(Path("results")) == check_runs(RUN) == require_own(RUN) == []


def test_products_in_each_other_s_place_are_named_as_what_they_are():
    A.rename("kept")
    B.rename(A)
    Path("kept").rename(B)
    assert found() == [(A, "foreign", f"{NOT_OWN}: it is {B}"), (B, "foreign", f"{NOT_OWN}: it is {A}")]
    assert check_runs(RUN) == [f"{A}: {NOT_OWN}: it is {B}", f"{B}: {NOT_OWN}: it is {A}"]


def test_a_product_of_another_run_and_an_earlier_one_are_known():
    shutil.copy(X, B)
    assert found() == [(B, "foreign", f"{NOT_OWN}: it is {X}")]
    earlier = B.with_name("earlier")
    made(str(B), '{"b": 1}', str(A)).rename(earlier)
    made(str(B), '{"b": 2}', str(A))
    made(str(END), '{"v": 2}', str(B), str(X))
    assert found() == []
    earlier.rename(B)
    assert found() == [(B, "foreign", f"{NOT_OWN}: it is an earlier {B}")]


@pytest.mark.parametrize(
    ("text", "what"),
    [('{"mine": 1}', "no run here has made this file"), ('{"a"', "not a JSON file as it was written")],
)
def test_a_file_that_no_run_has_made_is_foreign_or_damaged(text, what):
    A.write_text(text)
    ((path, kind, said),) = found()
    assert (path, kind) == (A, "foreign")
    assert said.startswith(f"{NOT_OWN}: ")
    assert what in said


@pytest.mark.parametrize("is_link", [False, True])
def test_a_product_that_is_missing_or_a_link_to_nowhere_is_named(is_link):
    A.unlink()
    if is_link:
        A.symlink_to("nowhere")
    assert found() == [(A, "missing", "missing; it is a product of stage first")]
    with pytest.raises(ParkfError, match=r"results/run/a\.json: missing"):
        require_own(RUN)


def test_a_product_is_stale_if_its_stage_would_read_another_one_now():
    made(str(A), '{"a": 2}', str(SOURCE))
    assert found() == [(B, "stale", f"made from another {A}")]
    made(str(B), '{"b": 1}', str(A))
    made(str(X), '{"x": 2}')
    assert found() == [(END, "stale", f"made from another {X}")]
    # Also where the other run has no ledger any more.
    (OTHER / FILE).unlink()
    assert found() == [(END, "stale", f"made from another {X}")]


def test_a_document_counts_by_what_it_means():
    SOURCE.write_text("# the same\na:    1.0\n")
    assert found() == []
    for change in (lambda: SOURCE.write_text("a: 2\n"), SOURCE.unlink):
        change()
        assert found() == [(A, "changed", f"made from another {SOURCE}")]
        # It says nothing against what the run has made.
        assert require_own(RUN) == [f"{A}: made from another {SOURCE}"]


def test_figures_without_a_ledger_are_unrecorded():
    (RUN / FILE).unlink()
    what = "the ledger of this run does not say what it was made of"
    assert found() == [(END, "unrecorded", what)]
    assert require_own(RUN) == [f"{END}: {what}"]


def test_set_and_figures_of_other_products_are_refused():
    shutil.copy(A, END)
    with pytest.raises(ParkfError) as raised:
        require_own(RUN)
    assert str(raised.value).splitlines() == [
        f"{END}: {NOT_OWN}: it is {A}",
        f"{RUN}: `parkf run run` makes these files again",
    ]
    assert require_own(Path("data")) == []


def test_files_of_no_stage_are_named_and_logs_are_not(tmp_path):
    for name in ("fits/more.json", "logs/a.json", ".aside/a.json", "note.txt"):
        (RUN / name).parent.mkdir(exist_ok=True)
        shutil.copy(X, RUN / name)
    (RUN / "link.json").symlink_to("nowhere")
    (said,) = check_runs(RUN)
    assert said == f"{RUN}/fits/more.json: no stage of this run has made it: it is {X}"
    # The working folder does not matter, and other folders have no ledger.
    assert check_runs(tmp_path / RUN) == [said]
    assert check_runs(SOURCE.parent) == []


def test_files_of_a_folder_that_is_a_product_are_that_product():
    (RUN / "figures").mkdir()
    (RUN / "figures/a.json").write_text("{}")
    path, entry = str(RUN / "figures"), Products(RUN).entries[str(A)]
    line = type(entry)("", "report", {path: products.content_of(Path(path))}, {}, "c", {}, {})
    products.Ledger(RUN).append(line)
    assert Products(RUN).strangers() == []
    assert Products(RUN).problems([path]) == []
    (RUN / "figures/a.json").write_text("[]")
    assert [one.kind for one in Products(RUN).problems([path])] == ["foreign"]


def test_files_with_the_times_of_the_ledger_are_not_read(monkeypatch):
    read = []
    monkeypatch.setattr(products, "content_of", lambda path: read.append(path))
    assert Products(RUN).problems() == []
    assert read == []
    B.touch()
    Products(RUN).problems()
    assert read[0] == B


def test_only_what_the_ends_need_is_looked_at():
    B.unlink()
    assert Products(RUN).problems([str(A)]) == []
    assert [one.path for one in Products(RUN).problems([str(END)])] == [B]
    assert Products(RUN).after({str(A)}) == {str(A), str(B), str(END)}
    assert Products(RUN).after({str(X)}) == {str(X), str(END)}


def test_many_files_that_lack_the_same_have_one_line():
    def of(kind, number):
        return [Problem(Path(f"{n:02}"), "made from another x", kind) for n in range(number)]

    assert lines(of("stale", FEW + 2)) == [f"00 and {FEW + 1} more: made from another x"]
    assert len(lines(of("stale", FEW))) == FEW
    # Of what is lost, each file is named.
    assert len(lines(of("missing", FEW + 2))) == FEW + 2
