"""Writes the bill of materials of a release, in CycloneDX 1.6.

Run: nox -s sbom, or python -m tools.sbom --json FILE with cyclonedx-python-lib[json-validation]

It lists the packages of requirements.lock with their checksums, and the code of others that is in the wheel.
The same commit gives the same bytes. A file that CycloneDX's strict schema refuses is not written.
"""

import argparse
import re
import tomllib
from pathlib import Path

from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import DisjunctiveLicense, LicenseExpression
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

from parkf.io.files import replacing

ROOT = Path(__file__).parents[1]
LOCKED = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)((?: \\\n +--hash=sha256:[0-9a-f]{64})+)", re.MULTILINE)


def locked(text: str) -> list[Component]:
    """Read the packages of a lock file; all of its files' checksums go to each package."""
    return [
        Component(
            name=name,
            version=version,
            type=ComponentType.LIBRARY,
            bom_ref=f"{name}@{version}",
            purl=PackageURL("pypi", name=name, version=version),
            hashes=[
                HashType(alg=HashAlgorithm.SHA_256, content=one)
                for one in re.findall("sha256:(.{64})", hashes)
            ],
        )
        for name, version, hashes in LOCKED.findall(text)
    ]


def vendored() -> list[Component]:
    """Name the code of others that is in the wheel."""
    plotly = (ROOT / "src/parkf/report/vendor/plotly-basic.min.js").read_text()[:500]
    found = re.search(r"v([0-9.]+[0-9])", plotly)
    assert found is not None
    return [
        Component(
            name="plotly.js-basic-dist-min",
            version=found[1],
            type=ComponentType.LIBRARY,
            bom_ref="plotly.js",
            purl=PackageURL("npm", name="plotly.js-basic-dist-min", version=found[1]),
            licenses=[DisjunctiveLicense(id="MIT")],
        ),
    ]


def bill() -> str:
    """Return the bill of materials as JSON; one that the schema refuses raises a ValueError."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    root = Component(
        name=project["name"],
        version=project["version"],
        type=ComponentType.LIBRARY,
        bom_ref="parkf",
        licenses=[LicenseExpression(project["license"])],
    )
    parts = [*locked((ROOT / "requirements.lock").read_text()), *vendored()]
    bom = Bom(components=parts, metadata=BomMetaData(component=root))
    bom.register_dependency(root, parts)
    # The same commit gives the same bytes.
    bom.metadata.timestamp = None  # type: ignore[assignment]
    bom.serial_number = None  # type: ignore[assignment]
    text = JsonV1Dot6(bom).output_as_string(indent=1) + "\n"
    if problem := JsonStrictValidator(SchemaVersion.V1_6).validate_str(text):
        raise ValueError(f"the bill of materials is not CycloneDX 1.6: {problem}")
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, required=True, help="takes the bill")
    options = parser.parse_args()
    with replacing(options.json) as temporary:
        temporary.write_text(bill())
    print(f"written {options.json}: {options.json.read_text().count('bom-ref') - 1} components")


if __name__ == "__main__":
    main()
