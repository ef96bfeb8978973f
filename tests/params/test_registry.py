"""The registry holds only whole sets, even if publishers die or interfere, and never changes a set."""

import multiprocessing
import os
import platform
import random
import time

import numpy as np
import pytest

from parkf.io.errors import ParkfError
from parkf.model.layout.built import layout_files
from parkf.params import publisher as module
from parkf.params.audit import audit
from parkf.params.manifest import Gate, Validity
from parkf.params.parameter_set import ParameterSet, load
from parkf.params.publisher import Publisher

GATES = [Gate(what="ghosts", measured="25 %", bar="40 %", met=True)]
fork = multiprocessing.get_context("fork")


def test_names_sort_and_sets_follow_each_other(made, sets):
    names = [sets.publish(made(i), year=year, gates=GATES) for i, year in enumerate((2025, 2025, 2026))]
    assert names == ["2025-run3-r001", "2025-run3-r002", "2026-run3-r001"] == sets.versions()
    assert sets.publish(made(9, detector="velo-open"), year=2025, gates=GATES) == "2025-velo-open-r001"
    manifests = [sets.load(name).manifest for name in names]
    assert [m.supersedes for m in manifests] == [None, names[0], names[1]]
    assert all(m.state == "published" and m.gates == GATES and m.created for m in manifests)
    assert {"python", "numpy"} <= set(manifests[0].environment)
    assert [m.constants.beam_x for m in manifests] == [0, 1, 2]


def test_a_published_set_has_the_versions_that_it_was_published_with(parameters, sets, tmp_path):
    manifest = parameters.manifest.model_copy(
        update={"environment": {"python": "3.1.4", "numpy": "0.1"}, "detector": "run3"}
    )
    ParameterSet(parameters.constant, parameters.table, manifest).save(tmp_path / "old")
    name = sets.publish(tmp_path / "old", year=2025, gates=GATES)
    found = sets.load(name).manifest.environment
    assert (found["python"], found["numpy"]) == (platform.python_version(), np.__version__)


def test_sets_of_other_forms_stand_side_by_side(made, better, sets, tmp_path):
    manifest = better.manifest.model_copy(update={"detector": "run3"})
    ParameterSet(better.constant, better.table, manifest).save(tmp_path / "better")
    folders = (made(0), tmp_path / "better", made(1))
    names = [sets.publish(folder, year=2025, gates=GATES) for folder in folders]
    assert [sets.load(name).manifest.supersedes for name in names] == [None, None, names[0]]


def test_validity_is_recorded(made, sets):
    validity = Validity(first_run=300_000, last_run=None, first_time=None, last_time=None)
    version = sets.publish(made(1), year=2026, gates=GATES, validity=validity)
    assert sets.load(version).manifest.validity == validity


def test_the_first_set_of_a_layout_freezes_it(made, sets, tmp_path):
    sets.publish(made(1), year=2026, gates=GATES)
    frozen = sets.layouts / "1.json"
    assert frozen.read_bytes() == layout_files("production")[0].read_bytes()
    loaded = load(made(2))
    manifest = loaded.manifest.model_copy(update={"formulas": "0" * 64})
    ParameterSet(loaded.constant, loaded.table, manifest).save(tmp_path / "changed")
    with pytest.raises(ParkfError, match="layout 1 is published, with other formulas than this set's"):
        sets.publish(tmp_path / "changed", year=2026, gates=GATES)
    frozen.unlink()
    with pytest.raises(ParkfError, match="formulas 000000000000…, which the installed kernel lacks"):
        sets.publish(tmp_path / "changed", year=2026, gates=GATES)
    assert sets.versions() == ["2026-run3-r001"]


def test_a_missed_gate_stops_it(made, sets):
    missed = Gate(what="ghosts", measured="50 %", bar="40 %", met=False)
    with pytest.raises(ParkfError, match=r"gates missed:\n  ghosts: 50 % \(bar 40 %\)"):
        sets.publish(made(1), year=2026, gates=[*GATES, missed])
    with pytest.raises(ParkfError, match=r"gates missed:\n  none measured"):
        sets.publish(made(1), year=2026, gates=[])
    assert sets.versions() == []


def test_the_same_numbers_are_published_once(made, sets):
    sets.publish(made(1), year=2026, gates=GATES)
    with pytest.raises(ParkfError, match="published already, as 2026-run3-r001"):
        sets.publish(made(1), year=2026, gates=GATES)


