"""A subject of a comparison: a finished run, or a set, published or not."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parkf.io.errors import ParkfError
from parkf.io.files import read_json
from parkf.params.manifest import Gate, Manifest
from parkf.params.parameter_set import MANIFEST_FILE, load
from parkf.params.registry import Registry
from parkf.proof.comparing.documents import file_name, find_document
from parkf.proof.comparing.identity import IDENTITY_FILE
from parkf.proof.gates import Thresholds, hold

# Of a run's folder: another set measured on the run's own candidates.
BESIDE_FILE = "beside.json"


@dataclass(frozen=True)
class Subject:
    """A run or a set.

    Attributes
    ----------
    run : Path or None
        Folder of the run; None for a set alone.
    gates : list of Gate
        Of a run, results with today's thresholds; of a set, those of its publication.
    validation, accuracy, stages, throughput, identity, beside : dict or None
        Contents of the run's JSON files; None without the file.
    borrowed : str or None
        The run on whose tracks a published set's ``validation`` was measured.
    """

    name: str
    run: Path | None
    manifest: Manifest
    gates: list[Gate]
    validation: dict[str, Any] | None = None
    accuracy: dict[str, Any] | None = None
    stages: dict[str, Any] | None = None
    throughput: dict[str, Any] | None = None
    identity: dict[str, Any] | None = None
    beside: dict[str, Any] | None = None
    borrowed: str | None = None

    def file_name(self, kind: str) -> str | None:
        """Return the path of an input when the set was made."""
        return file_name(kind, self.manifest.configuration)

    def document(self, kind: str) -> Path | None:
        """Return the file of an input with the set's fingerprint, where one is at hand."""
        runs = [] if self.run is None else [self.run]
        return find_document(kind, self.manifest.inputs.get(kind), self.file_name(kind), runs)


def load_subject(name: str, thresholds: Thresholds, registry: Registry) -> Subject:
    """Read a run's folder, a set's folder, or a published version.

    Raises
    ------
    ParkfError
        When it is none of these, or a file of it is broken.
    """
    folder = Path(name)
    if (folder / "set" / MANIFEST_FILE).is_file():
        names = {key: f"{key}.json" for key in ("validation", "accuracy", "stages", "throughput")}
        names |= {"identity": IDENTITY_FILE, "beside": BESIDE_FILE}
        files = {
            key: read_json(folder / name) if (folder / name).is_file() else None
            for key, name in names.items()
        }
        if files["validation"] is None or files["accuracy"] is None:
            raise ParkfError(f"{folder}: the run has not ended: no validation.json or accuracy.json")
        manifest, gates = load(folder / "set").manifest, hold(folder / "set", thresholds)
        return Subject(folder.absolute().name, folder, manifest, gates, **files)
    if folder.is_dir() and not (folder / MANIFEST_FILE).is_file():
        raise ParkfError(f"{folder}: neither a run (set/{MANIFEST_FILE}) nor a set ({MANIFEST_FILE})")
    path = registry.find(name)
    manifest = load(path).manifest
    return Subject(manifest.version or path.name, None, manifest, manifest.gates)
