"""Every damaged or mistaken map, tuple or file of hits is noticed, and the message names its fault."""

import re

import import_mutilations


def test_the_table_of_mutilations_is_what_happens():
    """Refresh with: python tests/imports/import_mutilations.py."""
    page = import_mutilations.page()
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("| ")][1:]
    assert len(rows) >= 100
    for _, what, verdict, message in rows:
        assert verdict in ("refused", "doubtful"), what
        assert 20 < len(message) < 400, message
        assert "Traceback" not in message
    # Other processors round figures differently; verdicts and texts must be the same.
    assert words(page) == words(import_mutilations.TABLE.read_text())


def words(page):
    """Rows of the table without measured values, which are the numbers and the evidence in brackets."""
    lines = (re.sub(r" \(.*\)", "", line) for line in page.splitlines())
    return [re.sub(r"[-+]?\d[\d.e+-]*", "#", line) for line in lines]
