"""A ledger that has lost a line, or has another run's, does not hide its products."""

from dataclasses import replace
from pathlib import Path

import pytest

from parkf.io.ledger import Entry, Ledger, content_of, stamp_of
from parkf.workflow.products import Products
from parkf.workflow.repair import repair

RUN = Path("results/mine")
CHAIN = ("one.json", "two.json", "validation.json")


@pytest.fixture(autouse=True)
def chain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a run in which each product was made of the one before."""
    monkeypatch.chdir(tmp_path)
    RUN.mkdir(parents=True)
    for number, name in enumerate(CHAIN):
        (RUN / name).write_text(f'{{"number": {number}}}\n')
    rewrite(entries())


def entries() -> dict[str, Entry]:
    """Return the line of each product."""
    made = {}
    for before, name in zip((None, *CHAIN), CHAIN, strict=False):
        path = RUN / name
        inputs = {str(RUN / before): content_of(RUN / before)} if before else {}
        outputs, stamps = {str(path): content_of(path)}, {str(path): stamp_of(path)}
        made[name] = Entry(name, "stage", outputs, inputs, "code", {}, {}, stamps)
    return made


def rewrite(lines: dict[str, Entry]) -> None:
    Ledger(RUN).path.unlink(missing_ok=True)
    for entry in lines.values():
        Ledger(RUN).append(entry)


def problems() -> dict[str, str]:
    return {one.path.name: one.kind for one in Products(RUN, whole=True).problems()}


@pytest.mark.parametrize("lost", CHAIN)
def test_a_product_without_its_line_is_named_and_made_again(lost: str) -> None:
    rewrite({name: entry for name, entry in entries().items() if name != lost})
    assert problems() == {lost: "stale"}
    said, unknown = repair(RUN)
    assert not unknown
    assert f"{RUN / lost}: the ledger of this run does not say what it was made of; made again" in said
    assert [name for name in CHAIN if (RUN / name).exists()] == [*CHAIN[: CHAIN.index(lost)]]


def test_what_comes_before_a_lost_line_is_still_held_against_the_ledger() -> None:
    rewrite({name: entry for name, entry in entries().items() if name != "two.json"})
    (RUN / "one.json").write_text('{"number": 9}\n')
    assert problems() == {"one.json": "foreign", "two.json": "stale"}


def test_the_line_of_another_file_does_not_bring_that_file_back() -> None:
    lines = entries()
    lines["one.json"] = replace(lines["one.json"], outputs={str(RUN / "one.json"): "0" * 64}, stamps={})
    rewrite(lines)
    assert problems() == {"one.json": "stale", "two.json": "stale"}
    repair(RUN)
    assert not any((RUN / name).exists() for name in CHAIN)
