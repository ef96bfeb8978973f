"""The layouts that the installed kernel was built with: today's, and those of published sets."""

from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from parkf.io.errors import ParkfError
from parkf.io.files import read_json
from parkf.io.option_types import FormsName
from parkf.model.layout.blocks import Block, Column, Layout, Piece

# Beside the generated headers: a layout and its formulas, as parkf.model.steps.frozen writes them.
LAYOUT_FILE = "layout.json"


def layout_in(content: Mapping[str, Any]) -> Layout:
    """Read the layout from the content of a layout file."""
    fields = dict(content["layout"])
    blocks = tuple(
        Block(block["name"], tuple(block["sets"]), tuple(Column(*column) for column in block["columns"]))
        for block in fields.pop("blocks")
    )
    pieces = tuple(Piece(*piece) for piece in fields.pop("pieces"))
    found = fields.pop("steps")
    # JSON files are sorted by name, so restore the order of the steps.
    steps = {block.name: found[block.name] for block in blocks if block.name in found}
    return Layout(**fields, steps=steps, blocks=blocks, pieces=pieces)


def layout_files(forms: FormsName) -> list[Path]:
    """Return the files of all layouts of a set of forms in the installed kernel, today's first.

    A ParkfError reports a kernel that is not installed, or that was built without a layout file.
    """
    kernel = find_spec("parkf._fitter")
    folder = Path(kernel.origin).parent / "kernel" if kernel and kernel.origin else None
    if folder is None or not (folder / forms / LAYOUT_FILE).is_file():
        raise ParkfError("the compiled kernel is missing or has no layout; run `make build`")
    return [folder / forms / LAYOUT_FILE, *sorted(folder.glob(f"{forms}_*/{LAYOUT_FILE}"))]


@cache
def layouts_of(forms: FormsName) -> dict[int, Layout]:
    """Read the layouts of :func:`layout_files`, by version, today's first."""
    found = [layout_in(read_json(path)) for path in layout_files(forms)]
    return {layout.layout_version: layout for layout in found}


def layout_of(forms: FormsName) -> Layout:
    """Read today's layout of a set of forms from the installed kernel."""
    return next(iter(layouts_of(forms).values()))
