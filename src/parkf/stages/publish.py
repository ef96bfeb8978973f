"""Stage ``publish``: a run's set in the registry."""

from datetime import UTC, datetime
from pathlib import Path

from parkf.io.files import write_json
from parkf.io.terminal import say
from parkf.params.parameter_set import load
from parkf.params.publisher import Publisher
from parkf.proof.comparing.documents import publish_documents
from parkf.proof.gates import hold, load_thresholds
from parkf.proof.trigger_client import client_gates
from parkf.stages.files import AllRead, Made, Read, set_folder

REGISTRY = Path("params")


def publish(*, set: AllRead, figures: AllRead, gates: Read, output: Made) -> None:
    """Publish a set under the next free name, if it meets its gates, as `parkf params publish` does.

    `figures` are the run's, which lie beside the set. The `output` has the version and its path.
    """
    folder, sets = set_folder(set), Publisher(REGISTRY)
    run, numbers = folder.absolute().parent, load(folder)
    held = hold(folder, load_thresholds(gates))
    if numbers.manifest.forms == "production" and (run / "candidates").is_dir():
        before = sets.newest_alike(numbers.manifest)
        held += client_gates(numbers, run, sets.load(before) if before else None)[1]
    version = sets.publish(folder, year=datetime.now(UTC).year, gates=held)
    publish_documents(run, sets.load(version).manifest, REGISTRY)
    write_json(output, {"version": version, "path": str(REGISTRY / version)})
    say(f"published {REGISTRY / version}")
