"""The ledger of a run: whole lines from many writers, newest entries, products that are made once."""

import subprocess
import sys
from pathlib import Path
from select import select

import pytest
from tests.ledgers import entry, made

from parkf.io.ledger import FILE, Ledger, content_of, doubt, find, fingerprint, run_of, stamp_of

KEY, OTHER = "0123456789abcdef" * 2, "1123456789abcdef" * 2
RUN = Path("results/run")
WRITER = """
import sys
from pathlib import Path
from parkf.io.ledger import Entry, Ledger
for number in range(int(sys.argv[2])):
    outputs = {f"results/run/{sys.argv[1]}-{number}": "0" * 64}
    Ledger(Path("results/run")).append(Entry("", "make", outputs, {}, "c", {"text": "x" * 5000}, {}))
"""
MAKER = """
import sys
from parkf.io.ledger import being_made
with being_made(sys.argv[1]):
    print("begun", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    RUN.mkdir(parents=True)


def test_lines_of_many_writers_are_whole():
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(one), "25"]) for one in range(4)]
    assert [one.wait() for one in writers] == [0] * 4
    assert len((RUN / FILE).read_bytes().splitlines()) == len(list(Ledger(RUN).entries())) == 100
    assert Ledger(RUN).latest().keys() == {f"results/run/{one}-{n}" for one in range(4) for n in range(25)}


@pytest.mark.parametrize("left", [1, 20, -1])
def test_a_line_that_a_kill_has_cut_is_none_and_spoils_no_other(left):
    ledger = Ledger(RUN)
    for name in "ab":
        ledger.append(entry({f"results/run/{name}": "0"}))
    first, last = ledger.path.read_bytes().splitlines(keepends=True)
    ledger.path.write_bytes(first + last[:left])
    assert list(ledger.latest())[:1] == ["results/run/a"]
    ledger.append(entry({"results/run/c": "0"}))
    # A line that only lacks its end is whole.
    whole = ["results/run/b"] if left == -1 else []
    assert list(ledger.latest()) == ["results/run/a", *whole, "results/run/c"]


def test_lines_of_another_format_and_foreign_bytes_are_left_out():
    Ledger(RUN).path.write_bytes(b'{"key": "k", "future": 1}\n[1]\nnull\n\xff\xfe\n')
    Ledger(RUN).append(entry({"results/run/a": "0"}))
    assert list(Ledger(RUN).latest()) == ["results/run/a"]
    assert list(Ledger(Path("results/none")).entries()) == []


def test_the_last_entry_of_a_product_counts_and_its_order():
    ledger = Ledger(RUN)
    for name, digest in (("a", "1"), ("b", "2"), ("a", "3")):
        ledger.append(entry({f"results/run/{name}": digest}))
    assert [(path, one.outputs[path]) for path, one in ledger.latest().items()] == [
        ("results/run/b", "2"),
        ("results/run/a", "3"),
    ]


def test_entries_with_a_key_are_found_in_all_runs_the_newest_first():
    for run, key, digest in (("a", KEY, "1"), ("a", OTHER, "2"), ("b", KEY, "3"), ("a", KEY, "4")):
        Ledger(Path("results", run)).append(entry({f"results/{run}/x": digest}, key=key))
    assert [one.outputs for one in find(KEY)] == [
        {"results/a/x": "4"},
        {"results/a/x": "1"},
        {"results/b/x": "3"},
    ]
    assert list(find(KEY[::-1])) == []


@pytest.fixture
def maker():
    """Start processes that make products of a key, and end when their input does."""
    started = []

    def start(key=KEY):
        command = [sys.executable, "-c", MAKER, key]
        started.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        return started[-1]

    yield start
    for one in started:
        one.kill()
        one.communicate()


def has_begun(process, within_s=60.0):
    return bool(select([process.stdout], [], [], within_s)[0])


@pytest.mark.parametrize("is_killed", [True, False])
def test_who_makes_the_same_waits_for_the_first(maker, is_killed):
    first = maker()
    assert has_begun(first)
    second, another = maker(), maker(OTHER)
    # What is made of something else waits for nobody.
    assert has_begun(another)
    assert not has_begun(second, within_s=0.5)
    if is_killed:
        first.kill()
    else:
        first.stdin.close()
        first.stdin = None
    assert has_begun(second)


def test_a_doubtful_product_loses_its_stamp_and_nothing_else_does():
    path = made("results/run/a.json", "{}")
    assert Ledger(RUN).stamps() == {str(path): stamp_of(path)}
    doubt(path.absolute())
    assert Ledger(RUN).stamps() == {str(path): []}
    assert list(Ledger(RUN).latest()) == [str(path)]
    size = (RUN / FILE).stat().st_size
    doubt(Path("elsewhere.json"))
    doubt(RUN / "unknown.json")
    assert (RUN / FILE).stat().st_size == size


def test_documents_count_by_their_meaning_and_products_by_their_bytes():
    texts = ('{"a": 1, "b": 2}', '{"b": 2,\n "a": 1.0}', '{"a": 1, "b": 3}')
    for folder in (Path("data"), RUN):
        folder.mkdir(exist_ok=True)
        for number, text in enumerate(texts):
            (folder / f"{number}.json").write_text(text)
    one, same, other = (fingerprint(Path(f"data/{number}.json")) for number in range(3))
    assert one == same != other
    assert len({fingerprint(RUN / f"{number}.json") for number in range(3)}) == 3


def test_a_folder_has_the_content_and_the_stamp_of_its_files():
    (RUN / "pages").mkdir()
    (RUN / "pages/a.html").write_text("a")
    before, stamp = content_of(RUN / "pages"), stamp_of(RUN / "pages")
    (RUN / "pages/.snakemake_timestamp").write_text("")
    assert content_of(RUN / "pages") == before
    (RUN / "pages/a.html").write_text("b")
    assert content_of(RUN / "pages") != before
    assert stamp_of(RUN / "pages") != stamp


def test_a_run_is_the_folder_below_results():
    assert run_of(Path("results/run/set/manifest.json")) == RUN
    assert run_of(Path("results/run")) is run_of(Path("data/run/x")) is None
