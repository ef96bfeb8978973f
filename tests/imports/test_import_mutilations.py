"""No damaged or mistaken map, tuple or file of hits passes unnoticed; the message gives the fault of each."""

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
    """Rows of the table without measured values: evidence in brackets, and numbers."""
    lines = (re.sub(r" \(.*\)", "", line) for line in page.splitlines())
    return [re.sub(r"[-+]?\d[\d.e+-]*", "#", line) for line in lines]
