"""Ways to talk a registry round: each is refused, and the message names what is wrong.

``tests/fit/consumer/test_reader.py`` has the same ways for the C++ header.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

import parkf
from parkf.cli.main import app
from parkf.io.errors import ParkfError
from parkf.params import claims, load, set_folder
from parkf.params import index as indexing
from parkf.params.audit import audit
from parkf.params.index import INDEX_FILE, read_index
from parkf.params.manifest import Gate
from parkf.params.publisher import Publisher
from parkf.params.registry import Registry, readable_registry
from parkf.params.signature import check, sign

from ..keys import new_key
from ..sets import random_set

GATES = [Gate(what="ghosts", measured="25 %", bar="40 %", met=True)]
FIRST, SECOND = "2026-run3-r001", "2026-run3-r002"


@pytest.fixture
def here(made, tmp_path, monkeypatch):
    """A working folder with ``params/``, where one set is published, and an installation without sets."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(claims, "SHIPPED", tmp_path / "installed/params")
    sets = Publisher(claims.FOLDER)
    sets.publish(made(1), year=2026, gates=GATES)
    return sets


@pytest.fixture
def forged(here, made, tmp_path):
    """A whole set with other numbers, whose manifest says that it is the published one."""
    path, other = tmp_path / "forged", load(made(2))
    path.mkdir()
    manifest = other.manifest.model_copy(update={"version": FIRST, "state": "published"})
    other.write(path, manifest)
    return path


def put_in_place(path, link):
    target = claims.FOLDER / FIRST
    shutil.rmtree(target)
    target.symlink_to(path) if link else shutil.copytree(path, target)


def ways(name):
    """Ways to read a set of the working folder's registry, by its version or by its path."""
    yield lambda: parkf.load(name)
    yield lambda: parkf.load(f"params/{name}")
    yield lambda: load(claims.FOLDER / name)
    yield lambda: readable_registry().load(name)
    yield lambda: load(readable_registry().find(name))


@pytest.mark.parametrize("state", ["published", "open"])
def test_a_link_in_place_of_a_set_is_refused(forged, state):
    if state == "open":
        load(forged, sha256=digest_of(forged)).save(forged)
    put_in_place(forged, link=True)
    for read in ways(FIRST):
        with pytest.raises(ParkfError, match=f"params/{FIRST}: a symbolic link; expected the folder"):
            read()
    assert any("a link" in one for one in audit(claims.FOLDER))


def digest_of(folder):
    with pytest.raises(ParkfError) as caught:
        load(folder, sha256="0" * 64)
    return str(caught.value).partition("digest ")[2][:64]


@pytest.mark.parametrize("name", ["constant.f32", "manifest.json"])
def test_a_link_in_place_of_a_file_is_refused(here, name, tmp_path):
    path = claims.FOLDER / FIRST / name
    # Even the right bytes, because whoever owns the other place can change them later.
    shutil.copy(path, tmp_path / name)
    path.unlink()
    path.symlink_to(tmp_path / name)
    for read in ways(FIRST):
        with pytest.raises(ParkfError, match=f"{name}: a symbolic link"):
            read()
    assert f"params/{FIRST}/{name}: a symbolic link" in audit(claims.FOLDER)[0]


def test_a_link_in_place_of_the_index_is_refused(here, tmp_path):
    shutil.move(claims.FOLDER / INDEX_FILE, tmp_path / INDEX_FILE)
    (claims.FOLDER / INDEX_FILE).symlink_to(tmp_path / INDEX_FILE)
    with pytest.raises(ParkfError, match=r"params/index\.json: a symbolic link"):
        parkf.load(FIRST)


def test_a_link_to_a_registry_leads_nowhere_else(here, tmp_path):
    """The registry itself may lie elsewhere: its sets and index are then there, too."""
    (tmp_path / "link").symlink_to(claims.FOLDER)
    assert load(tmp_path / "link" / FIRST).sha256 == parkf.load(FIRST).sha256


@pytest.mark.parametrize("state", ["published", "open"])
def test_a_changed_set_is_refused(forged, state):
    if state == "open":
        load(forged, sha256=digest_of(forged)).save(forged)
    put_in_place(forged, link=False)
    for read in ways(FIRST):
        with pytest.raises(ParkfError, match=r"digest [0-9a-f]+, expected [0-9a-f]+ of index\.json"):
            read()
    assert any("beam_x" not in one and "manifest.json: sha256" in one for one in audit(claims.FOLDER))


