"""A signed registry: what is published and withdrawn is logged and signed; readers go by the log alone."""

import json
import os
import random
import shutil
import threading
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from parkf.cli.main import app
from parkf.io.errors import ParkfError
from parkf.params import load
from parkf.params import publisher as publishing
from parkf.params.manifest import Gate
from parkf.params.publisher import Publisher
from parkf.params.validity import Moment

from ..keys import new_key

GATES = [Gate(what="ghosts", measured="25 %", bar="40 %", met=True)]
FIRST, SECOND, THIRD = (f"2026-run3-r{number:03}" for number in (1, 2, 3))


@pytest.fixture
def key(tmp_path):
    return new_key(tmp_path / "key")


@pytest.fixture
def sets(made, key, tmp_path):
    """A signed registry with two sets, the first of them withdrawn."""
    registry = Publisher(tmp_path / "params")
    for number in (1, 2):
        registry.publish(made(number), year=2026, gates=GATES, key=key)
    registry.withdraw(FIRST, "wrong field", key)
    return registry


def logged(registry):
    """Versions that the log lists, whatever folders there are."""
    paths = (registry.folder / "log").glob("*/entry.json")
    return {json.loads(path.read_text())["set"] for path in paths}


def events(registry):
    return [(entry.kind, entry.set) for entry in registry.log().entries]


def test_what_happens_is_logged(sets):
    assert events(sets) == [("published", FIRST), ("published", SECOND), ("withdrawn", FIRST)]
    assert sets.log().signer == "maintainer"
    assert sets.withdrawal(FIRST).reason == "wrong field"
    assert sets.withdrawal(SECOND) is None
    assert not (sets.path(FIRST) / "withdrawn.json").exists()
    assert load(sets.path(FIRST)).manifest.version == FIRST
    names = {"constant.f32", "global.f32", "manifest.json"}
    names |= {"Snakefile", "provenance.json", "ro-crate-metadata.json"}
    assert sets.log().published[SECOND].files.keys() == {f"{SECOND}/{one}" for one in names} | {
        "layouts/1.json"
    }


def test_without_a_key_nothing_is_changed(sets, made):
    before = sorted(sets.folder.rglob("*"))
    with pytest.raises(ParkfError, match="params: the registry is signed; name a key with --key"):
        sets.publish(made(3), year=2026, gates=GATES)
    with pytest.raises(ParkfError, match="the registry is signed"):
        sets.withdraw(SECOND, "why not")
    assert sorted(sets.folder.rglob("*")) == before


def test_a_strangers_key_changes_nothing(sets, made, tmp_path):
    stranger = new_key(tmp_path / "stranger", "stranger")
    before = sorted(sets.folder.rglob("*"))
    for act in (
        lambda: sets.publish(made(3), year=2026, gates=GATES, key=stranger),
        lambda: sets.withdraw(SECOND, "why not", stranger),
        lambda: sets.sign(stranger),
    ):
        with pytest.raises(ParkfError, match=r"signed by key SHA256:\S+, expected SHA256:\S+ of maintainer"):
            act()
        assert sorted(sets.folder.rglob("*")) == before


def test_a_registry_without_a_log_gets_one(made, key, tmp_path):
    registry = Publisher(tmp_path / "params")
    for number in (1, 2):
        registry.publish(made(number), year=2026, gates=GATES)
    registry.withdraw(FIRST, "wrong field")
    with pytest.raises(ParkfError, match="not signed; `parkf params sign` makes its log"):
        registry.publish(made(3), year=2026, gates=GATES, key=key)
    registry.sign(key)
    assert sorted(events(registry)) == [("published", FIRST), ("published", SECOND), ("withdrawn", FIRST)]
    assert registry.withdrawal(FIRST).reason == "wrong field"
    assert [load(registry.path(one)).manifest.version for one in (FIRST, SECOND)] == [FIRST, SECOND]
    assert registry.publish(made(3), year=2026, gates=GATES, key=key) == THIRD


def test_a_withdrawal_is_left_in_the_log_alone_also_where_signing_was_killed(made, key, tmp_path):
    registry = Publisher(tmp_path / "params")
    registry.publish(made(1), year=2026, gates=GATES)
    registry.withdraw(FIRST, "wrong field")
    file = registry.path(FIRST) / "withdrawn.json"
    kept = file.read_bytes()
    registry.sign(key)
    assert not file.exists()
    # As if the signer had been killed after it had moved the log.
    file.write_bytes(kept)
    assert registry.repair() == []
    assert not file.exists()
    assert registry.withdrawal(FIRST).reason == "wrong field"


