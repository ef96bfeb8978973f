"""The library that draws figures is the published one, byte for byte."""

import hashlib
import re
from pathlib import Path

import parkf.report

VENDOR = Path(parkf.report.__file__).parent / "vendor"


def test_the_library_has_the_digest_of_its_page():
    (stated,) = re.findall(r"`([0-9a-f]{64})`", (VENDOR / "README.md").read_text())
    assert hashlib.sha256((VENDOR / "plotly-basic.min.js").read_bytes()).hexdigest() == stated