def test_two_sets_of_one_name_are_an_error_that_names_both(here, made, tmp_path):
    """A registry in the working folder does not hide the installation's, and neither the reverse."""
    installed = Publisher(claims.SHIPPED)
    installed.publish(made(2), year=2026, gates=GATES)
    for read in (lambda: parkf.load(FIRST), lambda: readable_registry().find(FIRST)):
        with pytest.raises(
            ParkfError, match=rf"{FIRST}: two sets of this name: params lists.*installed/params"
        ):
            read()
    # Named by its registry, it is clear which of them is meant.
    assert Registry(installed.folder).load(FIRST).manifest.constants.beam_x == 2
    assert Registry(claims.FOLDER).load(FIRST).manifest.constants.beam_x == 1


def test_a_name_of_the_installation_is_not_given_again(here, made, monkeypatch, tmp_path):
    monkeypatch.setattr(claims, "SHIPPED", claims.FOLDER)
    assert Publisher(tmp_path / "other").publish(made(2), year=2026, gates=GATES) == SECOND


def test_the_same_set_in_both_registries_is_one(here, made):
    shutil.copytree(claims.FOLDER, claims.SHIPPED)
    assert parkf.load(FIRST).manifest.constants.beam_x == 1
    Publisher(claims.SHIPPED).publish(made(2), year=2026, gates=GATES)
    assert parkf.load(SECOND).manifest.constants.beam_x == 2
    assert parkf.published() == [FIRST, SECOND]
    # Wherever a set was withdrawn, it is withdrawn.
    Publisher(claims.SHIPPED).withdraw(FIRST, "wrong field")
    with pytest.raises(ParkfError, match=r"was withdrawn at .*: wrong field"):
        parkf.load(FIRST)


def test_sets_without_an_index_are_no_registry(here):
    """Otherwise, to delete the index would bring withdrawn sets back, or let an older registry answer."""
    (claims.FOLDER / INDEX_FILE).unlink()
    for read in (lambda: parkf.load(FIRST), lambda: load(claims.FOLDER / FIRST), parkf.published):
        with pytest.raises(ParkfError, match=rf"params/index\.json: no such file, beside {FIRST}"):
            read()
    assert "no such file" in audit(claims.FOLDER)[0]


@pytest.mark.parametrize("name", ["any name", "2026-run3-r999", FIRST])
def test_a_forged_set_outside_a_registry_is_refused(forged, name, tmp_path):
    place = tmp_path / "elsewhere" / name
    shutil.copytree(forged, place)
    for read in (lambda: load(place), lambda: parkf.load(place)):
        with pytest.raises(ParkfError, match=r"says that it is published as .* nor the installation lists"):
            read()
    # Who knows that it is right can pin it.
    assert load(place, sha256=digest_of(place)).manifest.version == FIRST


def test_a_copy_of_a_published_set_is_that_set(here, tmp_path):
    shutil.copytree(claims.FOLDER / FIRST, tmp_path / "copy")
    assert load(tmp_path / "copy").sha256 == parkf.load(FIRST).sha256
    here.withdraw(FIRST, "wrong field")
    with pytest.raises(ParkfError, match=r"copy: was withdrawn at .*: wrong field"):
        load(tmp_path / "copy")


def test_a_folder_in_the_working_folder_is_no_version(here, made, tmp_path):
    """An open set whose folder has the name of a version, published or not, does not stand for it."""
    for name in (FIRST, "2026-run3-r999"):
        shutil.copytree(made(3), tmp_path / name)
    assert parkf.load(FIRST).manifest.constants.beam_x == 1
    assert readable_registry().find(FIRST) == claims.FOLDER / FIRST
    for read in (parkf.load, readable_registry().find):
        with pytest.raises(ParkfError, match="2026-run3-r999"):
            read("2026-run3-r999")


def test_a_set_that_nobody_published_is_refused_in_a_registry(here, made):
    shutil.copytree(made(2), claims.FOLDER / SECOND)
    with pytest.raises(ParkfError, match=rf"{SECOND}: not in index\.json: nobody published this set here"):
        load(claims.FOLDER / SECOND)
    assert parkf.published() == [FIRST]
    assert any(f"{SECOND}: not in index.json" in one for one in audit(claims.FOLDER))


def test_a_set_swapped_while_it_is_read_is_read_whole_or_refused(here, tmp_path, monkeypatch):
    """Between any two files of a set, another set takes its folder; the bytes are never of both."""
    whole = parkf.load(FIRST).sha256
    other = tmp_path / "other"
    random_set(field="abc", seed=8).save(other)
    reading = set_folder.SetFolder._read
    for turn in range(30):

        def swapped(self, name, turn=turn):
            content = reading(self, name)
            if self.path.name == FIRST and len(self._contents) == turn % 3:
                exchange(claims.FOLDER / FIRST, other)
            return content

        monkeypatch.setattr(set_folder.SetFolder, "_read", swapped)
        # The folder was opened before the swap, so all bytes are those of the published set.
        assert parkf.load(FIRST).sha256 == whole
        monkeypatch.setattr(set_folder.SetFolder, "_read", reading)
        exchange(claims.FOLDER / FIRST, other)


