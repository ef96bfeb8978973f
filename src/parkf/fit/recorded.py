"""The detector that a table of candidates records, compared with the detector of a parameter set."""

from collections.abc import Mapping

from parkf.fit.mismatch import Mismatch
from parkf.io.fingerprints.detector import FILES, NOMINAL
from parkf.io.fingerprints.meaning import meaning_of
from parkf.params.manifest import Manifest
from parkf.params.registry import readable_registry


def other_detector(recorded: Mapping[str, str], manifest: Manifest) -> list[Mismatch]:
    """Compare the fingerprints that both have; return one mismatch for each that differs."""
    found = []
    for name in FILES:
        theirs, ours = recorded.get(name), manifest.inputs.get(name)
        # Without an alignment file, only hits can show whether elements stand where the set assumes them.
        if theirs is None or ours is None or theirs == NOMINAL:
            continue
        if theirs not in (ours, _meaning(ours)):
            got = f"another {name}: {theirs[:12]}… of the candidates, expected {ours[:12]}… of the set"
            found.append(Mismatch("wrong", got))
    return found


def _meaning(fingerprint: str) -> str:
    """Return the fingerprint of a document's meaning for that of its bytes, which the first sets have."""
    kept = readable_registry().folder / "inputs" / f"{fingerprint}.yaml"
    return meaning_of(kept) if kept.is_file() else fingerprint