def test_a_withdrawn_set_stays_readable_and_is_followed_by_nobody(made, sets):
    first = sets.publish(made(1), year=2026, gates=GATES)
    before = {p.name: p.read_bytes() for p in sets.path(first).iterdir()}
    sets.withdraw(first, "  wrong alignment ")
    assert {p.name: p.read_bytes() for p in sets.path(first).iterdir()} == before
    loaded = sets.load(first, withdrawn=True)
    assert (loaded.state, loaded.withdrawn) == ("withdrawn", "wrong alignment")
    with pytest.raises(ParkfError, match="withdrawn already"):
        sets.withdraw(first, "again")
    assert sets.index().sets[first].withdrawn.reason == "wrong alignment"
    with pytest.raises(ParkfError, match="no reason"):
        sets.withdraw(sets.publish(made(2), year=2026, gates=GATES), " ")
    assert sets.load("2026-run3-r002").manifest.supersedes is None


@pytest.mark.parametrize(
    "name", ["../set1", "2026-run3-r001/../..", "", "2026-RUN3-r001", "2026-run3-r1", "x\0"]
)
def test_names_that_are_none_are_refused(sets, name):
    with pytest.raises(ParkfError, match="expected a name such as 2026-run3-r001"):
        sets.path(name)


def test_a_set_under_another_name_is_refused(made, sets):
    version = sets.publish(made(1), year=2026, gates=GATES)
    sets.path(version).rename(sets.folder / "2026-run3-r007")
    with pytest.raises(ParkfError, match=r"r007: not in index\.json"):
        load(sets.folder / "2026-run3-r007")
    with pytest.raises(ParkfError, match="r001: missing; the index lists it"):
        sets.load(version)


def test_a_broken_set_is_not_published(made, sets):
    folder = made(1)
    (folder / "constant.f32").write_bytes(b"")
    with pytest.raises(ParkfError, match=r"constant\.f32: 0 bytes"):
        sets.publish(folder, year=2026, gates=GATES)
    assert not sets.folder.exists()


def test_a_detector_tag_that_makes_no_name_is_refused(made, sets):
    with pytest.raises(ParkfError, match=r"detector '\.\./x', revision 1 make no version"):
        sets.publish(made(1, detector="../x"), year=2026, gates=GATES)


def test_killed_at_random_moments(made, sets):
    """Publishers are killed. The registry then has the sets as before or one more, all whole."""
    draw = random.Random(6)
    folders = [made(i) for i in range(21)]
    start = time.perf_counter()
    sets.publish(folders[0], year=2026, gates=GATES)
    longest = 2 * (time.perf_counter() - start)
    before, unfinished = sets.versions(), 0
    outcomes = {"old": 0, "new": 0}
    for i, folder in enumerate(folders):
        if i == 0:
            continue
        child = fork.Process(target=sets.publish, args=(folder,), kwargs={"year": 2026, "gates": GATES})
        child.start()
        time.sleep(draw.uniform(0, longest))
        child.kill()
        child.join()
        now = sets.versions()
        assert now[: len(before)] == before
        # A publisher that was killed between set and entry is finished by the next, which then adds its own.
        assert len(now) - len(before) <= 1 + unfinished
        unfinished = len(list(sets.folder.glob("2026-*"))) - len(now)
        assert sets.load(now[-1]).manifest.version == now[-1]
        outcomes["new" if len(now) > len(before) else "old"] += 1
        # However fast the machine is, this keeps the kills around the moment of publication.
        longest *= 0.8 if len(now) > len(before) else 1.2
        before = now
    for version in before:
        sets.load(version)
    print(f"20 publishers killed; afterwards the registry was: {outcomes}")
    assert min(outcomes.values()) > 1, outcomes
    # The next publisher removes what the killed ones left.
    sets.publish(made(99), year=2026, gates=GATES)
    assert {p.name for p in sets.folder.iterdir()} == {".lock", "index.json", "layouts", *sets.versions()}
    assert audit(sets.folder) == []


def _publish(sets, folder, start, outcomes):
    start.wait()
    try:
        outcomes.put(sets.publish(folder, year=2026, gates=GATES))
    except ParkfError as error:
        outcomes.put(str(error))


def test_two_publishers_at_once(made, sets):
    told = {"published": 0, "to try again": 0}
    for turn in range(3):
        start, outcomes = fork.Barrier(2), fork.Queue()
        folders = [made(2 * turn), made(2 * turn + 1)]
        both = [fork.Process(target=_publish, args=(sets, folder, start, outcomes)) for folder in folders]
        for child in both:
            child.start()
        results = [outcomes.get(timeout=60) for _ in both]
        for child in both:
            child.join()
            assert child.exitcode == 0
        published = [result for result in results if result in sets.versions()]
        assert published
        assert all(r in published or r.endswith("another publisher is at work; try again") for r in results)
        told["published"] += len(published)
        told["to try again"] += len(results) - len(published)
    print(f"3 pairs of publishers: {told}")
    for version in sets.versions():
        sets.load(version)


