"""Takes the pictures of a report's pages in docs/report/.

    python docs/screenshots.py results/default

Needs Chromium, and Playwright from the extra `dev`.
"""

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

FOLDER = Path(__file__).parent / "report"
# File name of each page, and the element at which its picture begins.
PICTURES = {"index": "#main", "compare": "#main", "T": "#misfit"}
SIZE = {"width": 1180, "height": 760}


def main(run: Path) -> None:
    """Take a picture of each page of a run's report."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("no Chromium on this machine")
    FOLDER.mkdir(exist_ok=True)
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        tab = browser.new_page(viewport=SIZE)
        for name, anchor in PICTURES.items():
            tab.goto((run / f"report/{name}.html").absolute().as_uri() + anchor)
            tab.screenshot(path=FOLDER / f"{name}.png")
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
