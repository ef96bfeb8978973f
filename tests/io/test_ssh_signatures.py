"""SSH signatures: those of ssh-keygen pass, in its own words too; others are refused with the reason."""

import re
import subprocess

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from parkf.io.errors import ParkfError
from parkf.io.ssh_signatures import check, public_line, sign, signers

from ..keys import new_key

PURPOSE = "parkf-registry"


@pytest.fixture
def signed(tmp_path):
    """A message, its signature, and the file that names the key."""
    key = new_key(tmp_path / "key")
    (tmp_path / "message").write_text("what is signed\n")
    (tmp_path / "allowed_signers").write_text(f"# ours\n\n{public_line(key, PURPOSE)}\n")
    sign([tmp_path / "message"], key, PURPOSE)
    return tmp_path


def checked(folder, message=b"what is signed\n", purpose=PURPOSE):
    keys = signers(folder / "allowed_signers", purpose)
    return check(folder / "message.sig", message, keys, purpose)


def test_a_signature_passes_here_and_in_openssh(signed):
    assert checked(signed) == "maintainer"
    names = [
        "-f",
        signed / "allowed_signers",
        "-I",
        "maintainer",
        "-n",
        PURPOSE,
        "-s",
        signed / "message.sig",
    ]
    done = subprocess.run(
        ["ssh-keygen", "-Y", "verify", *names], input=b"what is signed\n", capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_another_message_is_refused(signed):
    with pytest.raises(ParkfError, match="not the signature by maintainer of what it signs"):
        checked(signed, b"what is signed")


def test_another_key_is_named(signed, tmp_path):
    other = new_key(tmp_path / "other", "stranger")
    (signed / "message.sig").unlink()
    sign([signed / "message"], other, PURPOSE)
    with pytest.raises(ParkfError, match=r"signed by key SHA256:\S+, expected SHA256:\S+ of maintainer"):
        checked(signed)


@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=some.data())
def test_a_signature_file_has_one_form(signed, data):
    """Whatever is changed, added or cut, the file is refused."""
    path = signed / "message.sig"
    genuine = path.read_bytes()
    place = data.draw(some.integers(0, len(genuine) - 1))
    kind = data.draw(some.sampled_from(["change", "add", "cut", "end"]))
    byte = bytes([data.draw(some.integers(0, 255).filter(lambda one: one != genuine[place]))])
    changed = {
        "change": genuine[:place] + byte + genuine[place + 1 :],
        "add": genuine[:place] + byte + genuine[place:],
        "cut": genuine[:place] + genuine[place + 1 :],
        "end": genuine[:place],
    }[kind]
    try:
        path.write_bytes(changed)
        if changed != genuine:
            with pytest.raises(ParkfError, match=re.escape(str(path))):
                checked(signed)
    finally:
        path.write_bytes(genuine)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", "names no key"),
        ("# only a comment", "names no key"),
        (
            "maintainer ssh-ed25519 AAAA",
            "line 1: got 'maintainer ssh-ed25519 AAAA', expected NAME namespaces=",
        ),
        (f'* namespaces="{PURPOSE}" ssh-ed25519 {"A" * 68}', "line 1: got"),
        (f'a namespaces="file" ssh-ed25519 {"A" * 68}', "line 1: got"),
        (f'a namespaces="{PURPOSE}" ssh-ed25519 {"A" * 68}', "line 1: got"),
        (f'a cert-authority namespaces="{PURPOSE}" ssh-ed25519 {"A" * 68}', "line 1: got"),
    ],
)
def test_keys_that_are_not_understood_are_refused(tmp_path, line, said):
    (tmp_path / "allowed_signers").write_text(f"{line}\n")
    with pytest.raises(ParkfError, match=said):
        signers(tmp_path / "allowed_signers", PURPOSE)


def test_keys_that_cannot_sign_are_named(tmp_path):
    (tmp_path / "message").write_text("x")
    with pytest.raises(ParkfError, match="key: ssh-keygen does not sign with this key: "):
        sign([tmp_path / "message"], tmp_path / "key", PURPOSE)
    for kind, name in (("ecdsa", "maintainer"), ("ed25519", "two words")):
        key = new_key(tmp_path / kind, name, kind)
        with pytest.raises(
            ParkfError, match="expected an Ed25519 key whose comment is a name without spaces"
        ):
            public_line(key, PURPOSE)
