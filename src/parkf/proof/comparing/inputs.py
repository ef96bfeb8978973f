"""What differed between two sets in inputs and code, in words: causes alone, not what follows from them."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from parkf.io.documents.document import read_document
from parkf.proof.comparing.documents import FILES
from parkf.proof.comparing.subject import Subject

# Entries beyond which a list is cut.
MOST = 8
_AXES = {
    "x": ("mm in x", 1.0),
    "y": ("mm in y", 1.0),
    "z": ("mm in z", 1.0),
    "rx": ("mrad about x", 1e3),
    "ry": ("mrad about y", 1e3),
    "rz": ("mrad about z", 1e3),
}
_DETECTORS = {"velo": "VELO", "ut": "UT", "scifi": "SciFi"}
# Inputs that are made from the others, and differ where these do.
_DERIVED = re.compile(r"dataset |closure tracks |start |table$|closed table$|field$")
_Leaf = tuple[str, ...]


@dataclass(frozen=True)
class Difference:
    """One thing that was not the same.

    Attributes
    ----------
    what : str
        ``geometry``, ``alignment``, ``field``, ``configuration``, ``code``, ``seed`` or ``inputs``.
    text : str
        From the first to the second.
    """

    what: str
    text: str

    def __str__(self) -> str:
        return f"{self.what}: {self.text}"


def input_differences(first: Subject, second: Subject) -> list[Difference]:
    """Say what differed, from the first to the second; empty where inputs and code are the same."""
    found = [
        *_geometry(first, second),
        *_alignment(first, second),
        *_field(first, second),
        *_configuration(first, second),
        *_code(first, second),
        *_seeds(first, second),
    ]
    if not found:
        found = [*_derived(first, second)]
    return found


def _documents(kind: str, first: Subject, second: Subject) -> tuple[bool, Any, Any]:
    """Whether fingerprints differ, and both documents where they are at hand."""
    one, two = (subject.manifest.inputs.get(kind) for subject in (first, second))
    if one == two:
        return False, None, None
    paths = [subject.document(kind) for subject in (first, second)]
    contents = [None if path is None else read_document(path).content for path in paths]
    return True, contents[0], contents[1]


def _unread(kind: str, first: Subject, second: Subject) -> Difference:
    names = [
        f"{subject.file_name(kind) or 'a file'} ({_short(subject.manifest.inputs.get(kind))})"
        + ("" if subject.document(kind) else ", not at hand")
        for subject in (first, second)
    ]
    return Difference(kind, f"another file: {names[0]} → {names[1]}")


def _geometry(first: Subject, second: Subject) -> Iterator[Difference]:
    differ, one, two = _documents("geometry", first, second)
    if not differ:
        return
    if one is None or two is None:
        yield _unread("geometry", first, second)
        return
    before, after = dict(_leaves(one)), dict(_leaves(two))
    changed = [key for key in {**before, **after} if before.get(key) != after.get(key)]
    physical = [key for key in changed if key != ("tag",)] or changed
    for key in physical[:MOST]:
        yield Difference("geometry", f"{'.'.join(key)} {_value(before.get(key))} → {_value(after.get(key))}")
    if len(physical) > MOST:
        yield Difference("geometry", f"and {len(physical) - MOST} more entries")
    if not changed:
        yield Difference("geometry", "the same entries, written otherwise")


def _alignment(first: Subject, second: Subject) -> Iterator[Difference]:
    differ, one, two = _documents("alignment", first, second)
    if not differ:
        return
    if one is None or two is None:
        yield _unread("alignment", first, second)
        return
    moved = displacements(one, two)
    for text in moved[:MOST]:
        yield Difference("alignment", text)
    if len(moved) > MOST:
        yield Difference("alignment", f"and {len(moved) - MOST} more displacements")
    if not moved:
        tags = [document.get("tag") for document in (one, two)]
        text = (
            f"tag {tags[0]} → {tags[1]}"
            if tags[0] != tags[1]
            else "the same displacements, written otherwise"
        )
        yield Difference("alignment", text)


def displacements(one: Mapping[str, Any], two: Mapping[str, Any]) -> list[str]:
    """Say by how much elements have moved from one alignment to another: ``SciFi layer 3 +0.2 mm in x``."""
    before, after = dict(_leaves(one)), dict(_leaves(two))
    found = []
    for key in {**before, **after}:
        if key[-1] not in _AXES or len(key) < 2:
            continue
        unit, scale = _AXES[key[-1]]
        change = scale * (float(after.get(key, 0.0)) - float(before.get(key, 0.0)))
        if change:
            found.append((key, f"{_element(key[:-1])} {change:+.4g} {unit}".replace("-", "−")))
    return [text for _, text in sorted(found, key=lambda pair: tuple(_natural(part) for part in pair[0]))]


def _element(key: _Leaf) -> str:
    """Name an element: scifi_layers, 3 is SciFi layer 3; velo_halves, left is the VELO's left half."""
    group, *rest = key
    detector, _, kind = group.partition("_")
    singular = {"halves": "half"}.get(kind, kind.removesuffix("s"))
    name = _DETECTORS.get(detector, detector)
    if rest and not rest[0].isdigit():
        return f"{name} {' '.join(rest)} {singular}"
    return " ".join([name, singular, *rest])


