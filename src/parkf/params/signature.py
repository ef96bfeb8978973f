"""The signature of an index, ``index.json.sig``, made and checked by OpenSSH's own ``ssh-keygen``.

The reader names the file of keys that count (OpenSSH's ``allowed_signers``). Keys that lie in a registry
would prove nothing, because whoever replaces a registry replaces them, too.
"""

import subprocess
from pathlib import Path

from parkf.io.errors import ParkfError
from parkf.io.files import existing, replacing
from parkf.params.index import INDEX_FILE, index_bytes

PURPOSE = "parkf-registry"
"""The signature's namespace: signatures for other purposes do not count."""


def sign(registry: Path, key: Path) -> Path:
    """Sign the index of a registry, and return the signature's file.

    `key` is a secret key, or a public one whose secret an SSH agent holds. A registry without an index, and
    a key that cannot sign, raise a ParkfError.
    """
    path = registry / f"{INDEX_FILE}.sig"
    signed = _run(f"{key}: cannot sign", "sign", "-f", str(existing(key)), content=_content(registry))
    with replacing(path) as temporary:
        temporary.write_bytes(signed)
    return path


def check(registry: Path, signers: Path) -> tuple[bytes, str]:
    """Check the signature of a registry's index; return the bytes of the index, and who signed.

    `signers` is the reader's file of keys. A ParkfError reports a missing signature, one by another key, and
    one of another index.
    """
    path, content = existing(registry / f"{INDEX_FILE}.sig"), _content(registry)
    options = ["-f", str(existing(signers)), "-s", str(path)]
    found = _run(f"{path}: not by a key in {signers}", "find-principals", *options)
    name = found.decode().splitlines()[0]
    _run(
        f"{path}: not {name}'s signature of {INDEX_FILE}; sign again, or get both from another copy",
        *("verify", "-I", name, *options),
        content=content,
    )
    return content, name


def _content(registry: Path) -> bytes:
    content = index_bytes(registry)
    if content is None:
        raise ParkfError(f"{registry / INDEX_FILE}: no such file; publish a set first, which makes it")
    return content


def _run(wrong: str, action: str, *options: str, content: bytes = b"") -> bytes:
    """Call ``ssh-keygen -Y``; if it fails, raise a ParkfError that says what is `wrong`, and its reason."""
    command = ["ssh-keygen", "-Y", action, "-n", PURPOSE, *options]
    try:
        done = subprocess.run(command, input=content, capture_output=True, check=False)
    except FileNotFoundError as error:
        raise ParkfError("ssh-keygen: no such program, expected OpenSSH's; install OpenSSH") from error
    if done.returncode != 0:
        reason = done.stderr.decode(errors="replace").strip().splitlines() or ["no reason given"]
        raise ParkfError(f"{wrong}: ssh-keygen says: {reason[-1]}")
    return done.stdout