def exchange(one, other):
    aside = one.with_name("aside")
    one.rename(aside)
    other.rename(one)
    aside.rename(other)


def test_bytes_are_read_once(here, monkeypatch):
    opened = []
    opening = os.open

    def noted(path, *arguments, **more):
        opened.append(Path(path).name)
        return opening(path, *arguments, **more)

    monkeypatch.setattr(os, "open", noted)
    parkf.load(FIRST)
    files = [name for name in opened if name.endswith((".f32", "manifest.json"))]
    assert sorted(files) == ["constant.f32", "global.f32", "manifest.json"]


@pytest.fixture
def signed(here, tmp_path):
    """A registry with a signed index, its key, and the reader's file of keys."""
    key = new_key(tmp_path / "key")
    sign(claims.FOLDER, key)
    kind, blob, _ = key.with_suffix(".pub").read_text().split()
    signers = tmp_path / "signers"
    signers.write_text(f'maintainer namespaces="parkf-registry" {kind} {blob}\n')
    return SimpleNamespace(key=key, signers=signers, line=signers.read_text())


def test_a_signed_index_is_accepted_by_its_key_alone(signed, here, tmp_path):
    assert check(claims.FOLDER, signed.signers)[1] == "maintainer"
    assert audit(claims.FOLDER, signed.signers) == []
    stranger = new_key(tmp_path / "stranger", "stranger")
    sign(claims.FOLDER, stranger)
    with pytest.raises(ParkfError, match=r"index\.json\.sig: not by a key in .*signers"):
        check(claims.FOLDER, signed.signers)
    sign(claims.FOLDER, signed.key)
    here.withdraw(FIRST, "wrong field")
    with pytest.raises(ParkfError, match=r"not maintainer's signature of index\.json; sign again"):
        check(claims.FOLDER, signed.signers)
    (claims.FOLDER / "index.json.sig").unlink()
    assert "index.json.sig: no such file" in audit(claims.FOLDER, signed.signers)[0]


def test_keys_that_lie_in_the_registry_do_not_count(signed, tmp_path):
    """Only the reader's file counts; without one, no signature is looked at."""
    shutil.copy(signed.signers, claims.FOLDER / "allowed_signers")
    empty = tmp_path / "empty"
    empty.write_text("")
    with pytest.raises(ParkfError, match="not by a key in"):
        check(claims.FOLDER, empty)
    assert audit(claims.FOLDER) == []


@pytest.mark.parametrize(("before", "end"), [("", "\r\n"), ("# a comment", "\r"), ("other", "\n")])
def test_the_file_of_keys_is_read_by_openssh(signed, before, end):
    """Whatever ends its lines, parkf accepts a signature exactly if OpenSSH does."""
    signed.signers.write_bytes(f"{before}{end}{signed.line.rstrip()}{end}".encode())
    try:
        accepted = check(claims.FOLDER, signed.signers)[1] == "maintainer"
    except ParkfError as error:
        assert "ssh-keygen says" in str(error)  # noqa: PT017
        accepted = False
    assert accepted == openssh_accepts(signed.signers)


def openssh_accepts(signers):
    command = ["ssh-keygen", "-Y", "verify", "-n", "parkf-registry", "-I", "maintainer"]
    command += ["-f", signers, "-s", claims.FOLDER / "index.json.sig"]
    content = (claims.FOLDER / INDEX_FILE).read_bytes()
    return subprocess.run(command, input=content, capture_output=True, check=False).returncode == 0


