"""The site of `make docs`, opened as files: links and search."""

import shutil

import pytest
from tools import site as tool


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("material", reason="needs pip install 'parkf[docs]'")
    folder = tmp_path_factory.mktemp("site")
    tool.build(folder)
    return folder


def test_no_link_is_broken_in_files(site):
    assert (site / "tutorial.html").is_file()
    assert tool.broken_links(site) == []


def test_a_broken_link_is_found(site, tmp_path):
    (tmp_path / "page.html").write_text(
        '<a href="none.html"> <a href="."> <a href="#none"> <a href="page.html">'
    )
    assert tool.broken_links(tmp_path) == ["page.html: none.html", "page.html: .", "page.html: #none"]


@pytest.mark.parametrize("question", tool.QUESTIONS)
def test_search_finds_the_right_page_first_without_a_server(site, question):
    pytest.importorskip("playwright", reason="needs pip install 'parkf[dev]'")
    titles = tool.search(site, question)
    if titles is None:
        pytest.skip("needs Chromium")
    assert titles[0].startswith(tool.QUESTIONS[question])


def test_a_reader_chooses_among_versions_without_a_server(site, tmp_path):
    playwright = pytest.importorskip("playwright.sync_api", reason="needs pip install 'parkf[dev]'")
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("needs Chromium")
    for version in ("0.9.0", "0.10.0"):
        shutil.copytree(site, tmp_path / version)
    tool.list_versions(tmp_path)
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        tab = browser.new_page(viewport={"width": 1280, "height": 800})
        tab.goto((tmp_path / "index.html").as_uri())
        tab.wait_for_url("**/0.10.0/index.html")
        tab.goto((tmp_path / "0.10.0/how-to/run.html").as_uri())
        chooser = tab.get_by_label("Version of parkf")
        assert chooser.locator("option").all_inner_texts() == ["0.10.0", "0.9.0"]
        assert chooser.input_value() == "0.10.0"
        chooser.select_option("0.9.0")
        tab.wait_for_url("**/0.9.0/how-to/run.html")
        browser.close()
