"""Builds the pages of docs/, and measures what a reader of the files finds: links, search, lengths.

    python -m tools.site --into build/site
    python -m tools.site [--json benchmarks/results/site.json]

The first writes the site of this version into a folder, beside those of other versions. The second prints a
row for each figure. Search is tried in Chromium, from ``file://``, where there is one.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from packaging.version import Version

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
MOST_WORDS = 1500
"""Longest page that is neither a reference nor a record of a decision, in words."""
MOST_IN_PERFORMANCE = 600
QUESTIONS = {
    "how long does a run take": "Run a training",
    "number of layers": "Your own geometry and alignment",
    "resume": "Run a training",
    "GPU": "Speed, GPU and memory",
    "conda": "Install",
    "docker": "Install",
    "column map": "Step datasets: the column map",
    "alignment": "New parameters after an alignment",
    "withdraw a set": "Publish, export or withdraw a set",
    "C++": "Use a set from C++ or CUDA",
}
"""What newcomers look for, and how the title of the page begins that the search should name first."""
_LINK = re.compile(r'<(?:a|img|link|script)\b[^>]*?\s(?:href|src)="([^"]*)"')
_PLACE = re.compile(r'\s(?:id|name)="([^"]+)"')


def build(folder: Path) -> None:
    """Build the site into a folder; a broken link in a page raises CalledProcessError."""
    command = ("-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder))
    subprocess.run(
        [sys.executable, *command], cwd=ROOT, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, check=True
    )


def add_version(root: Path) -> None:
    """Build the site of this version into a folder of sites, and list all versions that are there."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    root.mkdir(parents=True, exist_ok=True)
    build(root / version)
    list_versions(root)


def list_versions(root: Path) -> None:
    """Write the list that pages choose from, and a head page that leads to the newest version."""
    found = sorted((page.parent.name for page in root.glob("*/index.html")), key=Version, reverse=True)
    (root / "versions.js").write_text(f"window.parkfVersions = {json.dumps(found)};\n", "utf-8")
    (root / "index.html").write_text(
        f'<!doctype html><meta charset="utf-8"><title>parkf</title>'
        f'<meta http-equiv="refresh" content="0; url={found[0]}/index.html">'
        f'<a href="{found[0]}/index.html">parkf {found[0]}</a>\n'
    )


def broken_links(site: Path) -> list[str]:
    """List links of the built pages that lead to no file, to a folder or to no place in a page."""
    pages = {
        page: page.read_text("utf-8") for page in sorted(site.rglob("*.html")) if page.name != "404.html"
    }
    places = {page: set(_PLACE.findall(text)) for page, text in pages.items()}
    broken = []
    for page, text in pages.items():
        for link in _LINK.findall(text):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            place = unquote(parts.fragment)
            if not target.is_file() or (
                target in places and place and place not in places[target] | {"__top"}
            ):
                broken.append(f"{page.relative_to(site)}: {link}")
    return broken


def search(site: Path, query: str) -> list[str] | None:
    """Return the titles that the site's search finds in Chromium, without a server; None without Chromium."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        return None
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        tab = browser.new_page(viewport={"width": 1280, "height": 800})
        tab.goto((site / "index.html").as_uri())
        # A key opens the search, as the button does; its script begins when the page is loaded.
        tab.wait_for_load_state("networkidle")
        tab.keyboard.press("/")
        tab.keyboard.type(query)
        tab.wait_for_selector(".md-search-result__item h1", state="attached", timeout=120_000)
        titles = tab.locator(".md-search-result__item h1").all_inner_texts()
        browser.close()
    return titles


def words(page: Path) -> int:
    """Count the words of a page as ``wc -w`` does: what is between blanks, with the bars of tables."""
    return len(page.read_text("utf-8").split())


def lengths() -> dict[str, int]:
    """Words of each page that is neither a reference nor a record of a decision."""
    names = [page.relative_to(DOCS) for page in sorted(DOCS.rglob("*.md"))]
    return {
        str(name): words(DOCS / name) for name in names if name.parts[0] not in ("reference", "decisions")
    }


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--into", type=Path)
    given = parser.parse_args()
    if given.into:
        add_version(given.into)
        return
    to = given.json
    counted = lengths()
    longest = max(counted, key=lambda name: counted[name])
    with tempfile.TemporaryDirectory() as name:
        site = Path(name).resolve()
        build(site)
        broken, first = broken_links(site), {one: (search(site, one) or [""])[0] for one in QUESTIONS}
        measured: dict[str, Any] = {
            "pages": len(list(site.rglob("*.html"))),
            "broken links": len(broken),
            "questions whose page is found first": sum(
                first[one].startswith(title) for one, title in QUESTIONS.items()
            ),
            "longest page that is no reference": f"{longest}, {counted[longest]} words",
            "pictures of the gallery": len(list((DOCS / "gallery").iterdir())),
        }
    for what, value in measured.items():
        print(f"{what:40}{value}")
    print(*broken, sep="\n")
    if to is not None:
        to.write_text(json.dumps(measured, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
