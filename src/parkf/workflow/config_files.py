"""Configurations in layers: a file overrides the keys of the file that it extends."""

import re
from collections.abc import Iterable, Mapping
from functools import reduce
from pathlib import Path
from typing import Any

from parkf.io.documents.document import Document, read_document
from parkf.io.documents.messages import got, nearest
from parkf.io.errors import ParkfError

EXTENDS = "extends"
# Keys that are not inherited: each run has its own name, which is the name of its folder.
_OWN = (EXTENDS, "run")


def merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Merge two nested mappings: lists and single values of the second replace those of the first."""
    result = dict(below)
    for key, value in above.items():
        inner = result.get(key)
        if isinstance(inner, Mapping) and isinstance(value, Mapping):
            value = merged(inner, value)
        result[key] = value
    return result


def laid(layers: Iterable[Document]) -> dict[str, Any]:
    """Merge the contents of documents without the key ``extends``; later documents take precedence."""
    content = reduce(merged, (layer.content for layer in layers), dict[str, Any]())
    return {key: value for key, value in content.items() if key != EXTENDS}


def read_layers(path: Path) -> list[Document]:
    """Read a configuration and those that it extends: the lowest document first, the file itself last.

    With ``extends: default``, a file inherits from ``default.yaml`` in the same folder, except the name of
    the run. A file that is missing, cannot be read, is no mapping or extends itself raises a ParkfError.
    """
    layers = [_mapping(path)]
    while (name := layers[0].content.get(EXTENDS)) is not None:
        where = f"{layers[0].where((EXTENDS,))}: {EXTENDS}"
        below = _named(name, path.parent, where)
        names = [layer.path.stem for layer in reversed(layers)]
        if below.stem in names:
            chain = ", which extends ".join([*names[names.index(below.stem) :], below.stem])
            raise ParkfError(f"{where}: a circle: {chain}")
        layers.insert(0, _mapping(below))
    for layer in layers[:-1]:
        for key in _OWN:
            layer.content.pop(key, None)
    return layers


def extended(config: Mapping[str, Any], folder: Path) -> tuple[dict[str, Any], list[Document]]:
    """Merge a configuration with all that it extends in a folder; return it and these, lowest first.

    `config` has the content of a file and the keys of the command line.
    """
    name = config.get(EXTENDS)
    if name is None:
        return dict(config), []
    where = f"config: {EXTENDS}"
    below = read_layers(_named(name, folder, where))
    for layer in below:
        for key in _OWN:
            layer.content.pop(key, None)
    return merged(laid(below), {key: value for key, value in config.items() if key != EXTENDS}), below


def configurations(folder: Path) -> list[str]:
    """Return the names of the configurations of runs in a folder."""
    files = (file for file in folder.glob("*.yaml") if file.is_file())
    return sorted(file.stem for file in files if re.search("^run:", file.read_text(errors="replace"), re.M))


def _mapping(path: Path) -> Document:
    document = read_document(path)
    if not isinstance(document.content, dict):
        what = got(document.content)
        raise ParkfError(f"{path}: got {what}, expected the keys of a configuration, or extends: default")
    return document


def _named(name: object, folder: Path, where: str) -> Path:
    if not isinstance(name, str):
        raise ParkfError(f"{where}: got {got(name)}, expected the name of a configuration beside it")
    path = folder / f"{name}.yaml"
    # A name must not lead to another folder.
    if path.parent != folder or not path.is_file():
        there = configurations(folder)
        near = nearest(name, there)
        hint = f"did you mean {near}?" if near else f"there are {', '.join(there) or 'none'}"
        raise ParkfError(f"{where}: {name}: no such configuration in {folder}; {hint}")
    return path
