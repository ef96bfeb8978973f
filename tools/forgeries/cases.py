"""The cases: what somebody does to the registry, and the name that the refusal must have.

They were written down before the readers. `trust` marks what a registry cannot show by itself, because all of
it is replaced by what was once, or could be, genuine: the reader then goes by a copy of the log and the keys.
"""

import base64
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from shutil import copytree, rmtree
from typing import Any

from tools.forgeries.registry import (
    PLANTED,
    SETS,
    World,
    alter,
    append,
    copied,
    edit,
    new_key,
    scaled,
    sign_all,
    write,
)

from parkf.io.files import sha256, write_json
from parkf.io.ssh_signatures import public_line, sign
from parkf.params.log import PURPOSE, Entry
from parkf.params.parameter_set import load
from parkf.params.publisher import Publisher
from parkf.params.signing import handed_over, withdrawn

Act = Callable[[Path, World], object]
NEWEST = SETS[3]
LAST = "log/0006/entry.json"


@dataclass(frozen=True)
class Case:
    """A forgery: its kind, words for it, what is done, a name in the message, sets that must be refused."""

    kind: str
    what: str
    act: Act
    named: str
    sets: tuple[str, ...] = SETS
    trust: bool = False


def _manifest(change: Callable[[Any], None]) -> Act:
    return lambda folder, _: edit(folder / NEWEST / "manifest.json", change, seal=True)


def _entry(number: int, change: Callable[[Any], None]) -> Act:
    return lambda folder, _: edit(folder / f"log/{number:04}/entry.json", change)


def _move(folder: Path, name: str, to: str) -> None:
    (folder / name).rename(folder / to)


def _exchange(folder: Path, one: str, other: str) -> None:
    _move(folder, one, ".between")
    _move(folder, other, one)
    _move(folder, ".between", other)


def _plant(folder: Path, world: World) -> None:
    copytree(world.unpublished, folder / PLANTED)
    state = {"version": PLANTED, "state": "published"}
    edit(folder / PLANTED / "manifest.json", lambda content: content.update(state), seal=True)


def _exchanged_content(folder: Path) -> None:
    out = copied(folder / SETS[2])
    rmtree(folder / NEWEST)
    out.rename(folder / NEWEST)
    edit(folder / NEWEST / "manifest.json", lambda content: content.update(version=NEWEST), seal=True)


def _signature(change: Callable[[bytearray], None]) -> Act:
    """Change the blob of the newest signature."""

    def act(folder: Path, _: World) -> None:
        path = folder / f"{LAST}.sig"
        first, *lines, last = path.read_text().splitlines()
        blob = bytearray(base64.b64decode("".join(lines)))
        change(blob)
        text = base64.b64encode(blob).decode()
        lines = [text[place : place + 70] for place in range(0, len(text), 70)]
        write(path, "\n".join([first, *lines, last, ""]).encode())

    return act


def _flip(place: int) -> Act:
    def change(blob: bytearray) -> None:
        blob[place] ^= 1

    return _signature(change)


def _second_form(blob: bytearray) -> None:
    order = 2**252 + 27742317777372353535851937790883648493
    blob[-32:] = (int.from_bytes(blob[-32:], "little") + order).to_bytes(32, "little")


def _signed_by(key: Callable[[World], Path], purpose: str = PURPOSE) -> Act:
    def act(folder: Path, world: World) -> None:
        (folder / f"{LAST}.sig").unlink()
        sign([folder / LAST], key(world), purpose)

    return act


def _other_kind(kind: str) -> Act:
    def act(folder: Path, world: World) -> None:
        key = new_key(world.registry.parent / f"key-{kind}-{folder.parent.name}", kind, kind)
        (folder / f"{LAST}.sig").unlink()
        sign([folder / LAST], key, PURPOSE)

    return act


def _signers(text: Callable[[str, World], str]) -> Act:
    def act(folder: Path, world: World) -> None:
        path = folder / "allowed_signers"
        path.write_text(text(path.read_text(), world))

    return act


def _strange(folder: Path, world: World) -> None:
    """Let the stranger sign everything, and name the stranger's key instead of the registry's."""
    (folder / "allowed_signers").unlink()
    sign_all(folder, world.stranger)


def _unsign(folder: Path) -> None:
    rmtree(folder / "log")
    (folder / "allowed_signers").unlink()


