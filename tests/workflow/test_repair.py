"""Repair: what is wrong goes, its own bytes return, and nothing of a user's is lost."""

import shutil
from pathlib import Path

import pytest
from tests.ledgers import made

from parkf.io.errors import ParkfError
from parkf.io.ledger import FILE
from parkf.workflow.repair import REPAIRED, repair

RUN = Path("results/run")
A, B, END, X = RUN / "a.json", RUN / "b.json", RUN / "validation.json", Path("results/other/x.json")
SOURCE = Path("data/in.yaml")


@pytest.fixture(autouse=True)
def run(tmp_path, monkeypatch):
    """A run: a document → a → b → its figures, which are also made of another run's product."""
    monkeypatch.chdir(tmp_path)
    SOURCE.parent.mkdir()
    SOURCE.write_text("a: 1\n")
    made(str(X), '{"x": 1}')
    made(str(A), '{"a": 1}', str(SOURCE))
    made(str(B), '{"b": 1}', str(A))
    made(str(END), '{"v": 1}', str(B), str(X))


def swap():
    A.rename("kept")
    B.rename(A)
    Path("kept").rename(B)


def there():
    return [path for path in (A, B, END) if path.is_symlink() or path.exists()]


def test_a_run_that_is_right_stays_as_it_is():
    size = (RUN / FILE).stat().st_size
    assert repair(RUN) == ([], False)
    assert there() == [A, B, END]
    assert (RUN / FILE).stat().st_size == size


def test_what_has_taken_another_s_place_is_removed_with_all_that_was_made_of_it():
    swap()
    said, everything = repair(RUN)
    assert said == [
        f"{A}: not what this run has made: it is {B}; made again",
        f"{B}: not what this run has made: it is {A}; made again",
    ]
    assert (there(), everything) == ([], False)


@pytest.mark.parametrize("is_link", [False, True])
def test_a_missing_product_is_made_again(is_link):
    B.unlink()
    if is_link:
        B.symlink_to("nowhere")
    assert repair(RUN)[0] == [f"{B}: missing; it is a product of stage make; made again"]
    assert there() == [A]


def test_a_file_of_a_user_s_is_put_aside():
    A.write_text('{"mine": 1}')
    (said,), _ = repair(RUN)
    aside = RUN / ".aside/a.json"
    assert said.endswith(f"no run here has made this file; moved to {aside}; made again")
    assert aside.read_text() == '{"mine": 1}'
    assert there() == []
    # As is a folder of that name.
    made(str(A), '{"a": 1}', str(SOURCE)).unlink()
    A.mkdir()
    (A / "mine.txt").write_text("mine")
    repair(RUN, ["a.json"])
    assert (aside / "mine.txt").read_text() == "mine"


def test_a_damaged_file_is_removed():
    A.write_text('{"a"')
    (said,), _ = repair(RUN)
    assert said.endswith("; made again")
    assert not (RUN / ".aside").exists()


def test_stale_products_are_removed_and_what_they_were_made_of_stays():
    made(str(A), '{"a": 2}', str(SOURCE))
    assert repair(RUN) == ([f"{B}: made from another {A}; made again"], False)
    assert there() == [A]


def test_products_of_changed_documents_are_left_to_snakemake_at_first():
    SOURCE.write_text("a: 2\n")
    assert repair(RUN) == ([], False)
    assert there() == [A, B, END]
    assert repair(RUN, kinds=[*REPAIRED, "changed"]) == (
        [f"{A}: made from another {SOURCE}; made again"],
        False,
    )
    assert there() == []


def test_all_is_made_again_where_nobody_knows_of_what_it_was_made():
    (RUN / FILE).unlink()
    assert repair(RUN) == ([], True)
    assert there() == [A, B, END]


def test_a_foreign_file_in_another_run_is_that_run_s_to_mend():
    shutil.copy(A, X)
    with pytest.raises(ParkfError, match="results/other: run it again; results/run reads these files"):
        repair(RUN)
    assert X.exists()
    assert there() == [A, B, END]


def test_only_what_was_asked_for_is_looked_at():
    B.unlink()
    assert repair(RUN, ["a.json"]) == ([], False)
    assert repair(RUN, ["validation.json"])[0] != []
