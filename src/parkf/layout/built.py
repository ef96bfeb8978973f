"""The layouts that the installed kernel was built with, and how the build writes them."""

import json
from dataclasses import asdict
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from parkf.choices import FormsName
from parkf.errors import ParkfError
from parkf.layout.blocks import Block, Column, Layout
from parkf.layout.magnet import Piece

LAYOUT_FILE = "layout.json"


def layout_text(layout: Layout) -> str:
    """JSON of a layout, as it lies beside the headers that were generated with it."""
    return json.dumps(asdict(layout), ensure_ascii=False)


def read_layout(path: Path) -> Layout:
    """Read what :func:`layout_text` wrote."""
    content = json.loads(path.read_text())
    blocks = (
        Block(block["name"], tuple(block["sets"]), tuple(Column(*column) for column in block["columns"]))
        for block in content.pop("blocks")
    )
    pieces = (Piece(*piece) for piece in content.pop("pieces"))
    return Layout(**content, blocks=tuple(blocks), pieces=tuple(pieces))


@cache
def layout_of(forms: FormsName) -> Layout:
    """Layout of a set of forms, as of the installed kernel.

    Raises
    ------
    ParkfError
        When the kernel is not installed, or was built before it wrote down its layout.
    """
    kernel = find_spec("parkf._fitter")
    path = None if kernel is None or kernel.origin is None else Path(kernel.origin).parent / "kernel" / forms
    if path is None or not (path / LAYOUT_FILE).is_file():
        raise ParkfError("the compiled kernel is missing or has no layout; run `make build`")
    return read_layout(path / LAYOUT_FILE)
