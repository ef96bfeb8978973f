"""Differences of two sets in inputs and code: causes alone, without what follows from them."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from parkf.io.documents.document import read_document
from parkf.io.fingerprints.meaning import is_file_of
from parkf.params.comparison import changed
from parkf.proof.comparing.documents import FILES
from parkf.proof.comparing.subject import Subject

# Longer lists of differences are cut.
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
class InputDifference:
    """One difference in inputs or code.

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


def input_differences(first: Subject, second: Subject) -> list[InputDifference]:
    """List the differences, from the first to the second; empty where inputs and code are the same."""
    causes = {
        "geometry": _file("geometry", first, second, _entries, "entries"),
        "alignment": _file("alignment", first, second, _moves, "displacements"),
        "field": _field(first, second),
        "configuration": _configuration(first, second),
        "code": _code(first, second),
        "seed": _seeds(first, second),
    }
    found = [InputDifference(what, text) for what, texts in causes.items() for text in texts]
    return found or [InputDifference("inputs", text) for text in _derived(first, second)]


def _file(
    kind: str, first: Subject, second: Subject, compared: Callable[[Any, Any], list[str]], entries: str
) -> Iterator[str]:
    """Yield the differences of two files' contents, or of their names where one is not at hand."""
    one, two = (subject.manifest.inputs.get(kind) for subject in (first, second))
    if one == two:
        return
    paths = [subject.document(kind) for subject in (first, second)]
    if one and two and any(path and is_file_of(path, one) and is_file_of(path, two) for path in paths):
        return
    if None in paths:
        yield _other_file(kind, first, second)
        return
    texts = compared(*(read_document(path).content for path in paths if path is not None))
    yield from texts[:MOST]
    if len(texts) > MOST:
        yield f"and {len(texts) - MOST} more {entries}"


def _other_file(kind: str, first: Subject, second: Subject) -> str:
    names = [
        f"{subject.file_name(kind) or 'a file'} ({_short(subject.manifest.inputs.get(kind))})"
        + ("" if subject.document(kind) else ", not at hand")
        for subject in (first, second)
    ]
    return f"another file: {names[0]} → {names[1]}"


def _entries(one: Any, two: Any) -> list[str]:
    before, after = ({".".join(key): value for key, value in _leaves(content)} for content in (one, two))
    keys = changed(before, after)
    # A tag alone decides nothing.
    physical = [key for key in keys if key != "tag"] or keys
    texts = [f"{key} {_value(before.get(key))} → {_value(after.get(key))}" for key in physical]
    return texts or ["the same entries, written otherwise"]


def _moves(one: Any, two: Any) -> list[str]:
    tags = [document.get("tag") for document in (one, two)]
    other_tag = f"tag {tags[0]} → {tags[1]}" if tags[0] != tags[1] else ""
    return displacements(one, two) or [other_tag or "the same displacements, written otherwise"]


def displacements(one: Mapping[str, Any], two: Mapping[str, Any]) -> list[str]:
    """List how far elements moved between two alignments: ``SciFi layer 3 +0.2 mm in x``."""
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
    """Name an element: scifi_layers, 3 is SciFi layer 3; velo_halves, left is VELO left half."""
    group, *rest = key
    detector, _, kind = group.partition("_")
    singular = {"halves": "half"}.get(kind, kind.removesuffix("s"))
    name = _DETECTORS.get(detector, detector)
    if rest and not rest[0].isdigit():
        return f"{name} {' '.join(rest)} {singular}"
    return " ".join([name, singular, *rest])


def _natural(part: str) -> tuple[int, str]:
    return (int(part), "") if part.isdigit() else (-1, part)


def _field(first: Subject, second: Subject) -> Iterator[str]:
    one, two = (subject.manifest.inputs.get("field source") for subject in (first, second))
    if one != two:
        yield _other_file("field source", first, second)


def _configuration(first: Subject, second: Subject) -> Iterator[str]:
    one, two = (subject.manifest.configuration for subject in (first, second))
    if one is None or two is None:
        if one is not two:
            yield "only one of the two keeps its configuration"
        return
    # Files are compared by their contents, and forms as code.
    others = {*FILES.values(), "forms"}
    keys = [key for key in changed(one, two) if key not in others]
    yield from (f"{key} {one[key]} → {two[key]}" for key in keys if key in one and key in two)
    # Keys that an older or newer version of parkf does not have are one difference.
    for subject, own, other in ((first, one, two), (second, two, one)):
        unknown = [f"{key} {other[key]}" for key in keys if key not in own]
        if unknown:
            more = f" and {len(unknown) - MOST} more" if len(unknown) > MOST else ""
            yield f"{subject.name} does not have {', '.join(unknown[:MOST])}{more}"


def _code(first: Subject, second: Subject) -> Iterator[str]:
    one, two = first.manifest, second.manifest
    if one.forms != two.forms:
        yield f"forms {one.forms} → {two.forms}"
    elif steps := changed(one.steps, two.steps):
        yield f"formulas of {', '.join(steps)}"
    if one.code_version != two.code_version:
        yield f"parkf {one.code_version} → {two.code_version}"
    before, after = one.inputs.get("code"), two.inputs.get("code")
    if before != after:
        yield f"sources of the training ({_short(before)} → {_short(after)}{_commits(first, second)})"


def _commits(first: Subject, second: Subject) -> str:
    one, two = ((subject.identity or {}).get("commit") for subject in (first, second))
    return f", commits {one} → {two}" if one and two and one != two else ""


def _seeds(first: Subject, second: Subject) -> Iterator[str]:
    one, two = (subject.manifest.seeds.get("run") for subject in (first, second))
    configured = [(subject.manifest.configuration or {}).get("seed") for subject in (first, second)]
    if one != two and configured[0] == configured[1]:
        yield f"{one} → {two}"


def _derived(first: Subject, second: Subject) -> Iterator[str]:
    names = [name for name in changed(first.manifest.inputs, second.manifest.inputs) if _DERIVED.match(name)]
    if names:
        yield f"{', '.join(names)} differ, though nothing that they are made from does"


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
