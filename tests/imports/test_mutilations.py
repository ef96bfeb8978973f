"""Every damaged or mistaken file is noticed, and the message names its fault; two tables have the messages.

`PARKF_UPDATE=1 pytest tests/imports/test_mutilations.py` writes the tables.
"""

import os
import re

import geometry_mutilations
import import_mutilations
import pytest


@pytest.mark.parametrize(("module", "fewest"), [(geometry_mutilations, 60), (import_mutilations, 70)])
def test_the_table_of_mutilations_is_what_happens(module, fewest):
    page = module.page()
    if os.environ.get("PARKF_UPDATE"):
        module.TABLE.write_text(page)
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("| ")][1:]
    assert len(rows) >= fewest
    for _, what, verdict, message in rows:
        assert verdict in ("refused", "doubtful"), what
        assert 20 < len(message) < 400, message
        assert "Traceback" not in message
    # Other processors round figures differently; verdicts and texts must be the same.
    assert words(page) == words(module.TABLE.read_text())


def words(page):
    """Rows of the table without measured values, which are the numbers and the evidence in brackets."""
    lines = (re.sub(r" \(.*\)", "", line) for line in page.splitlines())
    return [re.sub(r"[-+]?\d[\d.e+-]*", "#", line) for line in lines]
