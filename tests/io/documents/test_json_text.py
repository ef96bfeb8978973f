import pytest

from parkf.io.documents import json_text
from parkf.io.documents.position import DocumentError


@pytest.mark.parametrize(
    "text",
    [
        "1e999",
        "-1.5E+400",
        "[1, -1e999]",
        '{"a":\n1e0999}',
        "123456789012345678901",
        '{"a": [0,-123456789012345678901]}',
    ],
)
def test_numbers_that_no_double_holds_are_refused_wherever_they_stand(text):
    with pytest.raises(DocumentError, match="expected"):
        json_text.parse(text)
    assert json_text.parse(text, finite=False) is not None


def test_checksums_are_no_numbers(monkeypatch):
    """Most checksums have an e before three digits, as huge numbers do, but must not slow reading down."""
    monkeypatch.setattr(json_text, "_values", lambda text: pytest.fail("gone through"))
    assert json_text.parse('{"sha256": "0e999123456789012345678901"}')
