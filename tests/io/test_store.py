"""The store of products: all of an execution or none, damaged bytes never, and nothing that no run has."""

import os
from pathlib import Path

import pytest

from parkf.io import store
from parkf.io.files import sha256
from parkf.io.store import STORE

TEXTS = {"a": "one", "b": "two"}


@pytest.fixture(autouse=True)
def kept(tmp_path, monkeypatch):
    """Two products of a run, which are in the store: by path, their SHA-256."""
    monkeypatch.chdir(tmp_path)
    Path("results/run").mkdir(parents=True)
    for name, text in TEXTS.items():
        Path("results/run", name).write_text(text)
    found = {path: sha256(path) for path in sorted(Path("results/run").iterdir())}
    store.keep(found)
    return found


def wanted(kept):
    return {Path("results/new", path.name): (digest, path) for path, digest in kept.items()}


def texts(run):
    return {path.name: path.read_text() for path in Path("results", run).glob("*")}


def test_products_are_linked_and_copied(kept):
    assert {path.name for path in STORE.iterdir()} == set(kept.values())
    assert all(path.samefile(STORE / digest) for path, digest in kept.items())
    assert store.take(wanted(kept))
    assert texts("new") == TEXTS
    # Whoever changes a copy does not change the product from which it is.
    assert not Path("results/new/a").samefile("results/run/a")


def test_all_or_none_are_there(kept):
    gone, *_ = kept
    (STORE / kept[gone]).unlink()
    gone.unlink()
    assert not store.take(wanted(kept))
    assert texts("new") == {}


@pytest.mark.parametrize("is_there", [True, False])
def test_damaged_bytes_of_the_store_are_removed_and_the_product_taken_from_its_run(kept, is_there):
    damaged, *_ = kept
    damaged.unlink()
    (STORE / kept[damaged]).write_text("0ne")
    if is_there:
        damaged.write_text(TEXTS[damaged.name])
    assert store.take(wanted(kept)) == is_there
    assert texts("new") == (TEXTS if is_there else {})
    assert not (STORE / kept[damaged]).exists()


def test_a_product_that_has_changed_is_no_product(kept):
    changed, *_ = kept
    # Both are the same file.
    changed.write_text("other")
    assert not store.take(wanted(kept))
    assert texts("new") == {}


def test_what_no_run_has_is_removed(kept):
    first, second = kept
    first.unlink()
    store.tidy()
    assert {path.name for path in STORE.iterdir()} == {kept[second]}


def test_without_links_nothing_is_kept(monkeypatch, kept):
    def refuse(*_):
        raise PermissionError

    (STORE / kept[Path("results/run/a")]).unlink()
    monkeypatch.setattr(os, "link", refuse)
    store.keep(kept)
    assert {path.name for path in STORE.iterdir()} == {kept[Path("results/run/b")]}
    assert store.take(wanted(kept))
