"""Documents that are too large are refused before they are read."""

import pytest

from parkf.io.documents.document import read_text
from parkf.io.errors import ParkfError


def test_a_document_has_at_most_16_mib(tmp_path):
    path = tmp_path / "large.yaml"
    with path.open("wb") as file:
        file.truncate((16 << 20) + 1)
    with pytest.raises(ParkfError, match=r"large\.yaml"):
        read_text(path)
    path.write_text("a: 1\n")
    assert read_text(path) == "a: 1\n"
