"""The bill of materials lists what is locked, and is the same twice; CycloneDX's schema accepts it."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def test_every_locked_package_is_listed_with_its_checksums():
    pytest.importorskip("cyclonedx")
    from tools import sbom

    text = sbom.bill()
    assert text == sbom.bill()
    lock = (ROOT / "requirements.lock").read_text()
    listed = {one["name"]: one for one in json.loads(text)["components"]}
    for name, version in re.findall(r"^([A-Za-z0-9._-]+)==([^ ]+)", lock, re.MULTILINE):
        assert listed.pop(name)["version"] == version
    assert listed.keys() == {"plotly.js-basic-dist-min"}
    assert text.count('"SHA-256"') == lock.count("--hash=sha256:")