def _natural(part: str) -> tuple[int, str]:
    return (int(part), "") if part.isdigit() else (-1, part)


def _field(first: Subject, second: Subject) -> Iterator[Difference]:
    one, two = (subject.manifest.inputs for subject in (first, second))
    if one.get("field source") != two.get("field source"):
        yield Difference("field", _unread("field source", first, second).text)


def _configuration(first: Subject, second: Subject) -> Iterator[Difference]:
    one, two = (subject.manifest.configuration for subject in (first, second))
    if one is None or two is None:
        if one is not two:
            yield Difference("configuration", "only one of the two keeps its configuration")
        return
    # Forms are told as a difference of the code.
    files = {*FILES.values(), "forms"}
    # Contents of files are compared, not their names.
    keys = [key for key in {**one, **two} if one.get(key) != two.get(key) and key not in files]
    for key in keys:
        if key in one and key in two:
            yield Difference("configuration", f"{key} {one[key]} → {two[key]}")
    # Keys that an older or newer version of parkf does not know are told as one difference.
    for subject, entries in ((first, two), (second, one)):
        unknown = [key for key in keys if key not in (subject.manifest.configuration or {})]
        if unknown:
            said = ", ".join(f"{key} {entries[key]}" for key in unknown[:MOST])
            said += f" and {len(unknown) - MOST} more" if len(unknown) > MOST else ""
            yield Difference("configuration", f"{subject.name} does not have {said}")


def _code(first: Subject, second: Subject) -> Iterator[Difference]:
    one, two = first.manifest, second.manifest
    if one.forms != two.forms:
        yield Difference("code", f"forms {one.forms} → {two.forms}")
    else:
        steps = [name for name in {**one.steps, **two.steps} if one.steps.get(name) != two.steps.get(name)]
        if steps:
            yield Difference("code", f"formulas of {', '.join(steps)}")
    if one.code_version != two.code_version:
        yield Difference("code", f"parkf {one.code_version} → {two.code_version}")
    before, after = one.inputs.get("code"), two.inputs.get("code")
    if before != after:
        yield Difference(
            "code", f"sources of the training ({_short(before)} → {_short(after)}{_commits(first, second)})"
        )


def _commits(first: Subject, second: Subject) -> str:
    one, two = ((subject.identity or {}).get("commit") for subject in (first, second))
    return f", commits {one} → {two}" if one and two and one != two else ""


def _seeds(first: Subject, second: Subject) -> Iterator[Difference]:
    one, two = (subject.manifest.seeds.get("run") for subject in (first, second))
    configured = [(subject.manifest.configuration or {}).get("seed") for subject in (first, second)]
    if one != two and configured[0] == configured[1]:
        yield Difference("seed", f"{one} → {two}")


def _derived(first: Subject, second: Subject) -> Iterator[Difference]:
    one, two = (subject.manifest.inputs for subject in (first, second))
    changed = [name for name in {**one, **two} if one.get(name) != two.get(name) and _DERIVED.match(name)]
    if changed:
        text = f"{', '.join(changed)} differ, though nothing that they are made from does"
        yield Difference("inputs", text)


def _leaves(content: Any, key: _Leaf = ()) -> Iterator[tuple[_Leaf, Any]]:
    if isinstance(content, Mapping):
        for name, inner in content.items():
            yield from _leaves(inner, (*key, str(name)))
    elif isinstance(content, list):
        for number, inner in enumerate(content):
            yield from _leaves(inner, (*key, str(number)))
    else:
        yield key, content


def _value(value: Any) -> str:
    return "none" if value is None else json.dumps(value, ensure_ascii=False)


def _short(fingerprint: str | None) -> str:
    return "none" if fingerprint is None else fingerprint[:8]
