"""The site of `make docs`, opened as files: links, search and lengths of pages."""

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


def test_search_works_without_a_server(site):
    pytest.importorskip("playwright", reason="needs pip install 'parkf[dev]'")
    titles = tool.search(site, tool.QUERY)
    if titles is None:
        pytest.skip("needs Chromium")
    assert tool.ANSWER in titles


def test_pages_are_short():
    counted = tool.lengths()
    assert counted["explanation/performance.md"] <= tool.MOST_IN_PERFORMANCE
    assert {name: count for name, count in counted.items() if count > tool.MOST_WORDS} == {}