def _roll_back(folder: Path, world: World) -> None:
    rmtree(folder)
    copytree(world.older, folder)


def _after(*acts: Act) -> Act:
    def act(folder: Path, world: World) -> None:
        for one in acts:
            one(folder, world)

    return act


def _with_key(event: Callable[[Path], dict[str, Any]]) -> Act:
    """Let the key's owner sign an event that cannot be."""
    return lambda folder, world: append(folder, world.key, [event(folder)], kept=6)


def _scale(folder: Path, _: World) -> None:
    alter(folder / NEWEST, scaled)


def _add_signer(text: str, world: World) -> str:
    return f"{text}{public_line(world.stranger, PURPOSE)}\n"


def _again(folder: Path) -> dict[str, Any]:
    files = {f"{NEWEST}/manifest.json": "0" * 64}
    return {
        "kind": "published",
        "set": NEWEST,
        "time": "2026-01-01T00:00:00Z",
        "files": files,
        "reason": None,
    }


def _outside(folder: Path) -> dict[str, Any]:
    files = {f"{PLANTED}/manifest.json": "0" * 64, "../secret/file": "0" * 64}
    return {
        "kind": "published",
        "set": PLANTED,
        "time": "2026-01-01T00:00:00Z",
        "files": files,
        "reason": None,
    }


def _withdrawn(version: str) -> Act:
    return _with_key(lambda _: withdrawn(version, "again", "2026-01-01T00:00:00Z"))


def _append_space(name: str) -> Act:
    return lambda folder, _: write(folder / NEWEST / name, (folder / NEWEST / name).read_bytes() + b" ")


def _remove(name: str) -> Act:
    return lambda folder, _: (folder / NEWEST / name).unlink()


def _of_other(name: str) -> Act:
    return lambda folder, _: write(folder / NEWEST / name, (folder / SETS[2] / name).read_bytes())


def _hand_over(folder: Path, world: World) -> None:
    Publisher(folder).hand_over([world.stranger], world.key)


def _next(folder: Path, key: Path, event: dict[str, Any]) -> None:
    """Write the next entry of a log and sign it by any key."""
    entries = sorted((folder / "log").glob("*/entry.json"))
    entry = Entry(number=len(entries) + 1, previous=sha256(entries[-1]), **event).content()
    path = folder / f"log/{len(entries) + 1:04}/entry.json"
    write_json(path, entry)
    sign([path], key, PURPOSE)


def _withdrawn_by(key: Callable[[World], Path]) -> Act:
    event = withdrawn(SETS[2], "again", "2026-01-01T00:00:00Z")
    return lambda folder, world: _next(folder, key(world), event)


def _handed_by(key: Callable[[World], Path]) -> Act:
    return lambda folder, world: _next(
        folder, key(world), handed_over([world.stranger], "2026-01-01T00:00:00Z")
    )


def _followed(folder: Path, world: World) -> None:
    """Let the new key sign what follows a handover."""
    _withdrawn_by(lambda w: w.stranger)(folder, world)


def _unsigned(number: int) -> Act:
    return lambda folder, _: (folder / f"log/{number:04}/entry.json.sig").unlink()


def _take_out(folder: Path, _: World) -> None:
    rmtree(folder / "log/0007")
    _move(folder / "log", "0008", "0007")


def _interrupted(folder: Path, world: World) -> None:
    """Publish a set, and put its entry back to where a publisher prepares it."""
    _more(folder, world)
    (folder / ".publishing-x/log").mkdir(parents=True)
    (folder / "log/0007").rename(folder / ".publishing-x/log/0007")


def _change_left(folder: Path, _: World) -> None:
    edit(
        folder / ".publishing-x/log/0007/entry.json", lambda entry: entry.update(time="2020-01-01T00:00:00Z")
    )


def _repair(folder: Path, _: World) -> None:
    Publisher(folder).repair()


ONE = (NEWEST,)
_NO_GATES = {"gates": []}
_WIDE = {"first_run": None, "last_run": 1, "first_time": None, "last_time": None}

