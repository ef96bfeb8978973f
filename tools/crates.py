"""Makes the crate of each published set twice, and asks public validators whether they accept it.

Run: nox -s crates, or python -m tools.crates --json FILE with roc-validator, rocrate and in-toto-attestation

The crate is validated as a Workflow Run RO-Crate. What the profile requires must be there; what it recommends
and the crate lacks is listed. The provenance is validated as an in-toto statement with SLSA's predicate. Each
file's SHA-256 in the provenance is compared with that in the registry's index.
"""

import argparse
import json
from importlib.metadata import distribution, version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from parkf.params.crate import PROVENANCE_FILE, export_crate
from parkf.params.provenance import PREDICATE
from parkf.params.registry import Registry

ROOT = Path(__file__).parents[1]
PROFILE = "workflow-run-crate"
"""It includes the profiles of RO-Crate, Process Run Crate and Workflow RO-Crate."""
CONTEXT = "https://w3id.org/ro/crate/1.1/context"


def prepare(cache: Path) -> None:
    """Let the validator find RO-Crate's context without a network: the package rocrate has a copy."""
    from requests_cache import CachedSession
    from requests_cache.models import CachedRequest, CachedResponse

    copy = Path(str(distribution("rocrate").locate_file("rocrate/data/ro-crate.jsonld")))
    kind = {"Content-Type": "application/ld+json"}
    with CachedSession(str(cache), backend="sqlite", expire_after=-1) as session:
        request = CachedRequest(method="GET", url=CONTEXT)
        answer = CachedResponse(content=copy.read_bytes(), headers=kind, status_code=200, url=CONTEXT)
        answer.request = request
        for more in ({}, {"Accept": "application/ld+json"}):
            request.headers = more
            session.cache.save_response(answer)


def crate_problems(folder: Path, cache: Path) -> list[str]:
    """Return what roc-validator finds wrong in a crate, with all that is required or recommended."""
    from rocrate_validator.models import Severity, ValidationSettings
    from rocrate_validator.services import validate

    settings = ValidationSettings(
        rocrate_uri=str(folder),
        profile_identifier=PROFILE,
        requirement_severity=Severity.RECOMMENDED,
        cache_path=cache,
        offline=True,
    )
    found = validate(settings).get_issues()
    return sorted({f"{one.severity.name}: {one.message}" for one in found})


def statement_problems(path: Path) -> list[str]:
    """Return what in-toto's own library finds wrong in a provenance."""
    from google.protobuf.json_format import ParseDict, ParseError
    from in_toto_attestation.predicates.provenance.v1.provenance_pb2 import Provenance
    from in_toto_attestation.v1.statement import Statement
    from in_toto_attestation.v1.statement_pb2 import Statement as Fields

    content = json.loads(path.read_text())
    try:
        Statement.copy_from_pb(ParseDict(content, Fields())).validate()
        made = ParseDict(content["predicate"], Provenance())
    except (ParseError, ValueError) as error:
        return [str(error)]
    # The library has no check of what SLSA requires.
    required = {
        "predicateType": content["predicateType"] == PREDICATE,
        "buildType": made.build_definition.build_type,
        "externalParameters": made.build_definition.external_parameters.fields,
        "builder.id": made.run_details.builder.id,
    }
    return [f"{name}: missing" for name, there in required.items() if not there]


def tried(set_name: str, folder: Path, cache: Path) -> dict[str, Any]:
    """Make the crate of a published set twice and validate it."""
    registry = Registry(ROOT / "params")
    path = registry.path(set_name)
    made = []
    for place in ("one", "two"):
        export_crate(path, folder / place)
        made.append({file.name: file.read_bytes() for file in (folder / place).iterdir()})
    problems = crate_problems(folder / "one", cache)
    subjects = json.loads(made[0][PROVENANCE_FILE])["subject"]
    listed = registry.index().sets[set_name].files
    return {
        "set": set_name,
        "files": len(made[0]),
        "same_bytes": made[0] == made[1],
        "required": [one for one in problems if one.startswith("REQUIRED")],
        "recommended": [one for one in problems if not one.startswith("REQUIRED")],
        "provenance": statement_problems(folder / "one" / PROVENANCE_FILE),
        "as_listed": {one["name"]: one["digest"]["sha256"] for one in subjects}.items() <= listed.items(),
    }


def table(outcomes: list[dict[str, Any]]) -> str:
    """Write a row for each set, in Markdown."""
    lines = [
        "| set | same bytes twice | required, missing | recommended, missing | provenance | as listed |",
        "|---|---|---|---|---|---|",
    ]
    for one in outcomes:
        good = "accepted" if not one["provenance"] else "refused"
        missing = f"{len(one['required'])} | {len(one['recommended'])}"
        answers = ["yes" if one[name] else "NO" for name in ("same_bytes", "as_listed")]
        lines.append(f"| {one['set']} | {answers[0]} | {missing} | {good} | {answers[1]} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, required=True, help="takes the outcome")
    options = parser.parse_args()
    outcomes = []
    with TemporaryDirectory(prefix="crates-") as folder:
        cache = Path(folder) / "cache"
        prepare(cache)
        for name in Registry(ROOT / "params").versions():
            outcomes.append(tried(name, Path(folder) / name, cache))
    packages = {name: version(name) for name in ("roc-validator", "in-toto-attestation", "rocrate")}
    content = {"packages": packages, "profile": PROFILE, "sets": outcomes}
    options.json.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    print(table(outcomes))


if __name__ == "__main__":
    main()
