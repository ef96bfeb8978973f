"""Ed25519: the vectors of RFC 8032 pass, and nothing that differs by a bit or by the group's order."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from parkf.io.ed25519 import _ORDER, verify

# RFC 8032, section 7.1: key, message, signature.
VECTORS = [
    (
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0"
        "595bbe24655141438e7a100b",
    ),
    (
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eae"
        "b4302aeeb00d291612bb0c00",
    ),
    (
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9"
        "716ed28dc027beceea1ec40a",
    ),
]
KEY, MESSAGE, SIGNATURE = map(bytes.fromhex, VECTORS[2])


@pytest.mark.parametrize("vector", VECTORS)
def test_the_standards_vectors_pass(vector):
    assert verify(*map(bytes.fromhex, vector))


@settings(max_examples=40, deadline=None, derandomize=True)
@given(some.integers(0, 8 * 98 - 1))
def test_a_changed_bit_is_refused(bit):
    whole = bytearray(KEY + MESSAGE + SIGNATURE)
    whole[bit // 8] ^= 1 << bit % 8
    assert not verify(bytes(whole[:32]), bytes(whole[32:34]), bytes(whole[34:]))


@pytest.mark.parametrize(
    "signature",
    [
        SIGNATURE[:32] + (int.from_bytes(SIGNATURE[32:], "little") + _ORDER).to_bytes(32, "little"),
        SIGNATURE[:-1],
        SIGNATURE + b"\0",
        b"",
        bytes(64),
    ],
)
def test_a_second_form_and_other_lengths_are_refused(signature):
    assert not verify(KEY, MESSAGE, signature)


@pytest.mark.parametrize("key", [b"", KEY[:-1], b"\xff" * 32, (2).to_bytes(32, "little")])
def test_a_key_that_is_no_point_is_refused(key):
    assert not verify(key, MESSAGE, SIGNATURE)
