"""Runs the blocks of docs/gallery.md, and puts their pictures into docs/gallery/.

    python docs/draw_gallery.py

Reads results/default: `make run` makes it.
"""

import re
import tempfile
from contextlib import chdir
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

DOCS = Path(__file__).parent
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)


def main() -> None:
    """Draw every picture of the page."""
    page = (DOCS / "gallery.md").read_text()
    with tempfile.TemporaryDirectory() as name, chdir(name):
        # Blocks read a checkout's folders, and write their pictures to the working folder.
        for folder in ("data", "params", "results"):
            Path(folder).symlink_to(DOCS.parent / folder)
        for block in BLOCK.findall(page):
            exec(compile(block, "gallery.md", "exec"), {})
        (DOCS / "gallery").mkdir(exist_ok=True)
        for picture in Path().glob("*.png"):
            (DOCS / "gallery" / picture.name).write_bytes(picture.read_bytes())


if __name__ == "__main__":
    main()
