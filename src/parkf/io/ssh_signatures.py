"""SSH signatures by Ed25519 keys, as ``ssh-keygen -Y sign`` makes them; they are checked without it.

Public keys are named in a file of OpenSSH's ``allowed_signers`` format. Each line has a name, the only
purpose of the key, and the key. All other lines but comments are refused, so that no key counts by accident.
"""

import base64
import hashlib
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from parkf.io.errors import ParkfError
from parkf.io.files import existing

_TYPE = b"ssh-ed25519"
_SIGNER = re.compile(r'([A-Za-z0-9@._+-]{1,64}) namespaces="([a-z-]{1,64})" ssh-ed25519 ([A-Za-z0-9+/=]{68})')
_ARMOUR = "-----{} SSH SIGNATURE-----\n"


def signers(path: Path, purpose: str) -> dict[bytes, str]:
    """Read a file of ``allowed_signers``: names by public keys, 32 bytes each.

    A file that is missing, has no key, or has a line that is not understood raises a ParkfError.
    """
    return keys_in(existing(path).read_text(errors="replace").split("\n"), path, purpose)


def keys_in(lines: Sequence[str], path: Path, purpose: str) -> dict[bytes, str]:
    """Read lines of ``allowed_signers`` that are in a file, as :func:`signers` does."""
    keys = {}
    for number, line in enumerate(lines, 1):
        if not line or line.startswith("#"):
            continue
        found = _SIGNER.fullmatch(line)
        start = _text(_TYPE) + (32).to_bytes(4)
        blob = base64.b64decode(found[3]) if found else b""
        if found is None or found[2] != purpose or not blob.startswith(start) or len(blob) != len(start) + 32:
            expected = f'NAME namespaces="{purpose}" ssh-ed25519 KEY'
            raise ParkfError(f"{path}: line {number}: got {line[:60]!r}, expected {expected}")
        keys[blob[len(start) :]] = found[1]
    if not keys:
        raise ParkfError(f"{path}: names no key; get the file again from where it came")
    return keys


def check(path: Path, message: bytes, keys: Mapping[bytes, str], purpose: str) -> str:
    """Return the name of the key that signed a message; `path` is the file with the signature.

    A ParkfError reports a file that is missing or is no signature, a key that is not among `keys`, and a
    signature that is not of this message and purpose.
    """
    key, signature = _parts(path, purpose)
    if key not in keys:
        raise ParkfError(f"{path}: signed by key {fingerprint(key)}, expected {_named(keys)}")
    signed = b"SSHSIG" + _texts(purpose.encode(), b"", b"sha512", hashlib.sha512(message).digest())
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, signed)
    except InvalidSignature as error:
        raise ParkfError(
            f"{path}: not the signature by {keys[key]} of what it signs; one of the two was changed"
        ) from error
    return keys[key]


def sign(paths: Sequence[Path], key: Path, purpose: str) -> None:
    """Sign files with ``ssh-keygen``; each signature goes to a file beside it, with ``.sig`` added.

    `key` is a secret key, or a public one whose secret an SSH agent holds. A failure raises a ParkfError.
    """
    command = ["ssh-keygen", "-q", "-Y", "sign", "-f", str(key), "-n", purpose, "-O", "hashalg=sha512"]
    try:
        done = subprocess.run([*command, *map(str, paths)], stderr=subprocess.PIPE, text=True, check=False)
    except FileNotFoundError as error:
        raise ParkfError("ssh-keygen: no such program; install OpenSSH to sign") from error
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise ParkfError(f"{key}: ssh-keygen does not sign with this key: {reason}")


def public_line(key: Path, purpose: str) -> str:
    """Return the line of ``allowed_signers`` for a key; the key's comment is the name.

    A missing file, or another key than an Ed25519 one with such a comment, raises a ParkfError.
    """
    public = key if key.suffix == ".pub" else key.with_name(f"{key.name}.pub")
    kind, _, rest = existing(public).read_text().strip().partition(" ")
    blob, _, name = rest.partition(" ")
    line = f'{name} namespaces="{purpose}" {kind} {blob}'
    if _SIGNER.fullmatch(line) is None:
        raise ParkfError(
            f"{public}: expected an Ed25519 key whose comment is a name without spaces; make one with"
            " ssh-keygen -t ed25519 -C NAME"
        )
    return line


def fingerprint(key: bytes) -> str:
    """Return the fingerprint of a public key as OpenSSH writes it."""
    digest = hashlib.sha256(_texts(_TYPE, key)).digest()
    return f"SHA256:{base64.b64encode(digest).decode().rstrip('=')}"


def _parts(path: Path, purpose: str) -> tuple[bytes, bytes]:
    """Return the key and the signature in a file, 32 and 64 bytes."""
    content = existing(path).read_text(errors="replace")
    begin, end = _ARMOUR.format("BEGIN"), _ARMOUR.format("END")
    inner = content.removeprefix(begin).removesuffix(end).replace("\n", "")
    start = b"SSHSIG" + (1).to_bytes(4) + (len(_TYPE) + 40).to_bytes(4) + _text(_TYPE) + (32).to_bytes(4)
    middle = _texts(purpose.encode(), b"", b"sha512") + (len(_TYPE) + 72).to_bytes(4) + _text(_TYPE)
    middle += (64).to_bytes(4)
    try:
        blob = base64.b64decode(inner, validate=True)
    except ValueError:
        blob = b""
    key, signature = blob[len(start) : len(start) + 32], blob[-64:]
    # A signature has one form: what is written again from its parts is the file.
    text = base64.b64encode(blob).decode()
    if blob != start + key + middle + signature or content != begin + _wrapped(text) + end:
        raise ParkfError(
            f"{path}: no SSH signature by an Ed25519 key for {purpose}; get it again from where it came"
        )
    return key, signature


def _wrapped(text: str) -> str:
    return "".join(f"{text[place : place + 70]}\n" for place in range(0, len(text), 70))


def _text(content: bytes) -> bytes:
    return len(content).to_bytes(4) + content


def _texts(*contents: bytes) -> bytes:
    return b"".join(map(_text, contents))


def _named(keys: Mapping[bytes, str]) -> str:
    return " or ".join(f"{fingerprint(key)} of {name}" for key, name in keys.items())
