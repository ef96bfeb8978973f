"""Opens all pages of reports at two sizes, light and dark, and takes pictures; finds faults with axe.

A page that is wider than its window has a fault, too.

    python benchmarks/pages.py results/default/report results/forms --pictures results/pictures

Needs Chromium, and Playwright and axe from the extra `dev`. The table goes to benchmarks/results/pages.json.
"""

import argparse
import importlib.util
import json
import shutil
import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

OUTPUT = Path(__file__).parent / "results/pages.json"
SIZES = {1280: 900, 390: 844}
MODES = ("light", "dark")
# Chromium draws no higher pictures.
HIGHEST = 12000


def main() -> None:
    """Look at every page, print a line for each, and exit with 1 if any has a fault."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, help="folders of pages")
    parser.add_argument("--pictures", type=Path, required=True, help="folder for the pictures")
    parser.add_argument(
        "--names", nargs="*", default=["*"], help="patterns of the pages' names; all by default"
    )
    given = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    found = importlib.util.find_spec("axe_playwright_python")
    if chromium is None or found is None or found.origin is None:
        sys.exit("Chromium or axe is not on this machine: install chromium, and axe-playwright-python")
    axe = (Path(found.origin).parent / "axe.min.js").read_text()
    given.pictures.mkdir(parents=True, exist_ok=True)
    rows = []
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for mode in MODES:
            for width, height in SIZES.items():
                context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=mode)
                tab = context.new_page()
                for folder in given.folders:
                    for path in sorted(
                        {path for name in given.names for path in folder.glob(f"{name}.html")}
                    ):
                        row = {"report": folder.as_posix(), "page": path.name, "width": width, "mode": mode}
                        row |= look(tab, path, axe, given.pictures, f"{width}-{mode}")
                        print(json.dumps(row, ensure_ascii=False), flush=True)
                        rows.append(row)
                context.close()
        browser.close()
    faults = [row for row in rows if row["axe"] or row["too_wide_px"] or row["errors"]]
    OUTPUT.write_text(
        json.dumps({"looks": len(rows), "with_faults": len(faults), "pages": rows}, indent=1) + "\n"
    )
    print(f"{len(rows)} looks, {len(faults)} with faults")
    sys.exit(1 if faults else 0)


def look(tab: Page, path: Path, axe: str, pictures: Path, name: str) -> dict[str, object]:
    """Open a page, save its picture, and return its faults."""
    errors: list[str] = []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.goto(path.absolute().as_uri())
    size = tab.viewport_size or {"width": 0, "height": 0}
    wide = tab.evaluate("document.documentElement.scrollWidth") - size["width"]
    high = tab.evaluate("document.documentElement.scrollHeight")
    tab.screenshot(
        path=pictures / f"{path.parent.parent.name}-{path.stem}-{name}.png",
        full_page=True,
        clip={"x": 0, "y": 0, "width": size["width"], "height": min(high, HIGHEST)},
    )
    tab.evaluate(axe)
    violations = tab.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    serious = [
        f"{one['id']}: {one['nodes'][0]['html'][:120]}" for one in violations if one["impact"] != "minor"
    ]
    return {"axe": serious, "too_wide_px": max(wide, 0), "errors": errors}


if __name__ == "__main__":
    main()
