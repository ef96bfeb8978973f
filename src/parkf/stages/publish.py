"""Stage ``publish``: a run's set in the registry."""

from pathlib import Path

from parkf.io.files import write_json
from parkf.io.terminal import say
from parkf.proof.gates import load_thresholds
from parkf.proof.publishing import publish_run
from parkf.stages.files import AllRead, Made, Read, set_folder

REGISTRY = Path("params")


def publish(*, set: AllRead, figures: AllRead, gates: Read, output: Made) -> None:
    """Publish a set under the next free name, if it meets its gates, as `parkf params publish` does.

    `figures` are the run's, which lie beside the set. The `output` has the version, its path and its digest.
    """
    published = publish_run(set_folder(set), REGISTRY, load_thresholds(gates))
    path = REGISTRY / str(published.manifest.version)
    content = {"version": path.name, "path": str(path), "sha256": published.sha256}
    write_json(output, content)
    say(f"published {path}")
