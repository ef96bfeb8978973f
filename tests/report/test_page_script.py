"""What the script of a page does: tables, maps and figures as CSV files with one number in a cell."""

import csv
import shutil
from pathlib import Path

import pytest

from parkf.report.drawing import Drawn, Panel, Series
from parkf.report.maps import bias_maps
from parkf.report.site import write_page
from parkf.report.tables import Cells, exact

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
TABLE = Cells(
    ["bin", "bias", "tracks"],
    [["3–5", "+0.400 ± 0.010 (3–5 GeV)", "1,270"], ["5–9", exact("−0.1", -0.10042, 0.012), "8"]],
)
CELL = {"eta_min": 2, "eta_max": 3, "plane": "vertical", "p_min": 3, "p_max": 5}
CELL |= {"bias": 0.00123456, "bias_error": 0.0004}
PANELS = [
    Panel("p [GeV]", "core [%]", [Series("a", [4.0], [0.3791234], [0.01], [(3.0, 5.0)])], x_log=True),
    Panel("side", "kept", [Series("b", [1.08], [0.5])], names=["left", "right"]),
]


@pytest.fixture(scope="module")
def tab(tmp_path_factory):
    playwright = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine: the page was not opened")
    page = tmp_path_factory.mktemp("pages") / "page.html"
    maps = {"title": "Fit", "planes": bias_maps([CELL], 0.4, 3), "maps": {}}
    drawn = {"members": TABLE, "matrix": None, "open_gates": [], "drawn": Drawn("drawn", "Drawn", PANELS)}
    write_page(page, "family.html", family="f", **drawn)
    write_page(page.with_name("maps.html"), "directions.html", fits=[maps], errors=3)
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page_of_it = opened.new_page()
        page_of_it.goto(page.as_uri())
        yield page_of_it
        opened.close()


def saved(tab, button):
    """Return the rows of the CSV file that a button saves."""
    with tab.expect_download() as file:
        button.click()
    return [*csv.reader(Path(file.value.path()).read_text().splitlines())]


def test_a_number_its_error_and_its_bin_have_columns_of_their_own_and_all_digits(tab):
    assert saved(tab, tab.get_by_text("CSV", exact=True).first) == [
        ["bin", "bias", "bias, error", "bias, bin", "tracks"],
        ["3–5", "0.400", "0.010", "3–5 GeV", "1270"],
        ["5–9", "-0.10042", "0.012", "", "8"],
    ]


def test_a_map_has_a_line_for_each_cell(tab):
    tab.goto(tab.url.replace("page.html", "maps.html"))
    found = saved(tab, tab.get_by_text("CSV", exact=True))
    tab.go_back()
    assert found == [
        ["momentum", "η", "plane", "bias [%]", "error"],
        ["3–5 GeV", "2–3", "vert.", "0.123456", "0.04"],
    ]


def test_the_numbers_of_a_figure_have_quantities_with_units_and_bins(tab):
    assert saved(tab, tab.locator('[data-title="Save the numbers as CSV"]')) == [
        ["quantity", "series", "against", "at", "from", "to", "value", "error"],
        ["core [%]", "a", "p [GeV]", "4", "3", "5", "0.3791234", "0.01"],
        ["kept", "b", "side", "right", "", "", "0.5", ""],
    ]
