"""What a run is: when, where, from which code and from which files it was made."""

import platform
import socket
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any

from parkf import __version__
from parkf.io.documents.document import read_document
from parkf.io.files import sha256
from parkf.io.fingerprints.environment import PACKAGES
from parkf.io.process_settings import linear_algebra
from parkf.params.manifest import Manifest
from parkf.proof.comparing.documents import FILES, KEPT, file_name, find_document

# File in a run's folder.
IDENTITY_FILE = "run.json"


def identify(run: Path, manifest: Manifest) -> dict[str, Any]:
    """Return the identity of the run in a folder, with the manifest of its set.

    It has ``run``, ``reported`` (time, UTC), ``host``, ``machine``, ``commit`` (of the folder that parkf is
    started in; with ``-dirty`` where files differ from it; None without git), ``versions`` and
    ``files.<kind>.{path, sha256, tag}``.
    """
    return {
        "run": run.absolute().name,
        "reported": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "host": socket.gethostname(),
        "machine": f"{platform.system()} {platform.machine()}",
        "commit": _commit(),
        "versions": {
            "parkf": __version__,
            "python": platform.python_version(),
            **{name: installed(name) for name in PACKAGES},
            "linear algebra": linear_algebra(),
        },
        "files": {kind: _file(kind, run, manifest) for kind in FILES},
    }


def _file(kind: str, run: Path, manifest: Manifest) -> dict[str, str | None]:
    document = find_document(kind, manifest, run)
    # Read without a schema, because files of other format versions have tags, too.
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