def test_while_one_publishes_another_is_told_to_try_again(made, sets):
    first, second = made(1), made(2)
    with sets._alone(), pytest.raises(ParkfError, match="another publisher is at work; try again"):
        sets.publish(first, year=2026, gates=GATES)
    assert sets.versions() == []
    assert [sets.publish(one, year=2026, gates=GATES) for one in (first, second)] == sets.versions()


def test_without_a_lock_the_second_is_told_to_try_again(made, sets, monkeypatch):
    """Without locks, another set can appear after the version is chosen and before the folder is renamed."""
    monkeypatch.setattr(module.fcntl, "flock", lambda *_: None)
    whole = Publisher._freeze

    def meanwhile(publisher, manifest):
        monkeypatch.setattr(Publisher, "_freeze", whole)
        # The publisher that comes in between does not clear its staging folder away.
        monkeypatch.setattr(module.shutil, "rmtree", lambda *_, **__: None)
        sets.publish(made(2), year=2026, gates=GATES)
        return whole(publisher, manifest)

    monkeypatch.setattr(Publisher, "_freeze", meanwhile)
    with pytest.raises(ParkfError, match="2026-run3-r001 was published meanwhile; try again"):
        sets.publish(made(1), year=2026, gates=GATES)
    assert sets.load("2026-run3-r001").manifest.constants.beam_x == 2


def test_an_interrupted_publisher_leaves_nothing(made, sets, monkeypatch):
    def interrupt(path):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "_sync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        sets.publish(made(1), year=2026, gates=GATES)
    assert sorted(p.name for p in sets.folder.iterdir()) == [".lock", "index.json"]


def test_without_a_lock_no_withdrawal_is_lost(made, sets, monkeypatch):
    first = sets.publish(made(1), year=2026, gates=GATES)
    monkeypatch.setattr(module.fcntl, "flock", lambda *_: None)
    whole = Publisher._freeze

    def meanwhile(publisher, manifest):
        monkeypatch.setattr(Publisher, "_freeze", whole)
        with monkeypatch.context() as patch:
            patch.setattr(module.shutil, "rmtree", lambda *_, **__: None)
            sets.withdraw(first, "wrong field")
        return whole(publisher, manifest)

    monkeypatch.setattr(Publisher, "_freeze", meanwhile)
    with pytest.raises(ParkfError, match=r"index\.json: was written meanwhile; try again"):
        sets.publish(made(2), year=2026, gates=GATES)
    assert sets.index().sets[first].withdrawn.reason == "wrong field"
    assert sets.publish(made(2), year=2026, gates=GATES) == "2026-run3-r002"


def killed_between(sets, folder):
    """Let a publisher die after it moved the set, and before it replaces the index."""
    child = os.fork()
    if child == 0:
        Publisher._install = lambda *_: os._exit(9)
        try:
            sets.publish(folder, year=2026, gates=GATES)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


@pytest.mark.parametrize("first", [0, 1])
def test_the_next_publisher_finishes_what_was_interrupted(made, sets, first):
    """Also in a new registry. Until then, readers see the registry as it was."""
    for number in range(first):
        sets.publish(made(number), year=2026, gates=GATES)
    before = sets.versions()
    killed_between(sets, made(7))
    assert sets.versions() == before
    interrupted = f"2026-run3-r00{first + 1}"
    with pytest.raises(ParkfError, match=r"not in index\.json"):
        load(sets.folder / interrupted)
    sets.publish(made(8), year=2026, gates=GATES)
    assert sets.versions() == [*before, interrupted, f"2026-run3-r00{first + 2}"]
    assert sets.load(interrupted).manifest.constants.beam_x == 7
    assert audit(sets.folder) == []


def test_a_set_that_was_changed_since_its_publisher_was_killed_is_not_finished(made, sets):
    killed_between(sets, made(7))
    changed = sets.folder / "2026-run3-r001/constant.f32"
    changed.chmod(0o644)
    changed.write_bytes(bytes(4 * 466))
    assert sets.publish(made(8), year=2026, gates=GATES) == "2026-run3-r002"
    assert sets.versions() == ["2026-run3-r002"]
    assert "2026-run3-r001: not in index.json" in audit(sets.folder)[0]
