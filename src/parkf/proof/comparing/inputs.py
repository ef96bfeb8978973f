"""Differences of two sets in inputs and code: only the causes, without their consequences."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from parkf.io.documents.document import read_document
from parkf.io.errors import few
from parkf.io.fingerprints.meaning import is_file_of
from parkf.params.comparison import changed
from parkf.proof.comparing.documents import FILES, KEPT, file_name
from parkf.proof.comparing.subject import Subject

# Longer lists of differences are cut.
MOST = 8
_AXES = {
    **{axis: (f"mm in {axis}", 1.0) for axis in "xyz"},
    **{f"r{axis}": (f"mrad about {axis}", 1e3) for axis in "xyz"},
}
_DETECTORS = {"velo": "VELO", "ut": "UT", "scifi": "SciFi"}
# Inputs that are made from other inputs, and differ if those differ.
_DERIVED = re.compile(r"dataset |closure tracks |start |table$|closed table$|field$")
_Leaf = tuple[str, ...]


@dataclass(frozen=True)
class InputDifference:
    """One difference in inputs or code, from the first to the second."""

    what: str  # geometry, alignment, field, configuration, code, seed or inputs
    text: str

    def __str__(self) -> str:
        return f"{self.what}: {self.text}"


def input_differences(first: Subject, second: Subject) -> list[InputDifference]:
    """List the differences, from the first to the second; empty where inputs and code are the same."""
    one, two = first.manifest, second.manifest
    causes = {kind: list(_file(kind, first, second)) for kind in KEPT}
    if one.inputs.get("field source") != two.inputs.get("field source"):
        causes["field"] = [_other_file("field source", first, second)]
    causes["configuration"] = list(_configuration(first, second))
    causes["code"] = list(_code(first, second))
    seeds = [manifest.seeds.get("run") for manifest in (one, two)]
    configured = [(manifest.configuration or {}).get("seed") for manifest in (one, two)]
    if seeds[0] != seeds[1] and configured[0] == configured[1]:
        causes["seed"] = [f"{seeds[0]} → {seeds[1]}"]
    derived = [name for name in changed(one.inputs, two.inputs) if _DERIVED.match(name)]
    if derived and not any(causes.values()):
        causes["inputs"] = [f"{', '.join(derived)} differ, though nothing that they are made from does"]
    return [InputDifference(what, text) for what, texts in causes.items() for text in texts]


def _file(kind: str, first: Subject, second: Subject) -> Iterator[str]:
    """Yield the differences of two files' contents, or of their names if a file is not available."""
    one, two = (subject.manifest.inputs.get(kind) for subject in (first, second))
    if one == two:
        return
    paths = [subject.document(kind) for subject in (first, second)]
    if one and two and any(path and is_file_of(path, one) and is_file_of(path, two) for path in paths):
        return
    if None in paths:
        yield _other_file(kind, first, second)
        return
    before, after = (read_document(path).content for path in paths if path is not None)
    if kind == "geometry":
        texts, entries = _entries(before, after), "entries"
    else:
        texts, entries = displacements(before, after), "displacements"
        tags = [document.get("tag") for document in (before, after)]
        other_tag = f"tag {tags[0]} → {tags[1]}" if tags[0] != tags[1] else ""
        texts = texts or [other_tag or "the same displacements, written otherwise"]
    yield from texts[:MOST]
    if len(texts) > MOST:
        yield f"and {len(texts) - MOST} more {entries}"


def _other_file(kind: str, first: Subject, second: Subject) -> str:
    names = [
        f"{file_name(kind, subject.manifest) or 'a file'} ({_short(subject.manifest.inputs.get(kind))})"
        + ("" if subject.document(kind) else ", not at hand")
        for subject in (first, second)
    ]
    return f"another file: {names[0]} → {names[1]}"


def _entries(one: Any, two: Any) -> list[str]:
    before, after = ({".".join(key): value for key, value in _leaves(content)} for content in (one, two))
    keys = changed(before, after)
    # A tag by itself has no effect.
    physical = [key for key in keys if key != "tag"] or keys
    texts = [f"{key} {_value(before.get(key))} → {_value(after.get(key))}" for key in physical]
    return texts or ["the same entries, written otherwise"]


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
            # Layer 10 follows layer 9.
            order = [(int(part), "") if part.isdigit() else (-1, part) for part in key]
            found.append((order, f"{_element(key[:-1])} {change:+.4g} {unit}".replace("-", "−")))
    return [text for _, text in sorted(found)]


def _element(key: _Leaf) -> str:
    """Name an element: scifi_layers, 3 is SciFi layer 3; velo_halves, left is VELO left half."""
    group, *rest = key
    detector, _, kind = group.partition("_")
    singular = {"halves": "half"}.get(kind, kind.removesuffix("s"))
    name = _DETECTORS.get(detector, detector)
    if rest and not rest[0].isdigit():
        return f"{name} {' '.join(rest)} {singular}"
    return " ".join([name, singular, *rest])


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
    # All keys that another version of parkf does not have are listed as one difference.
    for subject, own, other in ((first, one, two), (second, two, one)):
        unknown = [f"{key} {other[key]}" for key in keys if key not in own]
        if unknown:
            yield f"{subject.name} does not have {few(unknown, MOST, longest=120)}"


def _code(first: Subject, second: Subject) -> Iterator[str]:
    one, two = first.manifest, second.manifest
    if one.forms != two.forms:
        yield f"forms {one.forms} → {two.forms}"
    elif steps := changed(one.steps, two.steps):
        yield f"formulas of {', '.join(steps)}"
    if one.code_version != two.code_version:
        yield f"parkf {one.code_version} → {two.code_version}"
    sources = [manifest.inputs.get("code") for manifest in (one, two)]
    if sources[0] != sources[1]:
        commits = [(subject.identity or {}).get("commit") for subject in (first, second)]
        told = f", commits {commits[0]} → {commits[1]}" if all(commits) and commits[0] != commits[1] else ""
        yield f"sources of the training ({_short(sources[0])} → {_short(sources[1])}{told})"


def _leaves(content: Any, key: _Leaf = ()) -> Iterator[tuple[_Leaf, Any]]:
    if isinstance(content, Mapping | list):
        for name, inner in content.items() if isinstance(content, Mapping) else enumerate(content):
            yield from _leaves(inner, (*key, str(name)))
    else:
        yield key, content


def _value(value: Any) -> str:
    return "none" if value is None else json.dumps(value, ensure_ascii=False)


def _short(fingerprint: str | None) -> str:
    return "none" if fingerprint is None else fingerprint[:8]