CASES = (
    # A set is changed.
    Case("set", "table × 1.01, sealed again", _scale, NEWEST, ONE),
    Case("set", "a byte of the table", lambda f, _: _byte(f / NEWEST / "global.f32"), "global.f32", ONE),
    Case(
        "set",
        "beam line in the manifest",
        _manifest(lambda m: m["constants"].update(beam_x=1.0)),
        NEWEST,
        ONE,
    ),
    Case("set", "gates taken out of the manifest", _manifest(lambda m: m.update(_NO_GATES)), NEWEST, ONE),
    Case("set", "validity of the manifest", _manifest(lambda m: m.update(validity=_WIDE)), NEWEST, ONE),
    Case(
        "set",
        "geometry's fingerprint",
        _manifest(lambda m: m["inputs"].update(geometry="a" * 64)),
        NEWEST,
        ONE,
    ),
    Case("set", "what it supersedes", _manifest(lambda m: m.update(supersedes=None)), NEWEST, ONE),
    Case("set", "ghost score taken out", _manifest(lambda m: m.update(ghost_score=None)), NEWEST, ONE),
    Case("set", "manifest of an unpublished set", _manifest(lambda m: m.update(state="open")), NEWEST, ONE),
    Case(
        "set", "manifest missing", lambda f, _: (f / NEWEST / "manifest.json").unlink(), "manifest.json", ONE
    ),
    Case("set", "table missing", lambda f, _: (f / NEWEST / "global.f32").unlink(), "global.f32", ONE),
    Case("set", "RICH constants emptied", lambda f, _: write(f / NEWEST / "rich.f32", b""), "rich.f32", ONE),
    Case("set", "a file added", lambda f, _: write(f / NEWEST / "more.f32", b"1234"), "more.f32", ONE),
    Case("set", "content of another set", lambda f, _: _exchanged_content(f), NEWEST, ONE),
    Case(
        "set", "two folders exchanged", lambda f, _: _exchange(f, SETS[2], NEWEST), NEWEST, (SETS[2], NEWEST)
    ),
    Case(
        "set", "layout's formulas changed", lambda f, _: write(f / "layouts/2.json", b"{}"), "layouts/2.json"
    ),
    Case("set", "layout missing", lambda f, _: (f / "layouts/2.json").unlink(), "layouts/2.json"),
    # Sets vanish or appear.
    Case("sets", "newest folder deleted", lambda f, _: rmtree(f / NEWEST), NEWEST),
    Case("sets", "oldest folder deleted", lambda f, _: rmtree(f / SETS[0]), SETS[0]),
    Case("sets", "a folder renamed", lambda f, _: _move(f, NEWEST, PLANTED), NEWEST, (*SETS, PLANTED)),
    Case(
        "sets", "a folder copied", lambda f, _: copytree(f / NEWEST, f / PLANTED), PLANTED, (*SETS, PLANTED)
    ),
    Case("sets", "an unpublished set planted", _plant, PLANTED, (*SETS, PLANTED)),
    # Withdrawals are erased, forged or turned into others.
    Case("withdrawals", "last one erased", lambda f, _: rmtree(f / "log/0006"), "log/0006", trust=True),
    Case("withdrawals", "an earlier one erased", lambda f, _: rmtree(f / "log/0004"), "log/0004"),
    Case("withdrawals", "its entry only", lambda f, _: (f / LAST).unlink(), "log/0006"),
    Case("withdrawals", "of another set", _entry(6, lambda e: e.update(set=SETS[2])), "log/0006"),
    Case("withdrawals", "another reason", _entry(6, lambda e: e.update(reason="none")), "log/0006"),
    Case(
        "withdrawals",
        "withdrawn.json planted",
        lambda f, _: write(f / NEWEST / "withdrawn.json", b"{}"),
        NEWEST,
        ONE,
    ),
    Case(
        "withdrawals",
        "erased by the key's owner",
        lambda f, w: sign_all(f, w.key, kept=3, without=4),
        "log/0004",
        trust=True,
    ),
    Case("withdrawals", "of a set that is not there", _withdrawn(PLANTED), PLANTED),
    Case("withdrawals", "a second one", _withdrawn(SETS[0]), SETS[0]),
    # The log is changed.
    Case("log", "deleted", lambda f, _: rmtree(f / "log"), "log"),
    Case("log", "emptied", lambda f, _: [rmtree(one) for one in (f / "log").iterdir()], "log/0001"),
    Case("log", "first entry missing", lambda f, _: rmtree(f / "log/0001"), "log/0001"),
    Case(
        "log",
        "hash of a file replaced",
        _entry(5, lambda e: e["files"].update({f"{NEWEST}/global.f32": "0" * 64})),
        "log/0006",
    ),
    Case("log", "two entries exchanged", lambda f, _: _exchange(f / "log", "0002", "0003"), "log/0002"),
    Case("log", "an entry doubled", lambda f, _: copytree(f / "log/0006", f / "log/0007"), "log/0007"),
    Case("log", "another number", _entry(6, lambda e: e.update(number=7)), "log/0006"),
    Case("log", "another entry before", _entry(6, lambda e: e.update(previous="0" * 64)), "log/0006"),
    Case("log", "unknown field", _entry(6, lambda e: e.update(more=1)), "log/0006"),
    Case("log", "no JSON", lambda f, _: write(f / LAST, b"{"), "log/0006"),
    Case("log", "a space added", lambda f, _: write(f / LAST, (f / LAST).read_bytes() + b" "), "log/0006"),
    Case("log", "published twice", _with_key(_again), NEWEST),
    Case("log", "a file outside", _with_key(_outside), PLANTED),
    # The signature is changed.
    Case("signature", "missing", lambda f, _: (f / f"{LAST}.sig").unlink(), "entry.json.sig"),
    Case(
        "signature",
        "of the entry before",
        lambda f, _: write(f / f"{LAST}.sig", (f / "log/0005/entry.json.sig").read_bytes()),
        "log/0006",
    ),
    Case("signature", "a bit of its first half", _flip(-60), "log/0006"),
    Case("signature", "a bit of its second half", _flip(-20), "log/0006"),
    Case("signature", "its second form", _signature(_second_form), "log/0006"),
    Case("signature", "for another purpose", _signed_by(lambda w: w.key, "file"), "log/0006"),
    Case("signature", "by a stranger's key", _signed_by(lambda w: w.stranger), "log/0006"),
    Case("signature", "by an ECDSA key", _other_kind("ecdsa"), "log/0006"),
    Case("signature", "by an RSA key", _other_kind("rsa"), "log/0006"),
    Case("signature", "bytes added", _signature(lambda blob: blob.extend(b"more")), "log/0006"),
    Case(
        "signature",
        "cut",
        lambda f, _: write(f / f"{LAST}.sig", (f / f"{LAST}.sig").read_bytes()[:200]),
        "log/0006",
    ),
    Case(
        "signature",
        "zeros",
        _signature(lambda blob: blob.__setitem__(slice(-64, None), bytes(64))),
        "log/0006",
    ),
    # The keys are changed.
    Case("keys", "missing", lambda f, _: (f / "allowed_signers").unlink(), "allowed_signers"),
    Case("keys", "emptied", _signers(lambda text, _: ""), "allowed_signers"),
    Case("keys", "garbage", _signers(lambda text, _: text[:50]), "allowed_signers"),
    Case(
        "keys",
        "a key without purpose",
        _signers(lambda text, _: text.replace(' namespaces="parkf-registry"', "")),
        "allowed_signers",
    ),
    Case(
        "keys",
        "the stranger's",
        _signers(lambda text, w: f"{public_line(w.stranger, PURPOSE)}\n"),
        "log/0006",
    ),
    # The crate of a set is changed.
    *(
        Case("crate", f"{name} {what}", act(name), name, ONE)
        for name in ("ro-crate-metadata.json", "provenance.json", "Snakefile")
        for what, act in (("changed", _append_space), ("missing", _remove), ("of another set", _of_other))
        if (name, what) != ("Snakefile", "of another set")
    ),
    # Keys are handed over, or seem to be.
    Case(
        "handover", "old key signs afterwards", _after(_hand_over, _withdrawn_by(lambda w: w.key)), "log/0008"
    ),
    Case("handover", "signed by the new key", _handed_by(lambda w: w.stranger), "log/0007"),
    Case(
        "handover",
        "signed by the new key, which follows",
        _after(_handed_by(lambda w: w.stranger), _followed),
        "log/0007",
    ),
    Case(
        "handover",
        "its signature missing",
        _after(_hand_over, _followed, _unsigned(7)),
        "log/0007",
    ),
    Case(
        "handover",
        "another key in it",
        _after(_hand_over, _entry(7, lambda e: e.update(keys=[e["keys"][0].replace("AAAAI", "AAAAJ")]))),
        "log/0007",
    ),
    Case("handover", "without keys", _after(_hand_over, _entry(7, lambda e: e.update(keys=[]))), "log/0007"),
    Case(
        "handover",
        "taken out",
        _after(_hand_over, _followed, _take_out),
        "log/0007",
    ),
    Case("handover", "a withdrawal with keys", _entry(6, lambda e: e.update(keys=["x"])), "log/0006"),
    # A publisher is killed, or seems to be.
    Case("interrupted", "before the entry", _interrupted, PLANTED, (*SETS, PLANTED)),
    Case(
        "interrupted",
        "the set changed before the repair",
        _after(_interrupted, lambda f, _: write(f / PLANTED / "Snakefile", b"x"), _repair),
        PLANTED,
        (*SETS, PLANTED),
    ),
    Case(
        "interrupted",
        "the entry changed before the repair",
        _after(_interrupted, _change_left, _repair),
        PLANTED,
        (*SETS, PLANTED),
    ),
    Case("interrupted", "a planted set before a repair", _after(_plant, _repair), PLANTED, (*SETS, PLANTED)),
    # All of it is replaced.
    Case("whole", "rolled back", _roll_back, "log/0005", SETS[:3], trust=True),
    Case(
        "whole",
        "rolled back, newer sets stay",
        lambda f, _: [rmtree(f / f"log/000{n}") for n in (5, 6)],
        NEWEST,
    ),
    Case("whole", "signed by a stranger, whose key it names", _strange, "log/0006", trust=True),
    Case("whole", "table × 1.01, signed so", _after(_scale, _strange), "log/0006", trust=True),
    Case(
        "whole",
        "a stranger's key added, and its signature",
        _after(_signers(_add_signer), _scale, lambda f, w: sign_all(f, w.stranger)),
        "log/0006",
        trust=True,
    ),
    Case("whole", "no signature any more", lambda f, _: _unsign(f), "log", trust=True),
    Case(
        "whole",
        "rewritten by the key's owner",
        _after(_scale, lambda f, w: sign_all(f, w.key, kept=4)),
        "log/0005",
        trust=True,
    ),
    Case(
        "whole",
        "newest set unpublished by the key's owner",
        _after(lambda f, _: rmtree(f / NEWEST), lambda f, w: sign_all(f, w.key, kept=4)),
        "log/0005",
        SETS[:3],
        trust=True,
    ),
)