def test_without_openssh_the_error_says_so(signed, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    for act in (lambda: sign(claims.FOLDER, signed.key), lambda: check(claims.FOLDER, signed.signers)):
        with pytest.raises(ParkfError, match="ssh-keygen: no such program, expected OpenSSH's"):
            act()


def call(*words):
    done = CliRunner().invoke(app, [*map(str, words)])
    return done.exit_code, f"{done.output}{done.exception}"


@pytest.mark.parametrize("name", [FIRST, f"params/{FIRST}", f"{{here}}/params/{FIRST}/"])
def test_a_withdrawn_set_is_refused_everywhere(here, name):
    name, candidates = name.format(here=Path.cwd()), parkf.example()
    here.withdraw(FIRST, "wrong field")
    reason = r"was withdrawn at .*: wrong field; use another set"
    for read in (parkf.load, lambda which: load(readable_registry().find(which))):
        with pytest.raises(ParkfError, match=reason):
            read(name)
    for words in (
        ("fit", name, candidates, "fitted.parquet"),
        ("monitor", name, candidates),
        ("align", name, candidates, "a.yaml", "--geometry", "g.yaml", "--alignment", "b.yaml"),
        ("params", "export", name, "trigger"),
        ("params", "export", name, "set.parkf", "--format", "binary"),
    ):
        code, text = call(*words)
        assert code != 0
        assert "was withdrawn at" in text
        assert ": wrong field" in text
    assert not any(Path(path).exists() for path in ("fitted.parquet", "set.parkf", "trigger"))
    # Old results can be repeated, and the set can be looked at.
    assert parkf.load(name, withdrawn=True).manifest.version == FIRST
    assert "was withdrawn at" not in call("fit", name, candidates, "fitted.parquet", "--withdrawn")[1]
    assert call("params", "export", name, "set.parkf", "--format", "binary", "--withdrawn")[0] == 0
    assert "withdrawn: wrong field" in call("params", "show", name)[1]


def test_what_is_not_in_the_index_cannot_be_withdrawn(here):
    with pytest.raises(ParkfError, match="no version 2026-run3-r999 in its index"):
        here.withdraw("2026-run3-r999", "why not")


def test_a_pinned_digest_is_compared(here):
    pinned = parkf.load(FIRST).sha256
    assert parkf.load(FIRST, sha256=pinned).sha256 == pinned
    with pytest.raises(ParkfError, match=f"digest {pinned}, expected 0000"):
        parkf.load(FIRST, sha256="0" * 64)


def test_the_index_is_read_a_few_times_whatever_its_length(here, monkeypatch):
    index = read_index(claims.FOLDER)
    more = {f"2025-run{i // 1000}-r{i % 1000:03}": index.sets[FIRST] for i in range(3000)}
    indexing.write_index(claims.FOLDER, index.model_copy(update={"sets": more | index.sets}))
    reads = []
    reading = indexing.index_bytes
    monkeypatch.setattr(indexing, "index_bytes", lambda folder: reads.append(folder) or reading(folder))
    parkf.load(FIRST)
    readable_registry().series()
    assert len(reads) <= 12


def test_a_hostile_index_is_refused_by_its_size(here):
    path = claims.FOLDER / INDEX_FILE
    path.write_text(json.dumps({f"name {i}": i for i in range(300_000)}))
    with pytest.raises(ParkfError, match=r"index\.json: more than 4194304 bytes"):
        parkf.load(FIRST)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda c: c.update(format=2), "format: "),
        (lambda c: c.update(more=1), "more: "),
        (lambda c: c["sets"].update({"../x": c["sets"][FIRST]}), "sets"),
        (lambda c: c["sets"][FIRST].pop("withdrawn"), f"sets.{FIRST}.withdrawn: "),
        (lambda c: c["sets"][FIRST].update(sha256="ab"), f"sets.{FIRST}.sha256: "),
        (lambda c: c["sets"][FIRST].update(withdrawn={"reason": "", "time": "now"}), "withdrawn.reason: "),
        (lambda c: c["sets"][FIRST]["files"].update({"../../x": "0" * 64}), f"sets.{FIRST}.files"),
    ],
)
def test_a_broken_index_is_named(here, change, said):
    path = claims.FOLDER / INDEX_FILE
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
    for read in (lambda: parkf.load(FIRST), here.versions, parkf.published):
        with pytest.raises(ParkfError, match=r"params/index\.json:1: ") as caught:
            read()
        assert said in str(caught.value)


def test_an_entry_that_says_other_than_the_manifest_is_refused(here):
    path = claims.FOLDER / INDEX_FILE
    content = json.loads(path.read_text())
    content["sets"][FIRST]["validity"]["first_run"] = 7
    path.write_text(json.dumps(content))
    with pytest.raises(ParkfError, match=r"other than its entry in index\.json"):
        parkf.load(FIRST)
    assert "other than its entry" in audit(claims.FOLDER)[0]


def test_every_changed_missing_or_added_file_is_named(here):
    folder = claims.FOLDER / FIRST
    folder.chmod(0o755)
    for name in ("global.f32", "constant.f32"):
        (folder / name).chmod(0o644)
        (folder / name).write_bytes(b"changed")
    (folder / "manifest.json").unlink()
    (folder / "more.txt").write_text("")
    layout = claims.FOLDER / "layouts/1.json"
    layout.write_text(layout.read_text() + " ")
    said = audit(claims.FOLDER)
    for name in (
        "global.f32: sha256",
        "constant.f32: sha256",
        "manifest.json: no such file",
        "more.txt: not in",
    ):
        assert any(f"{folder}/{name}" in one for one in said), name
    assert any("layouts/1.json: sha256" in one for one in said)
    assert call("verify", "params")[0] == 1


def test_equal_indexes_have_equal_bytes(here, tmp_path):
    indexing.write_index(tmp_path, read_index(claims.FOLDER))
    assert (tmp_path / INDEX_FILE).read_bytes() == (claims.FOLDER / INDEX_FILE).read_bytes()
