"""One C++17 header without dependencies, for other fitters: it loads a set and runs the kernel."""

import json
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from parkf import __version__
from parkf.fit.source import KERNEL_FOLDER, expanded, text_in
from parkf.io.files import read_json
from parkf.io.option_types import FORMS_NAMES
from parkf.model.layout.built import layout_files, layout_in
from parkf.params import electron
from parkf.params.log import Entry
from parkf.params.manifest import CHECKED_FORMAT, FORMAT_VERSION, OLDEST_FORMAT, json_schema
from parkf.params.slices import VERSION

_HERE = Path(__file__).parent
_FOLDERS = (_HERE, KERNEL_FOLDER)
# Headers that all sets of forms have in common, and names of those in `fit` that include formulas.
_COMMON = ("numbers/number.hpp", "numbers/lanes.hpp", "fit.hpp")
_OWN = ("smoother", "fit_kind", "trigger", "score", "magnet_lanes", "slices_lanes", "magnet_block")
# Compilers limit the length of a string.
_PIECE = 8000
_DESCRIPTIONS = frozenset({"title", "description", "$schema"})


def cpp_header() -> str:
    """Return the header for all sets of forms of the installed kernel, also of old layouts."""
    # The kernel's names for sets of forms are the names of its folders.
    kernel = {
        path.parent.name: layout_in(read_json(path)) for name in FORMS_NAMES for path in layout_files(name)
    }
    shared: set[str] = set()
    common = {file: expanded(file, _FOLDERS, shared) for file in _COMMON}
    own = {}
    for name in kernel:
        # Code of a set of forms is in its namespace, and appears once for each set.
        seen, folders = set(shared), (*_FOLDERS, KERNEL_FOLDER / name)
        own[name] = {part: expanded(f"fit/{part}.hpp", folders, seen) for part in _OWN}
        shared |= {file for file in seen if "PARKF_FORMS" not in text_in(folders, file)}
    schemas = {"schema_text": json_schema(), "entry_schema_text": Entry.model_json_schema()}
    templates = Environment(loader=FileSystemLoader(_HERE), undefined=StrictUndefined, trim_blocks=True)
    text = templates.get_template("header.hpp.jinja").render(
        version=__version__,
        format_version=FORMAT_VERSION,
        oldest_format=OLDEST_FORMAT,
        checked_format=CHECKED_FORMAT,
        slices_version=VERSION,
        electron_version=electron.VERSION,
        kernel=kernel,
        common=common,
        own=own,
        schemas={name: _pieces(schema) for name, schema in schemas.items()},
    )
    return text + "\n"


def _pieces(schema: dict[str, Any]) -> list[str]:
    text = json.dumps(_bare(schema), separators=(",", ":"))
    return [text[begin : begin + _PIECE] for begin in range(0, len(text), _PIECE)]


def _bare(schema: Any) -> Any:
    """Remove descriptions from a schema, but no property that has such a name."""
    if isinstance(schema, list):
        return [_bare(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    named = ("properties", "$defs")
    return {
        key: {name: _bare(one) for name, one in value.items()} if key in named else _bare(value)
        for key, value in schema.items()
        if key not in _DESCRIPTIONS
    }
