"""Makes the crate of each published set twice, and asks public validators whether they accept it.

Run: nox -s crates, or python -m tools.crates --json FILE with roc-validator, rocrate and in-toto-attestation

The crate is validated as a Workflow Run RO-Crate with all that the profile requires and recommends, and the
provenance as an in-toto statement with SLSA's predicate. Then ten mistakes are made in the newest crate: the
validators or the log must refuse each.
"""

import json
from importlib.metadata import distribution
from pathlib import Path

from parkf.params.provenance import PREDICATE

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
    return [f"{one.severity.name}: {one.message}" for one in validate(settings).get_issues()]


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
