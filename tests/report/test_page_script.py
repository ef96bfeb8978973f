"""What the script of a page does: tables as CSV files with one number in a cell."""

import csv
import shutil
from pathlib import Path

import pytest

from parkf.report.site import write_page
from parkf.report.tables import Cells

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def tab(tmp_path_factory):
    playwright = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine: the page was not opened")
    page = tmp_path_factory.mktemp("pages") / "slices.html"
    fates = Cells(
        ["bin", "bias", "tracks"], [["3–5", "+0.400 ± 0.010 (3–5 GeV)", "1,270"], ["5–9", "−0.1", "8"]]
    )
    write_page(page, "slices.html", fates=fates, slices={})
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page_of_it = opened.new_page()
        page_of_it.goto(page.as_uri())
        yield page_of_it
        opened.close()


def test_a_number_its_error_and_its_bin_have_columns_of_their_own(tab):
    with tab.expect_download() as saved:
        tab.get_by_text("CSV", exact=True).click()
    assert [*csv.reader(Path(saved.value.path()).read_text().splitlines())] == [
        ["bin", "bias", "bias, error", "bias, bin", "tracks"],
        ["3–5", "0.400", "0.010", "3–5 GeV", "1270"],
        ["5–9", "-0.1", "", "", "8"],
    ]
