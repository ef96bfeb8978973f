"""A subject of a comparison: a finished run, or a set, published or not."""

import platform
import socket
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from parkf import __version__
from parkf.io.documents.document import read_document
from parkf.io.errors import ParkfError
from parkf.io.files import read_json, sha256
from parkf.io.process_settings import environment
from parkf.params.binary_form import MANIFEST_FILE
from parkf.params.manifest import Gate, Manifest
from parkf.params.parameter_set import load
from parkf.params.registry import Registry
from parkf.proof.comparing.documents import FILES, KEPT, file_name, find_document
from parkf.proof.gates import Thresholds, hold

# Files in a run's folder: its identity, and the figures of another set on the run's own candidates.
IDENTITY_FILE, BESIDE_FILE = "run.json", "beside.json"


@dataclass(frozen=True)
class Subject:
    """A run or a set; the contents of a run's JSON files are None without the file."""

    name: str
    folder: Path  # of the set
    run: Path | None  # the run's folder; None for a set alone
    manifest: Manifest
    gates: list[Gate]  # of a run, results with today's thresholds; of a set, those of its publication
    validation: dict[str, Any] | None = None
    accuracy: dict[str, Any] | None = None
    identity: dict[str, Any] | None = None
    beside: dict[str, Any] | None = None
    borrowed: str | None = None  # the run on whose tracks a published set's `validation` was measured

    def document(self, kind: str) -> Path | None:
        """Return an input file with the fingerprint of the set's input, or None if there is none."""
        return find_document(kind, self.manifest, self.run)


def load_subject(name: str, thresholds: Thresholds, registry: Registry) -> Subject:
    """Read a run's folder, a set's folder, or a published version; anything else raises a ParkfError."""
    folder = Path(name)
    if (folder / "set" / MANIFEST_FILE).is_file():
        names = {key: f"{key}.json" for key in ("validation", "accuracy")}
        names |= {"identity": IDENTITY_FILE, "beside": BESIDE_FILE}
        files = {
            key: read_json(folder / name) if (folder / name).is_file() else None
            for key, name in names.items()
        }
        if files["validation"] is None or files["accuracy"] is None:
            raise ParkfError(f"{folder}: the run has not ended: no validation.json or accuracy.json")
        manifest, gates = load(folder / "set").manifest, hold(folder / "set", thresholds)
        return Subject(folder.absolute().name, folder / "set", folder, manifest, gates, **files)
    if folder.is_dir() and not (folder / MANIFEST_FILE).is_file():
        raise ParkfError(f"{folder}: neither a run (set/{MANIFEST_FILE}) nor a set ({MANIFEST_FILE})")
    path = registry.find(name)
    manifest = load(path, withdrawn=True).manifest
    return Subject(manifest.version or path.name, path, None, manifest, manifest.gates)


def identify(run: Path, manifest: Manifest) -> dict[str, Any]:
    """Return when, where, from which code and from which files the run in a folder was made.

    The result has ``run``, ``reported`` (time, UTC), ``host``, ``machine``, ``commit``, ``versions`` and
    ``files.<kind>.{path, sha256, tag}``. ``commit`` is that of the working folder, with ``-dirty`` if files
    differ from it, or None without git.
    """
    return {
        "run": run.absolute().name,
        "reported": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "host": socket.gethostname(),
        "machine": f"{platform.system()} {platform.machine()}",
        "commit": _commit(),
        "versions": {"parkf": __version__, **environment()},
        "files": {kind: _file(kind, run, manifest) for kind in FILES},
    }


def _file(kind: str, run: Path, manifest: Manifest) -> dict[str, str | None]:
    document = find_document(kind, manifest, run)
    # The file is read without a schema, because files of other format versions have tags, too.
    content = read_document(document).content if document and kind in KEPT else None
    tag = content.get("tag") if isinstance(content, dict) else None
    return {
        "path": file_name(kind, manifest),
        "sha256": manifest.inputs.get(kind) if document is None else sha256(document),
        "tag": None if tag is None else str(tag),
    }


def _commit() -> str | None:
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=20)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