def _byte(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[1000] ^= 1
    write(path, bytes(content))


def _second_signer(folder: Path, world: World) -> None:
    _signers(_add_signer)(folder, world)
    _signed_by(lambda w: w.stranger)(folder, world)


def _more(folder: Path, world: World) -> None:
    gates = load(copied(folder / NEWEST)).manifest.gates
    Publisher(folder).publish(world.unpublished, year=2026, gates=gates, key=world.key)


# What honest people do. `trust`: with the registry as it was as the copy to go by.
HONEST = (
    Case("honest", "nothing", lambda f, _: None, ""),
    Case("honest", "nothing, read by the copy", lambda f, _: None, "", trust=True),
    Case("honest", "a set more", _more, "", (*SETS, PLANTED)),
    Case("honest", "a set more, read by the copy", _more, "", (*SETS, PLANTED), trust=True),
    Case("honest", "a withdrawal more", lambda f, w: _withdrawn(SETS[2])(f, w), "", trust=True),
    Case("honest", "signed by a second key that it names", _second_signer, ""),
    Case("honest", "a comment among the keys", _signers(lambda text, _: f"# ours\n\n{text}"), ""),
    Case("honest", "older signatures missing", lambda f, _: (f / "log/0002/entry.json.sig").unlink(), ""),
    Case("honest", "another file beside the sets", lambda f, _: write(f / "README.md", b"ours"), ""),
    Case("honest", "a further layout", lambda f, _: write(f / "layouts/3.json", b"{}"), ""),
    Case(
        "honest",
        "an unpublished folder beside the sets",
        lambda f, w: copytree(w.unpublished, f / "trial"),
        "",
    ),
    Case("honest", "another key after a handover", _after(_hand_over, _followed), ""),
    Case(
        "honest",
        "another key after a handover, read by the copy",
        _after(_hand_over, _followed),
        "",
        trust=True,
    ),
    Case("honest", "interrupted and repaired", _after(_interrupted, _repair), "", (*SETS, PLANTED)),
    Case("honest", "an older copy", _roll_back, "", SETS[:3]),
)
