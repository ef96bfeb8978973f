"""The report of a run in a browser is complete and accessible, and everything that can be clicked works."""

import importlib.util
import re
import shutil
from pathlib import Path

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
# One page of each kind, because axe needs a second for each page.
LOOKED_AT = ("index", "compare", "UTTF", "kinds")
PHONE, SCREEN, PAPER = (390, 844), (1280, 900), (703, 1030)  # 703: A4 less its margins, at 96 pixels an inch


@pytest.fixture(scope="module")
def report(finished):
    return finished.folder / "results/smoke/report"


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine: pages were not opened")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield opened
        opened.close()


@pytest.fixture
def tab(browser):
    """A tab that records its errors."""
    context = browser.new_context(viewport={"width": SCREEN[0], "height": SCREEN[1]})
    page = context.new_page()
    page.problems = []
    page.on("console", lambda said: page.problems.append(said.text) if said.type != "log" else None)
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.on("requestfailed", lambda request: page.problems.append(request.url))
    yield page
    context.close()


def open_page(tab, path, size=SCREEN):
    tab.set_viewport_size({"width": size[0], "height": size[1]})
    tab.goto(Path(path).absolute().as_uri())


def axe_source():
    found = importlib.util.find_spec("axe_playwright_python")
    return None if found is None else (Path(found.origin).parent / "axe.min.js").read_text()


def serious(tab):
    """The faults that axe finds on a page, without trifles. axe must be loaded."""
    found = tab.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    return [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] != "minor"]


def test_every_link_and_anchor_leads_somewhere(report):
    pages = {path.name: path.read_text() for path in report.glob("*.html")}
    assert len(pages) == 12
    for name, text in pages.items():
        assert len(text) < 1_000_000, name
        for link in set(re.findall(r'(?:href|src)="([^"]*)"', text)) - {"data:,"}:
            file, _, anchor = link.partition("#")
            assert ":" not in file, f"{name}: {link} needs a network"
            assert (report / file).exists() or not file, f"{name}: {link}"
            if anchor:
                assert f'id="{anchor}"' in pages[file or name], f"{name}: {link}"
        anchors = re.findall(r' id="([^"]*)"', text)
        assert len(anchors) == len(set(anchors)), name
    assert sum(path.stat().st_size for path in report.rglob("*") if path.is_file()) < 10_000_000


def test_pages_open_without_an_error_on_a_phone_and_on_paper(report, tab):
    for path in sorted(report.glob("*.html")):
        open_page(tab, path, PHONE)
        assert tab.evaluate("document.documentElement.scrollWidth") <= PHONE[0], path.name
        tab.emulate_media(media="print")
        tab.set_viewport_size({"width": PAPER[0], "height": PAPER[1]})
        tab.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
        assert tab.evaluate("document.documentElement.scrollWidth") <= PAPER[0], f"{path.name}: cut on paper"
        tab.emulate_media(media="screen")
        assert tab.problems == [], path.name


@pytest.mark.parametrize(("scheme", "names"), [("light", LOOKED_AT), ("dark", ("compare", "UTTF"))])
def test_axe_finds_nothing_serious_or_moderate(report, tab, scheme, names):
    source = axe_source()
    if source is None:
        pytest.skip("axe-core is not installed: not looked at")
    tab.emulate_media(color_scheme=scheme)
    for name in names:
        open_page(tab, report / f"{name}.html")
        tab.evaluate(source)
        assert serious(tab) == [], name


def test_tables_sort_filter_and_leave_as_csv(report, tab):
    open_page(tab, report / "UTTF.html")
    rows = tab.locator("table.data tbody tr")
    everything = rows.count()
    head = tab.locator("th", has_text=re.compile("^value$"))
    place = [cell.text_content() for cell in tab.locator("table.data th").all()].index("value")
    values = (
        "[...document.querySelectorAll('table.data tbody tr')]"
        f".map((row) => parseFloat(row.cells[{place}].textContent))"
    )
    head.locator("button").click()
    rising = tab.evaluate(values)
    assert rising == sorted(rising)
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    assert tab.evaluate(values)[0] == max(rising)
    tab.get_by_label("Filter rows").fill("noise")
    assert 0 < tab.locator("table.data tbody tr:visible").count() < everything
    with tab.expect_download() as saved:
        tab.locator("#set-forward").get_by_role("button", name="CSV", exact=True).click()
    lines = Path(saved.value.path()).read_text().splitlines()
    assert len(lines) == 1 + tab.locator("table.data tbody tr:visible").count()


def test_figures_are_drawn_and_can_be_zoomed(report, tab):
    open_page(tab, report / "index.html")
    plot = tab.locator(".plot[data-name=momentum]")
    plot.scroll_into_view_if_needed()
    plot.locator("svg.main-svg").first.wait_for()
    # The axis in p is logarithmic: positions are powers of ten.
    axis = "(plot) => [plot.layout.xaxis.type, ...plot._fullLayout.xaxis.range]"
    kind, low, high = plot.evaluate(axis)
    assert (kind, low < 1 < high < 3) == ("log", True)
    assert plot.evaluate("(plot) => plot._fullLayout.yaxis.range[0]") == 0, "widths begin at zero"
    # Dragging over a part of the axis shows this part alone.
    box = plot.locator(".draglayer .nsewdrag").first.bounding_box()
    middle = box["y"] + box["height"] / 2
    tab.mouse.move(box["x"] + 0.25 * box["width"], middle)
    tab.mouse.down()
    tab.mouse.move(box["x"] + 0.5 * box["width"], middle, steps=4)
    tab.mouse.up()
    _, near, far = plot.evaluate(axis)
    assert far - near == pytest.approx((high - low) / 4, rel=0.05)
    with tab.expect_download() as saved:
        plot.hover()
        plot.locator("[data-title='Save the numbers as CSV']").click()
    head, first, *_ = Path(saved.value.path()).read_text().splitlines()
    columns = '"quantity","series","against","at","from","to","value","error"'
    assert (head, "ParKF (smoother)" in first) == (columns, True)
    assert tab.problems == []


def test_one_of_many_sets_is_shown_and_print_has_all(report, tab):
    open_page(tab, report / "T.html")
    sets = tab.locator(".choice > details")
    assert sets.count() > 3
    shown = tab.locator(".choice > details:visible")
    assert shown.count() == 1
    assert shown.locator("table").first.is_visible()
    label = sets.nth(2).get_attribute("data-option")
    tab.locator(".chooser select").select_option(label=label)
    assert [one.get_attribute("data-option") for one in shown.all()] == [label]
    # A link to a set leads there.
    anchor = sets.nth(3).locator("div[id^=set-]").get_attribute("id")
    tab.evaluate(f"location.hash = '{anchor}'")
    tab.wait_for_function(f"document.getElementById('{anchor}').checkVisibility()")
    tab.emulate_media(media="print")
    assert shown.count() == sets.count()
    # Maps of the magnet table are shown for one momentum at a time.
    tab.emulate_media(media="screen")
    open_page(tab, report / "index.html")
    maps = tab.locator(".choice > figure:visible")
    first = maps.get_attribute("data-option")
    tab.locator(".chooser select").select_option(index=2)
    assert maps.count() == 1
    assert maps.get_attribute("data-option") != first
    assert tab.problems == []


def test_text_and_tables_are_there_without_javascript(report, browser):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((report / "index.html").absolute().as_uri())
    assert page.locator("table.data:visible").count()
    assert page.locator("nav.side a[href='compare.html']").is_visible()
    page.locator("summary", has_text="all met with more room").click()
    assert page.locator("details[open] table").first.is_visible()
    context.close()
