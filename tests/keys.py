"""SSH keys for tests."""

import shutil
import subprocess
from pathlib import Path

import pytest


def new_key(path: Path, name: str = "maintainer", kind: str = "ed25519") -> Path:
    """Make a key without a passphrase; without OpenSSH, skip the test."""
    if shutil.which("ssh-keygen") is None:
        pytest.skip("ssh-keygen is not installed")
    command = ["ssh-keygen", "-q", "-t", kind, "-N", "", "-C", name, "-f", str(path)]
    subprocess.run(command, check=True, capture_output=True)
    return path