def test_a_new_key_signs_when_it_is_named(sets, tmp_path):
    second = new_key(tmp_path / "second", "second")
    with (sets.folder / "allowed_signers").open("a") as names:
        names.write(line_of(second))
    sets.sign(second)
    assert sets.log().signer == "second"
    assert events(sets)[-1] == ("withdrawn", FIRST)


def line_of(key):
    kind, blob, name = key.with_suffix(".pub").read_text().split()
    return f'{name} namespaces="parkf-registry" {kind} {blob}\n'


def test_a_deleted_set_is_missed_where_another_would_be_named(sets, made, key):
    sets.publish(made(3), year=2026, gates=GATES, key=key)
    shutil.rmtree(sets.path(THIRD))
    for read in (
        sets.log,
        sets.series,
        lambda: sets.best_sets(Moment.parse("7")),
        lambda: sets.withdrawal(SECOND),
    ):
        with pytest.raises(ParkfError, match=f"{THIRD}: missing; the log lists it"):
            read()


@pytest.fixture
def copy(sets, monkeypatch, tmp_path):
    """A copy of the log and the keys, which the environment names."""
    for name in ("log", "allowed_signers"):
        target, source = tmp_path / "copy" / name, sets.folder / name
        target.parent.mkdir(exist_ok=True)
        shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)
    monkeypatch.setenv("PARKF_TRUST", str(tmp_path / "copy"))
    return tmp_path / "copy"


def test_a_copy_shows_what_was_taken_back(sets, copy, made, key):
    sets.publish(made(3), year=2026, gates=GATES, key=key)
    assert load(sets.path(THIRD)).manifest.version == THIRD
    for number in (3, 4):
        shutil.rmtree(sets.folder / f"log/000{number}")
    shutil.rmtree(sets.folder / THIRD)
    with pytest.raises(
        ParkfError, match=f"log/0003/entry.json: missing, expected withdrawn {FIRST} as in .*copy"
    ):
        load(sets.path(SECOND))


def test_a_copy_makes_an_unsigned_registry_useless(sets, copy):
    shutil.rmtree(sets.folder / "log")
    (sets.folder / "allowed_signers").unlink()
    for read in (sets.log, lambda: load(sets.path(SECOND)), sets.series):
        with pytest.raises(ParkfError, match="log: no such folder; the registry is signed"):
            read()


def test_a_copy_concerns_folders_with_sets_alone(copy, tmp_path):
    (tmp_path / "new").mkdir()
    (tmp_path / "new/README.md").write_text("Sets will be here.")
    assert Publisher(tmp_path / "new").log() is None


def test_a_copy_without_keys_is_named(sets, copy):
    (copy / "allowed_signers").unlink()
    with pytest.raises(ParkfError, match="copy/allowed_signers: no such file"):
        load(sets.path(SECOND))


def test_a_reader_between_set_and_entry_looks_again(sets, made, key):
    """A publisher moves the set, and then its entry; who reads in between waits for the entry."""
    sets.publish(made(3), year=2026, gates=GATES, key=key)
    entry, aside = sets.folder / "log/0004", sets.folder.parent / "aside"
    entry.rename(aside)
    back = threading.Timer(0.05, lambda: aside.rename(entry))
    back.start()
    assert load(sets.path(THIRD)).manifest.version == THIRD
    back.join()


def test_killed_publishers_leave_it_whole_or_named(sets, made, key):
    """Publishers are killed at random moments. Then all is sound, or a set that the log lacks is named."""
    draw, start = random.Random(3), time.perf_counter()
    sets.publish(made(3), year=2026, gates=GATES, key=key)
    longest = 1.5 * (time.perf_counter() - start)
    for number in range(4, 12):
        folder = made(number)
        before = len(sets.log().entries)
        child = os.fork()
        if child == 0:
            try:
                Publisher(sets.folder).publish(folder, year=2026, gates=GATES, key=key)
            finally:
                os._exit(0)
        time.sleep(draw.uniform(0, longest))
        os.kill(child, 9)
        os.waitpid(child, 0)
        newest = sets.versions()[-1]
        if newest not in logged(sets):
            with pytest.raises(ParkfError, match=f"{newest}: not in the log"):
                sets.log()
            assert sets.repair() == [newest]
        assert len(sets.log().entries) in (before, before + 1)
        for version in sets.versions():
            load(sets.path(version))


def killed_between(sets, folder, key):
    """Let a publisher die after it moved the set, and before it moves the entry."""
    child = os.fork()
    if child == 0:
        publishing.install = lambda *_: os._exit(9)
        try:
            sets.publish(folder, year=2026, gates=GATES, key=key)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


