"""Every damaged or mistaken geometry file is noticed, and a message of one line names its fault."""

import geometry_mutilations


def test_the_table_of_mutilations_is_what_happens():
    """Refresh with: python tests/imports/geometry_mutilations.py."""
    page = geometry_mutilations.page()
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("| ")][1:]
    assert len(rows) >= 60
    for _, what, verdict, message in rows:
        assert verdict in ("refused", "doubtful"), what
        assert 20 < len(message) < 400, message
        assert "Traceback" not in message
    assert page == geometry_mutilations.TABLE.read_text()