def test_the_next_publisher_finishes_what_was_interrupted(sets, made, key):
    killed_between(sets, made(3), key)
    with pytest.raises(ParkfError, match=f"{THIRD}: not in the log.*`parkf params repair`"):
        sets.log()
    fourth = sets.publish(made(4), year=2026, gates=GATES, key=key)
    assert events(sets)[3:] == [("published", THIRD), ("published", fourth)]
    assert load(sets.path(THIRD)).manifest.version == THIRD
    assert not sets.is_interrupted()


def test_verify_finishes_what_was_interrupted_and_names_it(sets, made, key):
    killed_between(sets, made(3), key)
    done = CliRunner().invoke(app, ["verify", str(sets.folder)])
    assert done.exit_code == 0
    assert f"{THIRD}: its publication was interrupted; finished it" in done.output
    assert events(sets)[-1] == ("published", THIRD)


def test_the_first_publication_of_a_registry_is_finished(made, key, tmp_path):
    first = Publisher(tmp_path / "params")
    killed_between(first, made(1), key)
    assert first.repair() == [FIRST]
    assert events(first) == [("published", FIRST)]


def test_what_the_key_did_not_sign_is_not_finished(sets, made, key, tmp_path):
    """Somebody plants a set with an entry of an own key, or changes the set that waits for its entry."""
    killed_between(sets, made(3), key)
    (left,) = sets.folder.glob(".publishing-*/log/0004")
    kept = shutil.copytree(sets.folder, tmp_path / "kept")
    entry = json.loads((left / "entry.json").read_text())
    (left / "entry.json").write_text(json.dumps(entry | {"time": "2020-01-01T00:00:00Z"}))
    assert sets.repair() == []
    with pytest.raises(ParkfError, match=f"{THIRD}: not in the log"):
        sets.log()
    changed = kept / THIRD / "Snakefile"
    changed.chmod(0o644)
    changed.write_text("rule all:\n")
    assert Publisher(kept).repair() == []
    with pytest.raises(ParkfError, match=f"{THIRD}: not in the log"):
        Publisher(kept).log()


def test_after_a_handover_only_the_new_key_signs(sets, copy, made, key, tmp_path):
    """Readers follow a handover by themselves, also those whose copy of the keys is older."""
    second = new_key(tmp_path / "second", "second")
    sets.hand_over([second], key)
    assert sets.log().signer == "maintainer"
    with pytest.raises(ParkfError, match=r"signed by key \S+, expected \S+ of second"):
        sets.publish(made(3), year=2026, gates=GATES, key=key)
    assert sets.publish(made(3), year=2026, gates=GATES, key=second) == THIRD
    assert sets.log().signer == "second"
    assert [(entry.kind, entry.set) for entry in sets.log().entries][3:] == [
        ("handover", None),
        ("published", THIRD),
    ]
    # The handover needs its signature for ever, because all that follows depends on it.
    (sets.folder / "log/0004/entry.json.sig").unlink()
    with pytest.raises(ParkfError, match=r"log/0004/entry\.json\.sig: no such file"):
        load(sets.path(THIRD))


def test_nobody_hands_over_but_who_signs(sets, tmp_path):
    stranger = new_key(tmp_path / "stranger", "stranger")
    before = sorted(sets.folder.rglob("*"))
    with pytest.raises(ParkfError, match=r"signed by key \S+, expected \S+ of maintainer"):
        sets.hand_over([stranger], stranger)
    assert sorted(sets.folder.rglob("*")) == before


def test_the_handover_itself_is_signed_by_the_old_key_only(sets, key, tmp_path):
    second = new_key(tmp_path / "second", "second")
    sets.hand_over([second], key)
    with pytest.raises(ParkfError, match=r"signed by key \S+, expected \S+ of maintainer"):
        sets.sign(second)
    sets.sign(key)


def test_a_published_sets_folder_is_checked_wherever_it_is_named(sets, monkeypatch, tmp_path):
    path = sets.path(SECOND)
    (path / "more.txt").write_text("")
    (tmp_path / "link").symlink_to(path)
    monkeypatch.chdir(path)
    for name in (path, tmp_path / "link", Path()):
        with pytest.raises(ParkfError, match=r"more\.txt: not in the log"):
            load(name)


def test_an_entry_has_no_field_that_nobody_knows(sets):
    path = sets.folder / "log/0003/entry.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"more": 1}))
    with pytest.raises(ParkfError, match=r"log/0003/entry\.json:1: more: unknown key"):
        sets.log()


def test_a_handover_names_no_set(sets, key, tmp_path):
    sets.hand_over([new_key(tmp_path / "second", "second")], key)
    path = sets.folder / "log/0004/entry.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"set": SECOND}))
    with pytest.raises(ParkfError, match="expected a handover with keys, and without a set"):
        sets.log()
